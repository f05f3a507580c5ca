"""Backup and restore of the database. A restore is complete and checked, or changes nothing."""

import json
import os
import shutil
import zipfile
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder

from annotations.certificates.services.drafting import Terms
from annotations.certificates.services.signing import sign
from annotations.certificates.services.verifying import verify_certificate
from annotations.core.errors import ServiceError
from annotations.core.events import NOTE_READ
from annotations.core.sealing import OtherSecretKey, project_key
from annotations.domain.knowing.person import Person
from annotations.known.selectors.identifiers import people_of
from annotations.known.services.master import store_people
from annotations.models import Document, Project, ProjectKey, Release, SurrogateEntity
from annotations.ops.services import backup, backup_engines
from annotations.ops.services.backup import restore_backup, write_backup
from tests import factories as make
from tests.worlds.released import make_clinic, make_release

TEXT = "Ann\u00e9 \U0001f9ec\r\n\ttornata il 12/03/2021 \u202eabc"

pytestmark = [
    pytest.mark.product,
    pytest.mark.both_databases,
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(
        connection.vendor == "postgresql" and shutil.which("pg_dump") is None, reason="no PostgreSQL client programs"
    ),
]


@pytest.fixture(autouse=True)
def own_data_folder(settings, tmp_path):
    settings.DATA_DIR = tmp_path / "data"


@pytest.fixture
def world():
    """A note with an annotator, a span and an event."""
    project = make.make_project("ward")
    annotator = make.make_member(project, user="ann")
    note = make.make_note(project, TEXT, "caso-1", annotators=[annotator])
    NOTE_READ.record(actor=annotator, project_id=project.pk, document_id=note.pk)
    return project


def content() -> dict[str, list[tuple[object, ...]]]:
    """Return every row of every table."""
    with connection.cursor() as cursor:
        tables = {}
        for table in sorted(connection.introspection.table_names(cursor)):
            cursor.execute(f'SELECT * FROM "{table}"')
            tables[table] = sorted(cursor.fetchall(), key=repr)
    return tables


def test_a_round_trip_is_exact(world, tmp_path):
    before = content()
    done = write_backup(file=tmp_path / "b")
    assert (tmp_path / "b").stat().st_mode & 0o777 == 0o600
    manifest = json.loads(zipfile.ZipFile(tmp_path / "b").read("manifest.json"))
    assert manifest["engine"] == connection.vendor
    assert manifest["counts"]["project"] == 1
    assert ["annotations", "0002_initial"] in manifest["migrations"]
    assert list(tmp_path.glob(".backup-*")) == []
    make.make_project("later")
    Document.objects.all().delete()

    back = restore_backup(file=tmp_path / "b", force=True)

    assert content() == before
    assert Document.objects.get().text == TEXT
    assert back["counts"] == done["counts"]
    assert back["counts"]["document"] == 1
    assert back["migrated"] == 0
    # New rows get new ids, and triggers still work.
    assert make.make_project("next").pk > world.pk
    with pytest.raises(Exception, match="append-only"), connection.cursor() as cursor:
        cursor.execute("UPDATE annotations_event SET verb = 'x'")


def test_a_file_that_exists_is_never_replaced(world, tmp_path):
    (tmp_path / "b").write_text("mine")

    with pytest.raises(ServiceError, match="b already exists"):
        write_backup(file=tmp_path / "b")
    assert (tmp_path / "b").read_text() == "mine"


def test_unknown_folders_and_files(tmp_path):
    with pytest.raises(ServiceError, match=r"can't be written \(No such file or directory\)"):
        write_backup(file=tmp_path / "none" / "b")
    with pytest.raises(ServiceError, match="does not exist"):
        restore_backup(file=tmp_path / "none")


