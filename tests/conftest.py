"""Setup for all tests: the database, and a data folder that is deleted afterwards.

The default is SQLite; PostgreSQL is used if DATABASE_URL names one (`make test` runs all tests on both).
"""

import gc
import json
import os
import re
import shutil
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from django.test import TransactionTestCase
from hypothesis import HealthCheck, settings
from pytest_django import DjangoDbBlocker

from models_runtime.backends import children
from tests.waiting import HANGS

# Property tests may take long on a busy machine, and leave no folder behind.
settings.register_profile("patient", deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")

# Playwright's event loop runs in the thread of the test, where Django would refuse the ORM.
os.environ.setdefault("DJANGO_ALLOW_ASYNC_UNSAFE", "1")
# Several test runs share the machine, so threads of one model that wait for each other would cost more than they gain.
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")
# How long a child process may take to open an uploaded file depends on the load.
children.CHECK_SECONDS = HANGS
# Tests never use a Redis that is already running.
os.environ.pop("REDIS_URL", None)


def pytest_sessionstart() -> None:
    # WhiteNoise warns if the folder for static files is missing.
    Path(os.environ["DEIDREVIEW_DATA"], "static").mkdir(parents=True, exist_ok=True)


@pytest.hookimpl(trylast=True)
def pytest_unconfigure() -> None:
    folder = Path(os.environ.get("DEIDREVIEW_DATA", ""))
    if folder.name.startswith("deidreview-test-"):
        shutil.rmtree(folder, ignore_errors=True)


# Fixtures of tests that use a database. Tests of the running app start their own.
TOUCHES = {"db", "transactional_db", "django_db_setup", "live_server", "live", "start", "running", "web_server"}
BROWSER = {"browser", "journey"}
# Marks of tests that run processes.
QUEUE, PRODUCT = "queue", "product"
RUNNING = {QUEUE, PRODUCT}
# Marks of tests that run on one database, since other tests cover the second one, unless marked `both_databases`.
ONCE = {PRODUCT, "once"}
# Files with tests of pages, of routes of the API, and of commands. They run on one database too: PostgreSQL gets every
# page and route from test_access_matrix, test_api_matrix and test_fuzz, and most commands from test_all_commands. What
# databases do differently is tested with services and selectors. Tests with real transactions or threads run on both.
SURFACES = re.compile(r"test_(?!all_)(\w+_)?(views?|pages?|api|commands?)\.py")
PARTS = ("plain", "browser", "first", "first-running", "second", "second-running")
HERE = Path(__file__).parent
# The files with tests of each part, in the folder that the parts share.
PLAN = "plan.json"
FILES = pytest.StashKey[set[Path]]()
# Calls that a test can make at the same time.
THREADS = 8


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--part",
        choices=["all", "plan", *PARTS],
        default="all",
        help="plain: tests without a database; browser: tests in a browser; first: all others; second: tests that "
        "are worth running on a second database; -running: of those two, the tests that run processes; "
        "plan: none, but the files of each part are written to the shared folder",
    )
    parser.addoption("--shared", type=Path, help="a folder that the parts of one run share")


def pytest_configure(config: pytest.Config) -> None:
    """Read which files have tests of this part, if the tests were loaded before: loading all takes half a minute."""
    part, shared = config.getoption("--part"), config.getoption("--shared")
    if part in PARTS and shared and (shared / PLAN).exists():
        config.stash[FILES] = {HERE / name for name in json.loads((shared / PLAN).read_text())[part]}


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    files = config.stash.get(FILES, None)
    if files is None or collection_path == HERE:
        return None
    if collection_path.is_dir():
        return None if any(collection_path in file.parents for file in files) else True
    return None if collection_path in files or not collection_path.name.startswith("test_") else True


