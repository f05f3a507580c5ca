"""Backup and restore of the database. A restore is complete and checked, or changes nothing."""

import fcntl
import json
import os
import shutil
from pathlib import Path

import pytest
from django.core.management import call_command
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder

from annotations.core.sealing import project_key
from annotations.core.services import NOTE_READ, ServiceError
from annotations.models import Document, Project
from annotations.ops.services import backup_engines
from annotations.ops.services.backup import restore_backup, write_backup
from deidreview.run import folder
from tests import factories as make
from tests.worlds.commands import answered
from tests.zips import unzipped, zipped

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
    sealed = project_key(world).seal({"name": "Rossi"})
    before = content()
    done = write_backup(file=tmp_path / "b")
    assert (tmp_path / "b").stat().st_mode & 0o777 == 0o600
    manifest = json.loads(unzipped(tmp_path / "b")["manifest.json"])
    assert (manifest["engine"], manifest["counts"]["project"]) == (connection.vendor, 1)
    assert ["annotations", "0002_all_tables"] in manifest["migrations"]
    assert list(tmp_path.glob(".backup-*")) == []
    make.make_project("later")
    Document.objects.all().delete()

    back = restore_backup(file=tmp_path / "b", force=True)

    assert content() == before and Document.objects.get().text == TEXT
    assert back["counts"] == done["counts"] and (back["counts"]["document"], back["migrated"]) == (1, 0)
    assert project_key(world).open(sealed) == {"name": "Rossi"}, "with the same secret key sealed data can be read"
    # New rows get new ids, and triggers still work.
    assert make.make_project("next").pk > world.pk
    with pytest.raises(Exception, match="append-only"), connection.cursor() as cursor:
        cursor.execute("UPDATE annotations_event SET verb = 'x'")


def test_files_that_exist_or_cannot_be_written_or_found(world, tmp_path):
    (tmp_path / "b").write_text("mine")
    with pytest.raises(ServiceError, match="b already exists"):
        write_backup(file=tmp_path / "b")
    assert (tmp_path / "b").read_text() == "mine"
    with pytest.raises(ServiceError, match=r"can't be written \(No such file or directory\)"):
        write_backup(file=tmp_path / "none" / "b")
    with pytest.raises(ServiceError, match="does not exist"):
        restore_backup(file=tmp_path / "none")


def test_with_force_the_old_data_is_backed_up_first(world, tmp_path):
    assert answered("backup", tmp_path / "b")["counts"]["project"] == 1
    make.make_project("later")
    later = content()
    assert answered("restore", tmp_path / "b") == "not-empty" and Project.objects.count() == 2
    safety = answered("restore", tmp_path / "b", "--force")["safety_backup"]
    assert Project.objects.count() == 1
    restore_backup(file=Path(safety), force=True)
    assert content() == later
    call_command("flush", interactive=False, verbosity=0)
    assert restore_backup(file=tmp_path / "b")["safety_backup"] is None, "an empty database needs no --force"
    assert Project.objects.count() == 1


def test_a_damaged_file_changes_nothing(world, tmp_path):
    write_backup(file=tmp_path / "b")
    before, whole = content(), (tmp_path / "b").read_bytes()
    damages = [whole[:-200], b"", b"PK but not really" * 100]
    # The effect of a flipped byte depends on its position.
    places = [len(whole) * part // 8 for part in range(1, 8)]
    damages += [whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :] for at in places]
    for number, damaged in enumerate(damages):
        (tmp_path / f"damaged-{number}").write_bytes(damaged)
        with pytest.raises(ServiceError, match="damaged"):
            restore_backup(file=tmp_path / f"damaged-{number}", force=True)
    assert content() == before


def rewritten(file: Path, **changes: object) -> Path:
    """Copy the backup with changes in its manifest."""
    other = file.with_name("rewritten")
    files = unzipped(file)
    manifest = json.loads(files["manifest.json"]) | changes
    other.write_bytes(zipped(files | {"manifest.json": json.dumps(manifest)}))
    return other


def test_a_backup_of_another_engine_or_version_or_size_changes_nothing(world, tmp_path):
    write_backup(file=tmp_path / "b")
    make.make_project("later")
    before = content()
    other = "sqlite" if connection.vendor == "postgresql" else "postgresql"
    for changes, message in (
        ({"engine": other}, r"is a backup of a (SQLite|PostgreSQL) database, but DATABASE_URL names"),
        ({"migrations": [["annotations", "0002_schema"]]}, "is from a version before the first release"),
        ({"version": "9.0", "migrations": [["annotations", "9999_later"]]}, r"newer version of deidreview \(9.0;"),
        ({"counts": {"project": 7}}, "The backup is incomplete"),
    ):
        with pytest.raises(ServiceError, match=message):
            restore_backup(file=rewritten(tmp_path / "b", **changes), force=True)
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

    assert restore_backup(file=tmp_path / "older", force=True)["migrated"] >= 1
    after = content()
    assert len(after["django_migrations"]) == len(before["django_migrations"])
    # A migration that renames a model adds permissions with the new name, which deidreview does not use.
    for ignored in ("django_migrations", "auth_permission"):
        del after[ignored], before[ignored]
    assert after == before


def test_no_restore_while_the_product_runs(world, tmp_path, settings):
    write_backup(file=tmp_path / "b")
    settings.DATA_DIR.mkdir(exist_ok=True)
    lock = os.open(settings.DATA_DIR / folder.LOCK, os.O_RDWR | os.O_CREAT)
    fcntl.flock(lock, fcntl.LOCK_EX)
    with pytest.raises(ServiceError, match="deidreview is running with the data folder"):
        restore_backup(file=tmp_path / "b", force=True)
    os.close(lock)


@pytest.mark.skipif(connection.vendor != "postgresql", reason="PostgreSQL's client programs")
def test_missing_client_programs_are_named(world, tmp_path, monkeypatch):
    monkeypatch.setattr(backup_engines.shutil, "which", lambda name: None)
    monkeypatch.setattr(backup_engines.Path, "glob", lambda self, pattern: iter(()))

    with pytest.raises(ServiceError, match=r"pg_dump is not installed.*apt-get install postgresql-client"):
        write_backup(file=tmp_path / "b")
