"""Data of an old version, from before each feature had a folder: all rows stay, pages open, and waiting jobs run."""

import contextlib
import io
import shutil
import sqlite3
import zipfile
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest
from django.contrib.sessions.models import Session
from django.core.management import call_command
from django.db import connection, transaction
from django.db.migrations.executor import MigrationExecutor
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotations.jobs.runner import run as work
from annotations.models import Event, Job, Project, Share, StoredFile, User
from annotations.ops.services.backup import restore_backup, write_backup
from annotations.ops.services.schema import earlier_migrations
from models_runtime.models import Run
from tests.ops.old.make import NOTES, SECRET
from tests.waiting import HANGS, wait_for
from tests.worlds import warm
from tests.worlds.product import Product, clean_environ

BACKUP = Path(__file__).with_name("old") / "before_feature_folders.zip"
OLD = [("annotations", "0017_labels_by_note"), ("models_runtime", "0013_usage_of_runs_and_judges_gone")]
# Tables whose model moved to another app, or that refer to such a table. The tables themselves did not change.
# Jobs, judgings, and run items, which refer to runs, are not listed, because later migrations add or remove a column of
# theirs.
MOVED = ["share", "run", "trainedmodel"]
# Tables in which Django lists migrations and models; each version rewrites them.
DJANGO = {"django_migrations", "django_content_type", "auth_permission", "sqlite_sequence"}
# Columns that a later migration rewrites.
REWRITTEN = {("annotations_event", "data"), ("annotations_event", "verb"), ("django_session", "session_data")}
# Columns that a later migration removes.
REMOVED = {("models_runtime_runitem", "pass_number")}
# Tables and columns that a later migration renames.
RENAMED = {f"annotations_proposed{kind}": f"annotations_suggested{kind}" for kind in ("string", "note", "label")}
RENAMED_COLUMNS = {
    "annotations_adjudication": {"closed_by_id": "finished_by_id", "closed_at": "finished_at"},
    "annotations_bulkact": {"taken_back": "undone"},
    "annotations_comment": {"reader_id": "annotator_id"},
    "annotations_comparison": {"readers": "annotators", "blind_readers": "blind_annotators"},
    "annotations_decision": {"proposal_id": "suggestion_id"},
    "annotations_handover": {"alike": "equal"},
    "annotations_plantedleak": {"proposal_id": "suggestion_id", "reader_id": "reviewer_id"},
    "annotations_project": {"readers_per_note": "annotators_per_note"},
    "annotations_proposednote": {"place": "random_order"},
    "annotations_resolution": {"reader": "author"},
    "annotations_review": {"closed_by_id": "finished_by_id", "closed_at": "finished_at"},
}
# Tables to which a later migration adds rows.
GROWN = {"annotations_proposednote", "annotations_proposedlabel"}

PAGES = [
    *("project", "notes", "search", "jobs", "review_strings", "gold", "runs", "models", "scores", "agreement"),
    *("adjudications", "acceptance", "export", "import", "audit", "project_settings", "people", "labels"),
]


@pytest.fixture
def old(tmp_path):
    """The old database, an SQLite file."""
    with zipfile.ZipFile(BACKUP) as archive:
        return Path(archive.extract("database", tmp_path))


def rows_of(file):
    """Return the columns and rows of every table in an SQLite file."""
    with contextlib.closing(sqlite3.connect(file)) as database:
        names = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {name: read(database.execute(f'SELECT * FROM "{name}"')) for name in names}


def read(cursor):
    return [column[0] for column in cursor.description], cursor.fetchall()


def rows_now():
    if connection.vendor == "sqlite":
        return rows_of(connection.settings_dict["NAME"])
    with connection.cursor() as cursor:
        found = {}
        for name in connection.introspection.table_names(cursor):
            cursor.execute(f'SELECT * FROM "{name}"')
            found[name] = read(cursor)
        return found


def shapes(file=None):
    """Return the definitions of the moved tables, with constraints and indexes."""
    tables = [f"models_runtime_{name}" for name in MOVED]
    listed = ", ".join(f"'{table}'" for table in tables)
    if connection.vendor == "sqlite":
        with contextlib.closing(sqlite3.connect(file or connection.settings_dict["NAME"])) as database:
            return sorted(
                database.execute(f"SELECT tbl_name, name, sql FROM sqlite_master WHERE tbl_name IN ({listed})"), key=str
            )
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT table_name, column_name, data_type, is_nullable, column_default FROM information_schema.columns "
            f"WHERE table_name IN ({listed}) UNION ALL "
            "SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid), '', '' FROM pg_constraint "
            f"WHERE conrelid::regclass::text IN ({listed}) UNION ALL "
            f"SELECT tablename, indexname, indexdef, '', '' FROM pg_indexes WHERE tablename IN ({listed})"
        )
        return sorted(cursor.fetchall(), key=str)


