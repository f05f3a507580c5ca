"""The command behind `make run` with real processes: start, stop, restart, and errors that prevent a start."""

import json
import re
import signal
import sqlite3
from pathlib import Path
from urllib.request import Request, urlopen

import psutil
import pytest
from django.db import connection

from tests.waiting import wait_for

pytestmark = [pytest.mark.product, pytest.mark.processes]
sqlite_only = pytest.mark.skipif(connection.vendor != "sqlite", reason="looks into the SQLite file")


def test_start_kill_start_stop_and_restore_with_the_data_still_there(start, manage, tmp_path, environ):
    product = start(fresh=True, DEIDREVIEW_DEMO="1").wait_ready()
    assert "Demo accounts: manager" in product.output
    assert product.get("/accounts/login/")[0] == 200
    assert set(product.commands()) == {"loader", "web", "relay", "work", "redis"}

    def idle_again():
        """The demo's run is a job: one process pushes it to Redis, another takes it, and a third shows it."""
        (cpu,) = [row for row in json.loads(manage("queues", "--json").stdout)["queues"] if row["queue"] == "cpu"]
        return cpu["workers"] == 1 and cpu["waiting"] == cpu["running"] == 0

    wait_for(idle_again, 60, "the demo's run")
    for file in product.data.rglob("*"):
        assert file.stat().st_mode & 0o077 == 0 or file.parent.stat().st_mode & 0o077 == 0, file
    assert "NoPermission" not in product.output and "Redis is unavailable" not in product.output

    made = manage("backup", str(tmp_path / "b"), "--json")
    assert made.returncode == 0, made.stderr
    refused = manage("restore", str(tmp_path / "b"), "--force")
    assert refused.returncode == 1
    assert f"deidreview is running with the data folder {product.data}. Stop it first." in refused.stderr

    # Killed, it leaves no process behind, and starts again although Redis lost its file.
    product.tree()
    product.process.send_signal(signal.SIGKILL)
    product.process.wait()
    wait_for(lambda: product.survivors() == [], 30, "the children to end")
    for file in (product.data / "redis").rglob("appendonly*"):
        if file.is_file():
            file.write_bytes(b"this is no append-only file")
    again = start(DEIDREVIEW_DEMO="1").wait_ready()
    assert again.get("/healthz") == (200, '{"status": "ok"}')
    for needless in ("Created the", "Updated the", "Collected the", "Loaded the"):
        assert needless not in again.output
    assert "Redis could not read its file" in again.output
    assert list(again.data.glob("redis.unreadable-*"))
    assert again.stop(signal.SIGTERM) == 0
    assert again.survivors() == []
    assert "Everything is saved." in again.output
    assert "was killed" not in again.output

    status, words = start(HOST="0.0.0.0").finish()
    assert status == 1
    assert "HOST: other machines could sign in as anna, bruno" in words


def test_a_first_page_contains_its_files_and_a_later_one_does_not(running):
    page = f"http://127.0.0.1:{running.port}/accounts/login/"
    with urlopen(page) as first:  # our own server
        text, policy = first.read().decode(), first.headers["Content-Security-Policy"]
    nonces = re.findall(r'<(?:script|style) nonce="([^"]+)"', text)
    assert len(nonces) == 3
    assert {f"'nonce-{nonce}'" for nonce in nonces} == set(re.findall(r"'nonce-[^']+'", policy))
    assert not re.search('<script src|rel="stylesheet"', text)
    [version] = re.findall('data-files="(.+?)"', text)
    with urlopen(Request(page, headers={"Cookie": f"deidreview-files={version}"})) as later:
        assert len(re.findall('<script src|rel="stylesheet"', later.read().decode())) == 3
        assert "nonce" not in later.headers["Content-Security-Policy"]


@pytest.mark.nightly
def test_a_browser_without_files_gets_them_within_the_page(running, browser):
    linked = "[document.querySelectorAll('script[src], link[rel=stylesheet]').length, typeof htmx]"
    with browser.new_context() as context:
        page, errors = context.new_page(), []
        page.on("console", lambda message: errors.append(message.text))
        page.on("pageerror", lambda error: errors.append(str(error)))
        first = page.goto(f"http://127.0.0.1:{running.port}/accounts/login/", wait_until="networkidle")
        assert page.evaluate(linked) == [0, "object"]
        assert page.evaluate("getComputedStyle(document.body).display") == "flex"
        assert first.header_value("Content-Encoding") == "gzip"
        page.wait_for_selector("link[rel=prefetch][href*=annotate]", state="attached")
        later = page.reload(wait_until="networkidle")
        assert page.evaluate(linked) == [3, "object"]
        assert later.header_value("Content-Encoding") is None
    assert errors == []


