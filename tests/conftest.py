"""What every test shares: which database it runs on, and a data folder that is gone afterwards.

SQLite by default; PostgreSQL where DATABASE_URL names one (`make test` runs all tests on both).
"""

import os
import shutil
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

# Property tests take their time where the machine is busy, and leave no folder behind.
settings.register_profile("patient", deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")

# Playwright's event loop runs in the thread of the test, where Django would refuse the ORM.
os.environ.setdefault("DJANGO_ALLOW_ASYNC_UNSAFE", "1")
# Several runs share the machine: threads of one model that wait for each other would cost more than they bring.
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")
# A test never waits for a Redis that somebody else runs.
os.environ.pop("REDIS_URL", None)


def pytest_sessionstart() -> None:
    # WhiteNoise warns of a folder for static files that is not there.
    Path(os.environ["DEIDREVIEW_DATA"], "static").mkdir(parents=True, exist_ok=True)


@pytest.hookimpl(trylast=True)
def pytest_unconfigure() -> None:
    folder = Path(os.environ.get("DEIDREVIEW_DATA", ""))
    if folder.name.startswith("deidreview-test-"):
        shutil.rmtree(folder, ignore_errors=True)


# What a test asks for when it touches a database. Tests of the running product begin one of their own.
TOUCHES = {"db", "transactional_db", "django_db_setup", "live_server", "live", "start", "running", "web_server"}
BROWSER = {"browser", "journey"}
# Marks of tests of what runs in processes.
QUEUE, PRODUCT = "queue", "product"
RUNNING = {QUEUE, PRODUCT}
# Their databases are those of tests elsewhere; of these the ones marked `both_databases` run on both.
ONCE = {PRODUCT, "once"}
HERE = Path(__file__).parent
# Calls that a test can make at one moment.
THREADS = 8


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--part",
        choices=["all", "plain", "browser", "first", "first-running", "second", "second-running"],
        default="all",
        help="plain: tests that touch no database; browser: those in a browser; first: the others; second: those that "
        "are of interest on another database; -running: of those two, the tests of what runs in processes",
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    part = config.getoption("--part")
    if part == "all":
        return
    apart: dict[bool, list[pytest.Item]] = {True: [], False: []}
    for item in items:
        apart[_is_in(part, item)].append(item)
    items[:] = apart[True]
    config.hook.pytest_deselected(items=apart[False])


def _is_in(part: str, item: pytest.Item) -> bool:
    folders = set(item.path.relative_to(HERE).parts)
    marks = {mark.name for mark in item.iter_markers()}
    if not _touches_database(item, marks):
        return part == "plain"
    database, _, apart = part.partition("-")
    if database == "second":
        twice = not (folders & BROWSER or marks & ONCE) or "both_databases" in marks
        return twice and bool(apart) == bool(marks & RUNNING)
    if folders & BROWSER:
        return part == "browser"
    return database == "first" and bool(apart) == bool(marks & RUNNING)


def _touches_database(item: pytest.Item, marks: set[str]) -> bool:
    if marks & {QUEUE, "django_db"}:
        return True
    return bool(TOUCHES & set(getattr(item, "fixturenames", ())))


def pytest_report_header() -> str:
    from django.db import connection

    return f"database: {connection.display_name}"


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None) -> None:
    """Tests with real transactions empty the tables afterwards; SQLite's guards of the event log would refuse that."""
    from django.db import connection

    if connection.vendor != "sqlite":
        return
    # On the class: under Playwright's event loop, Django makes connection objects of their own.
    operations = type(connection.ops)
    flush = operations.execute_sql_flush

    def flush_unguarded(self: Any, sql_list: list[str]) -> None:
        with self.connection.cursor() as cursor:
            cursor.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'")
            triggers = cursor.fetchall()
        flush(self, [*(f'DROP TRIGGER "{name}"' for name, _ in triggers), *sql_list, *(sql for _, sql in triggers)])

    operations.execute_sql_flush = flush_unguarded


@pytest.fixture
def at_once() -> Iterator[Callable[..., list[Any]]]:
    """Run calls in threads of their own that start together; each with a database connection of its own."""
    from django.db import connection

    pool = ThreadPoolExecutor(THREADS)

    def run(*calls: Callable[[], Any]) -> list[Any]:
        barrier = threading.Barrier(len(calls))

        def begin(call: Callable[[], Any]) -> Any:
            connection.ensure_connection()
            barrier.wait(10)
            return call()

        return [done.result(30) for done in [pool.submit(begin, call) for call in calls]]

    yield run
    # The threads' connections would keep the test database from being dropped.
    barrier = threading.Barrier(THREADS)
    list(pool.map(lambda _: (barrier.wait(10), connection.close()), range(THREADS)))
    pool.shutdown()


@pytest.fixture(autouse=True)
def _requests_of_this_test() -> None:
    """Requests are counted by person and address in memory: each test begins at none."""
    from deidreview.limits import windows

    windows.clear()