def check_same(before, after):
    """Check that every old row still exists, with the same value in each column that no migration rewrites."""
    for table in sorted(set(before) - DJANGO):
        assert RENAMED.get(table, table) in after, table
        (columns, rows), (columns_now, rows_now_) = before[table], after[RENAMED.get(table, table)]
        kept = [name for name in columns if (table, name) not in REWRITTEN | REMOVED]
        kept_now = [RENAMED_COLUMNS.get(table, {}).get(name, name) for name in kept]
        assert set(kept_now) <= set(columns_now), table
        found, found_now = only(kept, columns, rows), only(kept_now, columns_now, rows_now_)
        assert found == found_now or (table in GROWN and set(found) <= set(found_now)), table


def only(kept, columns, rows):
    at = [columns.index(name) for name in kept]
    return sorted(repr([row[index] for index in at]) for row in rows)


@pytest.fixture(scope="module")
def opened_once(tmp_path_factory):
    """What `opened` yields, and a backup of the migrated database: migrating takes 15 s, restoring less than one."""
    return SimpleNamespace(before=None, file=tmp_path_factory.mktemp("opened") / "backup")


@pytest.fixture
def opened(old, opened_once, tmp_path, settings):
    """Load the old data into the test database and migrate it. Yield the rows and table definitions from before."""
    settings.SECRET_KEY = SECRET
    settings.DATA_DIR = tmp_path / "data"
    settings.REDIS_URL = f"unix://{tmp_path}/nothing.sock"
    if opened_once.before:
        restore_backup(file=opened_once.file, force=True)
    else:
        opened_once.before = migrated(old)
        write_backup(file=opened_once.file)
    yield opened_once.before
    # Later tests need the content types and permissions of the current tables, which `flush` writes anew.
    call_command("flush", interactive=False, verbosity=0)


def migrated(old):
    if connection.vendor == "sqlite":
        before = rows_of(old), shapes(old)
        call_command("restore", str(BACKUP), "--force", stdout=io.StringIO())
        return before
    with earlier_migrations():
        MigrationExecutor(connection).migrate(OLD)
        try:
            copy_rows(old)
            # Tables of applications that were installed later, such as allauth's of providers, stay.
            return {name: found for name, found in rows_now().items() if name in rows_of(old)}, shapes()
        finally:
            executor = MigrationExecutor(connection)
            executor.migrate(executor.loader.graph.leaf_nodes())


def copy_rows(old):
    """Copy the old rows into PostgreSQL, which has the old tables. PostgreSQL parses each value from its text."""
    tables = {
        name: found for name, found in rows_of(old).items() if name not in ("django_migrations", "sqlite_sequence")
    }
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("TRUNCATE " + ", ".join(f'"{name}"' for name in tables) + " CASCADE")
        # Triggers write to annotations_stale while the other tables are filled, so its rows are copied last.
        for name in sorted(tables, key=lambda name: name == "annotations_stale"):
            columns, rows = tables[name]
            if name == "annotations_stale":
                cursor.execute(f'DELETE FROM "{name}"')
            values = ", ".join(["%s"] * len(columns))
            listed = ", ".join(f'"{column}"' for column in columns)
            cursor.executemany(f'INSERT INTO "{name}" ({listed}) VALUES ({values})', [texts(row) for row in rows])
        # Django resets only the sequences of current models, and some tables have been renamed since.
        cursor.execute(
            "SELECT table_name, column_name FROM information_schema.columns WHERE is_identity = 'YES' "
            "AND table_schema = current_schema()"
        )
        for table, column in cursor.fetchall():
            cursor.execute(
                f"SELECT setval(pg_get_serial_sequence('\"{table}\"', '{column}'), "
                f'(SELECT coalesce(max("{column}"), 1) FROM "{table}"))'
            )


def texts(row):
    return [value if value is None or isinstance(value, bytes) else str(value) for value in row]


