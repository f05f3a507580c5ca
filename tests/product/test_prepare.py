"""Commands of `manage.py` before the first start, and two `prepare` commands at the same time."""

import fcntl
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from django.db import connection

from tests.waiting import HANGS
from tests.worlds.product import ROOT, own_database

pytestmark = [pytest.mark.product, pytest.mark.processes]
sqlite_only = pytest.mark.skipif(connection.vendor != "sqlite", reason="about the database in the data folder")


def lines(done):
    return (done.stdout + done.stderr).strip().splitlines()


def create(manage, **changes):
    return manage("create_project", "Ward", "--labels", "meddocan", **changes)


def test_help_lists_all_commands_before_there_is_anything(manage, environ):
    for arguments in ([], ["help", "import_documents"]):
        done = manage(*arguments)
        assert "import_documents" in done.stdout and done.stderr == ""
    assert not Path(environ["DEIDREVIEW_DATA"]).exists()


@sqlite_only
def test_the_first_command_prepares_the_folder(manage, environ):
    # In a process of its own, where nothing has set Django up.
    words = [sys.executable, "manage.py", "create_project", "Ward", "--labels", "meddocan"]
    done = subprocess.run(words, cwd=ROOT, env=environ, capture_output=True, text=True, check=False, timeout=HANGS)
    assert done.returncode == 0, done.stderr
    folder = Path(environ["DEIDREVIEW_DATA"])
    assert done.stderr == f"deidreview: Prepared the new data folder {folder}: a secret key and an empty database.\n"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert manage("queues", "--json").stderr.count("Prepared") == 0


@sqlite_only
def test_a_first_command_prepares_nothing_that_somebody_uses(manage, environ, tmp_path):
    """A folder of an app whose database is elsewhere, and a database that DATABASE_URL names, are left alone."""
    (Path(environ["DEIDREVIEW_DATA"]) / "static").mkdir(parents=True)
    done = create(manage)
    assert done.returncode == 1 and lines(done)[-1].endswith("manage.py prepare"), done.stderr
    elsewhere = create(
        manage, DATABASE_URL=f"sqlite:///{tmp_path}/shared.sqlite3", DEIDREVIEW_DATA=str(tmp_path / "new"),
        DEIDREVIEW_SECRET_KEY="k" * 50,
    )  # fmt: skip
    assert elsewhere.returncode == 1 and lines(elsewhere)[-1].endswith("manage.py prepare")

    running = tmp_path / "running"
    running.mkdir()
    with (running / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = create(manage, DEIDREVIEW_DATA=str(running))
    assert done.returncode == 1 and "is in use by a deidreview that has no database there" in done.stderr
    assert not (running / "deidreview.sqlite3").exists()


@sqlite_only
def test_a_word_that_is_no_command_prepares_nothing(manage, environ):
    assert manage("create_projekt").returncode == 1
    assert manage("create_project", "--help").returncode == 0
    assert not (Path(environ["DEIDREVIEW_DATA"]) / "deidreview.sqlite3").exists()


def test_without_a_key_a_shared_database_is_not_touched(manage):
    done = manage("create_project", "Ward", DATABASE_URL="postgres://nobody@127.0.0.1:1/none")
    assert done.returncode == 1
    assert len(lines(done)) == 1
    assert lines(done)[0].startswith("deidreview: DEIDREVIEW_SECRET_KEY: Set a random value")


def test_a_database_that_is_away_is_one_line(manage):
    done = manage(
        "createsuperuser", "--noinput", "--username=ann", DATABASE_URL="postgres://nobody@127.0.0.1:1/none",
        DEIDREVIEW_SECRET_KEY="k" * 50,
    )  # fmt: skip
    assert done.returncode == 1
    assert len(lines(done)) == 1 and "does not answer" in lines(done)[0]


@pytest.mark.both_databases
@pytest.mark.usefixtures("start")  # so that `--part` counts this test as one with a database
@pytest.mark.skipif(connection.vendor != "postgresql", reason="about the encoding of a PostgreSQL database")
def test_a_database_that_counts_bytes_is_refused(manage):
    with own_database("ENCODING 'SQL_ASCII' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0") as variables:
        done = manage("prepare", DEIDREVIEW_SECRET_KEY="k" * 50, **variables)
    assert done.returncode == 1
    assert "has the encoding SQL_ASCII, but notes need UTF8. Create another one" in done.stderr


@pytest.mark.nightly
@pytest.mark.usefixtures("start")  # so that `--part` counts this test as one with a database
@pytest.mark.parametrize("same_folder", [True, False], ids=["one folder", "two folders"])
def test_two_that_prepare_at_once(environ, tmp_path, same_folder):
    if same_folder != (connection.vendor == "sqlite"):
        pytest.skip("on SQLite, two folders are two databases; on PostgreSQL, one folder is locked as on SQLite")
    folders = [tmp_path / "data", tmp_path / ("data" if same_folder else "other")]
    both = [
        subprocess.Popen(
            [sys.executable, "manage.py", "prepare"], cwd=ROOT,
            env={**environ, "DEIDREVIEW_DATA": str(folder), "DEIDREVIEW_SECRET_KEY": "k" * 50},
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )
        for folder in folders
    ]  # fmt: skip
    outputs = [one.communicate(timeout=HANGS)[0] for one in both]
    assert [one.returncode for one in both] == [0, 0], outputs
    assert sum("Created the" in output for output in outputs) == 1
    assert sum("Waiting until it has finished" in output for output in outputs) == 1