@pytest.mark.nightly
def test_a_backup_is_restored_into_a_folder_with_a_long_name(start, manage, tmp_path, environ):
    start(fresh=True, DEIDREVIEW_DEMO="1").wait_ready().stop()
    made = manage("backup", str(tmp_path / "b"), "--json")
    # A path that is too long for a socket.
    elsewhere = tmp_path / ("long" * 30) / "with a space and %41"
    key = {"DEIDREVIEW_DATA": str(elsewhere), "DEIDREVIEW_SECRET_KEY": "k" * 50}
    # On PostgreSQL, both data folders use the same database, which contains data.
    force = ["--force"] if "DATABASE_URL" in environ else []
    back = manage("restore", str(tmp_path / "b"), "--json", *force, **key)
    assert back.returncode == 0, back.stderr
    assert json.loads(back.stdout)["counts"] == json.loads(made.stdout)["counts"]
    restored = start(DEIDREVIEW_DEMO="1", **key).wait_ready()
    assert "Loaded the demo project" not in restored.output
    assert restored.get("/accounts/login/")[0] == 200
    assert not (elsewhere / "redis" / "redis.sock").exists()
    words = restored.commands()["redis"].cmdline()
    socket_file = next(word for word in words if "redis.sock" in word).split(":", 1)[1]
    assert restored.stop() == 0
    assert not Path(socket_file).parent.exists()


def test_redis_is_not_on_the_network(running):
    assert [one for one in running.commands()["redis"].net_connections() if one.laddr] == []
    assert list((running.data / "redis").glob("appendonly*"))


def test_a_killed_process_is_started_again(running):
    before = running.commands()
    before["work"].kill()
    before["redis"].kill()

    wait_for(lambda: replaced(running, before["work"]) and replaced(running, before["redis"]))
    assert "The worker process ended (killed by SIGKILL). It starts again in 0.5 s." in running.output
    assert running.get("/healthz")[0] == 200


def test_a_killed_web_server_loses_no_connection(running):
    web = running.commands()["web"]
    web.kill()

    # The supervisor keeps the listening socket open, so the request waits until the new server answers it.
    assert running.get("/healthz")[0] == 200
    wait_for(lambda: replaced(running, web))
    assert running.get("/healthz")[0] == 200


def test_a_killed_loader_is_started_again_with_all_that_it_forked(running):
    before = running.commands()
    before["loader"].kill()

    wait_for(lambda: all(replaced(running, before[name]) for name in ("loader", "web", "relay", "work")))
    assert running.commands()["redis"] == before["redis"]
    # The database is prepared at the first start only.
    assert "--greeting-fd" not in running.commands()["loader"].cmdline()
    assert running.get("/healthz")[0] == 200


def test_a_second_instance_on_the_folder(running, start):
    status, words = start(DEIDREVIEW_DATA=str(running.data)).finish()

    assert status == 1
    assert words.endswith(f"is in use by another deidreview (process {running.process.pid}). Stop it first.")
    assert len(words.splitlines()) == 1


def test_a_malformed_setting_is_one_line(start):
    status, words = start(DEIDREVIEW_UPLOAD_MB="much").finish()

    assert (status, words) == (1, "deidreview: DEIDREVIEW_UPLOAD_MB: “much” is not a whole number.")


def test_a_stop_in_the_middle_of_the_start(start):
    product = start(fresh=True)
    wait_for(lambda: product.tree(), what="the first child")
    assert product.stop() == 0
    assert product.survivors() == []


@pytest.fixture
def data(environ, prepared):
    """The data folder of a product that was stopped."""
    folder = Path(environ["DEIDREVIEW_DATA"])
    prepared(folder)
    return folder


@sqlite_only
@pytest.mark.parametrize(
    ("migration", "told"),
    [
        ("9999_later", "was written by a newer version of deidreview: version"),
        ("0001_initial", "is from a version before the first release, which this version can't read."),
    ],
)
def test_data_from_a_newer_version_and_one_before_the_first_release(manage, data, migration, told):
    insert = "INSERT INTO django_migrations (app, name, applied) VALUES ('annotations', '{}', '2030-01-01')"
    _applied(data, insert.format(migration))

    done = manage("prepare")
    assert done.returncode == 1
    assert told in done.stderr
    assert len(done.stderr.splitlines()) == 1
    done = manage("migrate")
    refused = migration == "0001_initial"  # Django has nothing to do for a newer version.
    assert (done.returncode, told in done.stderr) == (int(refused), refused), done.stderr


@sqlite_only
def test_data_from_an_older_version_is_backed_up_and_migrated(data, manage):
    # Simulate an older version: remove the tables of models_runtime and the record of its migrations.
    assert manage("migrate", "models_runtime", "zero").returncode == 0

    done = manage("prepare")
    assert "The database is from an older version. A backup was written to " in done.stdout
    assert "Updated the database." in done.stdout
    assert len(list((data / "backups").glob("*-before-*.deidreview"))) == 1
    assert _applied(data, "SELECT COUNT(*) FROM django_migrations WHERE app = 'models_runtime'") > 0


def test_the_supervisor_is_small(running):
    assert psutil.Process(running.process.pid).memory_info().rss < 20 * 1024**2


def replaced(product, old):
    """Return whether the killed process has ended and all processes run again."""
    return not old.is_running() and {"web", "relay", "work", "redis"} <= set(product.commands())


def _applied(data, statement):
    with sqlite3.connect(data / "deidreview.sqlite3") as file:
        row = file.execute(statement).fetchone()
    return row and row[0]