def test_with_force_the_old_data_is_backed_up_first(world, tmp_path):
    write_backup(file=tmp_path / "b")
    make.make_project("later")
    later = content()
    with pytest.raises(ServiceError, match=r"The database contains data\. Add --force"):
        restore_backup(file=tmp_path / "b")
    assert Project.objects.count() == 2

    safety = restore_backup(file=tmp_path / "b", force=True)["safety_backup"]

    assert Project.objects.count() == 1
    restore_backup(file=Path(safety), force=True)
    assert content() == later


def test_an_empty_database_needs_no_force(world, tmp_path):
    file = tmp_path / "b"
    write_backup(file=file)
    call_command("flush", interactive=False, verbosity=0)

    assert restore_backup(file=file)["safety_backup"] is None
    assert Project.objects.count() == 1


def test_a_damaged_file_changes_nothing(world, tmp_path):
    write_backup(file=tmp_path / "b")
    before = content()
    whole = (tmp_path / "b").read_bytes()
    middle = len(whole) // 2
    damages = {
        "cut": whole[:-200],
        "flipped": whole[:middle] + bytes([whole[middle] ^ 0xFF]) + whole[middle + 1 :],
        "empty": b"",
        "other": b"PK but not really" * 100,
    }
    # The effect of a flipped byte depends on its position.
    for part in range(1, 8):
        at = len(whole) * part // 8
        damages[f"flipped-{part}"] = whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :]
    for name, content_ in damages.items():
        (tmp_path / name).write_bytes(content_)
        with pytest.raises(ServiceError, match="damaged"):
            restore_backup(file=tmp_path / name, force=True)
    assert content() == before


def rewritten(file: Path, **changes: object) -> Path:
    """Copy the backup with changes in its manifest."""
    other = file.with_name("rewritten")
    with zipfile.ZipFile(file) as old, zipfile.ZipFile(other, "w") as new:
        manifest = json.loads(old.read("manifest.json")) | changes
        new.writestr("manifest.json", json.dumps(manifest))
        new.writestr("database", old.read("database"))
    return other


def test_a_backup_of_another_engine_or_version_is_an_error(world, tmp_path):
    write_backup(file=tmp_path / "b")
    other = "sqlite" if connection.vendor == "postgresql" else "postgresql"
    with pytest.raises(ServiceError, match=r"is a backup of a (SQLite|PostgreSQL) database, but DATABASE_URL names"):
        restore_backup(file=rewritten(tmp_path / "b", engine=other), force=True)

    too_old = rewritten(tmp_path / "b", migrations=[["annotations", "0001_initial"]])
    with pytest.raises(ServiceError, match="is from a version before the first release"):
        restore_backup(file=too_old, force=True)

    newer = rewritten(tmp_path / "b", version="9.0", migrations=[["annotations", "9999_later"]])
    with pytest.raises(ServiceError, match=r"made by a newer version of deidreview \(9.0;"):
        restore_backup(file=newer, force=True)


def test_wrong_counts_undo_the_restore(world, tmp_path):
    write_backup(file=tmp_path / "b")
    make.make_project("later")
    before = content()
    counts = {"project": 7}

    with pytest.raises(ServiceError, match="The backup is incomplete"):
        restore_backup(file=rewritten(tmp_path / "b", counts=counts), force=True)
    assert content() == before


def test_an_older_backup_is_migrated_or_leaves_everything_as_it_was(world, tmp_path, monkeypatch):
    """A backup from before the tables of models_runtime existed."""
    write_backup(file=tmp_path / "now")
    call_command("migrate", "models_runtime", "zero", verbosity=0)
    write_backup(file=tmp_path / "older")
    restore_backup(file=tmp_path / "now", force=True)
    before = content()

    def fail(*words, **options):
        if connection.vendor == "postgresql":
            MigrationRecorder(connection).record_applied("annotations", "half_done")
        raise RuntimeError("in the middle")

    with monkeypatch.context() as failing:
        failing.setattr(backup_engines, "call_command", fail)
        with pytest.raises(RuntimeError):
            restore_backup(file=tmp_path / "older", force=True)
    assert content() == before

    done = restore_backup(file=tmp_path / "older", force=True)
    assert done["migrated"] >= 1
    after = content()
    applied = "django_migrations"
    # A migration that renames a model adds permissions with the new name, which deidreview does not use.
    ignored = {applied, "auth_permission"}
    assert {name: rows for name, rows in after.items() if name not in ignored} == {
        name: rows for name, rows in before.items() if name not in ignored
    }
    assert len(after[applied]) == len(before[applied])