def pytest_collection_modifyitems(session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> None:
    part = config.getoption("--part")
    if part == "all":
        return
    if part == "plan":
        if not session.testsfailed:
            _write_plan(config.getoption("--shared"), items)
        items.clear()
        return
    apart: dict[bool, list[pytest.Item]] = {True: [], False: []}
    for item in items:
        apart[_is_in(part, item)].append(item)
    items[:] = apart[True]
    config.hook.pytest_deselected(items=apart[False])


def pytest_collection_finish() -> None:
    """Keep the garbage collector away from what lives as long as the run: a tenth of the time of tests of pages."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


def _write_plan(folder: Path, items: list[pytest.Item]) -> None:
    files = {part: sorted({str(item.path.relative_to(HERE)) for item in items if _is_in(part, item)}) for part in PARTS}
    (folder / PLAN).write_text(json.dumps(files))


def _is_in(part: str, item: pytest.Item) -> bool:
    folders = set(item.path.relative_to(HERE).parts)
    marks = {mark.name for mark in item.iter_markers()}
    if not _touches_database(item, marks):
        return part == "plain"
    database, _, apart = part.partition("-")
    if "postgresql" in marks:
        return database == "second" and bool(apart) == bool(marks & RUNNING)
    if database == "second":
        twice = not (folders & BROWSER or marks & ONCE or _is_of_surface(item)) or "both_databases" in marks
        return twice and bool(apart) == bool(marks & RUNNING)
    if folders & BROWSER:
        return part == "browser"
    return database == "first" and bool(apart) == bool(marks & RUNNING)


def _is_of_surface(item: pytest.Item) -> bool:
    real = {"at_once", "transactional_db"} & set(getattr(item, "fixturenames", ()))
    return bool(SURFACES.fullmatch(item.path.name)) and not real and not _has_transactions(item)


def _has_transactions(item: pytest.Item) -> bool:
    return any(mark.kwargs.get("transaction") for mark in item.iter_markers("django_db"))


def _touches_database(item: pytest.Item, marks: set[str]) -> bool:
    if marks & {QUEUE, "django_db"} or issubclass(getattr(item, "cls", None) or object, TransactionTestCase):
        return True
    return bool(TOUCHES & set(getattr(item, "fixturenames", ())))


def pytest_report_header() -> str:
    from django.db import connection

    return f"database: {connection.display_name}"


@pytest.fixture(scope="session")
def django_db_keepdb(pytestconfig: pytest.Config) -> bool:
    return bool(pytestconfig.getoption("--shared"))


@pytest.fixture(scope="session")
def django_db_setup(request: pytest.FixtureRequest, django_db_blocker: DjangoDbBlocker) -> None:
    """Make the database, or copy it from another part, and let tests with real transactions empty its tables."""
    from tests import emptying
    from tests.migrated import migrated

    shared = request.config.getoption("--shared")
    with django_db_blocker.unblock(), migrated(shared) if shared else nullcontext():
        request.getfixturevalue("django_db_setup")
        emptying.use()


@pytest.fixture
def at_once() -> Iterator[Callable[..., list[Any]]]:
    """Run calls in threads that start together, each with its own database connection."""
    from django.db import connection

    pool = ThreadPoolExecutor(THREADS)

    def run(*calls: Callable[[], Any]) -> list[Any]:
        barrier = threading.Barrier(len(calls))

        def begin(call: Callable[[], Any]) -> Any:
            connection.ensure_connection()
            barrier.wait(HANGS)
            return call()

        return [done.result(HANGS) for done in [pool.submit(begin, call) for call in calls]]

    yield run
    # The threads' connections would keep the test database from being dropped.
    barrier = threading.Barrier(THREADS)
    list(pool.map(lambda _: (barrier.wait(HANGS), connection.close()), range(THREADS)))
    pool.shutdown()


@pytest.fixture(autouse=True)
def _requests_of_this_test() -> None:
    """Reset the counts of requests by person and address, which are kept in memory."""
    from deidreview.limits import token_windows, windows

    windows.clear()
    token_windows.clear()