class TestOpened:
    pytestmark = pytest.mark.django_db(transaction=True)

    @pytest.mark.both_databases
    def test_every_row_is_there(self, opened):
        before, shape = opened
        after = rows_now()
        empty = [name for name, (_, rows) in before.items() if not rows]
        assert empty == []
        check_same(before, after)
        assert shapes() == shape

    def test_events_and_sessions_are_rewritten_and_none_is_lost(self, opened):
        before, _ = opened
        assert Event.objects.count() == len(before["annotations_event"][1])
        assert all("reason" not in event.data for event in Event.objects.filter(verb="gold.frozen"))
        session = Session.objects.get()
        assert session.get_decoded() == {"language": "it"}

    @pytest.mark.both_databases
    def test_references_to_moved_rows_hold_and_cascade(self, opened):
        job = Job.objects.get(state="queued")
        run = Run.objects.get(job=job)
        assert run.items.count() == NOTES
        share = Share.objects.get()
        owner = share.job
        owner.delete()
        assert not Share.objects.exists()
        job.delete()
        assert not Run.objects.filter(pk=run.pk).exists()

    @pytest.mark.both_databases
    def test_new_rows_go_on_where_the_old_ones_ended(self, opened):
        project = Project.objects.get()
        last = Job.objects.order_by("pk").last().pk
        assert Job.objects.create(kind="run", project=project, key="new").pk > last

    def test_jobs_are_numbered_from_1(self, opened):
        jobs = Job.objects.order_by("pk").values_list("number", flat=True)
        assert list(jobs) == list(range(1, len(jobs) + 1))
        assert Project.objects.get().last_job_number == len(jobs)

    def test_a_worker_takes_up_what_waited(self, opened):
        job = Job.objects.get(state="queued")
        work(job.pk)
        job.refresh_from_db()
        assert (job.state, job.done, job.error) == (Job.State.DONE, NOTES, "")

    def test_pages_open(self, opened):
        client = signed_in()
        statuses = {page: client.get(reverse(page, args=["demo"])).status_code for page in PAGES}
        assert statuses == dict.fromkeys(PAGES, 200)

    def test_pages_of_one_row_open(self, opened):
        client, project = signed_in(), Project.objects.get()
        note = project.documents.order_by("pk").first()
        assert client.get(reverse("note", args=["demo", note.pk])).status_code == 200
        for job in Job.objects.all():
            assert client.get(reverse("job", args=["demo", job.number])).status_code == 200
        run = Run.objects.order_by("pk").first()
        assert client.get(reverse("review", args=["demo", run.author_id, note.pk])).status_code == 200

    def test_an_export_from_then_can_be_downloaded(self, opened):
        job = Job.objects.get(kind="export", params__format="brat")
        # Files expire after a day, and the backup is older.
        StoredFile.objects.update(expires_at=timezone.now() + timedelta(days=1))
        answer = signed_in().get(reverse("file_download", args=["demo", job.result["file_id"]]))
        assert answer.status_code == 200
        with zipfile.ZipFile(io.BytesIO(b"".join(answer.streaming_content))) as archive:
            assert archive.testzip() is None
            assert len([name for name in archive.namelist() if name.endswith(".ann")]) == job.result["notes"]


def signed_in():
    client = Client()
    client.force_login(User.objects.get(username="manager"))
    return client


@pytest.fixture
def folder(old, tmp_path):
    """A data folder of the old version."""
    data = tmp_path / "data"
    data.mkdir(mode=0o700)
    Path(shutil.copy(old, data / "deidreview.sqlite3")).chmod(0o600)
    return data


in_the_folder = pytest.mark.skipif(connection.vendor != "sqlite", reason="about the database in the data folder")


@in_the_folder
@pytest.mark.product
@pytest.mark.processes
def test_a_data_folder_from_then_is_opened_in_place_and_the_product_does_what_waited(old, folder, tmp_path):
    before, shape, file = rows_of(old), shapes(old), folder / "deidreview.sqlite3"
    environ = clean_environ(folder) | {"DEIDREVIEW_SECRET_KEY": SECRET}
    done = warm.run(["prepare"], environ)
    assert done.returncode == 0, done.stderr
    assert "The database is from an older version" in done.stdout
    check_same(before, rows_of(file))
    assert shapes(file) == shape
    assert len(list((folder / "backups").iterdir())) == 1

    product = Product(folder, environ, tmp_path / "output")
    try:
        product.wait_ready()
        assert product.get("/accounts/login/")[0] == 200
        wait_for(
            lambda: waiting_job(folder) == ("done", NOTES),
            what="the run that waited",
            progress=lambda: waiting_job(folder),
        )
        assert product.stop() == 0
    finally:
        product.kill_all()
        print(product.output)


def waiting_job(folder):
    with contextlib.closing(sqlite3.connect(folder / "deidreview.sqlite3", timeout=HANGS)) as database:
        return database.execute("SELECT state, done FROM models_runtime_job WHERE key = 'run-waiting'").fetchone()