def test_no_restore_while_the_product_runs(world, tmp_path, settings):
    import fcntl

    write_backup(file=tmp_path / "b")
    settings.DATA_DIR.mkdir(exist_ok=True)
    lock = os.open(settings.DATA_DIR / backup.RUN_LOCK, os.O_RDWR | os.O_CREAT)
    fcntl.flock(lock, fcntl.LOCK_EX)
    with pytest.raises(ServiceError, match=r"deidreview is running with the data folder .*\. Stop it first\."):
        restore_backup(file=tmp_path / "b", force=True)
    os.close(lock)


def test_the_lock_is_the_one_the_run_command_takes():
    from deidreview.run import folder

    assert backup.RUN_LOCK == folder.LOCK


def test_the_commands_print_json_and_fail_with_a_status(world, tmp_path, capsys):
    call_command("backup", str(tmp_path / "b"), "--json")
    assert json.loads(capsys.readouterr().out)["counts"]["project"] == 1

    with pytest.raises(CommandError, match="contains data"):
        call_command("restore", str(tmp_path / "b"), "--json")
    assert json.loads(capsys.readouterr().out)["code"] == "not-empty"

    call_command("restore", str(tmp_path / "b"), "--force")
    assert "The previous database is saved in" in capsys.readouterr().out


@pytest.mark.skipif(connection.vendor != "postgresql", reason="PostgreSQL's client programs")
def test_missing_client_programs_are_named(world, tmp_path, monkeypatch):
    monkeypatch.setattr(backup_engines.shutil, "which", lambda name: None)
    monkeypatch.setattr(backup_engines.Path, "glob", lambda self, pattern: iter(()))

    with pytest.raises(ServiceError, match=r"pg_dump is not installed.*apt-get install postgresql-client"):
        write_backup(file=tmp_path / "b")


def test_releases_and_what_is_sealed_come_back(no_redis, tmp_path, settings):
    """With the same secret key everything can be read again; with another one, the rows are there but not readable."""
    clinic = make_clinic()
    people = {"P-1": Person(given=("Mario",), family=("Rossi",))}
    store_people(project=clinic.project, people=people, problems=0, actor=clinic.mia)
    release = make_release(clinic.project, clinic.mia, "surrogate")
    certificate = sign(release=release, terms=Terms("", "", None), accepted=(), actor=clinic.mia, everything=True)
    plain = list(SurrogateEntity.objects.order_by("pk").values_list("sealed", flat=True))
    before = content()
    done = write_backup(file=tmp_path / "b")
    Release.objects.all().delete()
    SurrogateEntity.objects.all().delete()
    ProjectKey.objects.all().delete()

    back = restore_backup(file=tmp_path / "b", force=True)

    assert content() == before and back["counts"] == done["counts"]
    assert people_of(clinic.project, ["P-1"]) == people
    key = project_key(clinic.project)
    assert [key.open(bytes(sealed)) for sealed in plain]
    assert verify_certificate(bytes(certificate.pdf)).verified
    again = make_release(clinic.project, clinic.mia, "surrogate")
    texts = [list(one.notes.order_by("document").values_list("text", flat=True)) for one in (release, again)]
    assert texts[0] == texts[1], "the index gives the same surrogates"

    settings.SECRET_KEY = "another" * 8
    restore_backup(file=tmp_path / "b", force=True)
    assert content() == before and verify_certificate(bytes(certificate.pdf)).verified
    with pytest.raises(OtherSecretKey):
        people_of(clinic.project, ["P-1"])
