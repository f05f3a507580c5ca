"""Setup for all tests: the database, and a data folder that is deleted afterwards.

The default is SQLite; PostgreSQL is used if DATABASE_URL names one.
"""

import gc
import json
import os
import shutil
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from django.test import TransactionTestCase
from django.test import client as test_client
from hypothesis import HealthCheck, settings
from pytest_django import DjangoDbBlocker
from pytest_django.plugin import blocking_manager_key

from models_runtime.backends import children
from tests import held
from tests.held import once
from tests.waiting import HANGS
from tests.worlds import learners, sessions
from tests.worlds.learners import cold_learners

__all__ = ["cold_learners", "once"]
# Fixtures of these worlds are there in all tests.
pytest_plugins = ["tests.costs", "tests.worlds.pages", "tests.worlds.queue", "tests.worlds.released"]

# Property tests may take long on a busy machine, and leave no folder behind. `make test` always tries the same few
# examples, so that it fails or passes for the change alone; `make test-all` tries many new ones each time.
PATIENT = {"deadline": None, "database": None, "suppress_health_check": list(HealthCheck)}
settings.register_profile("quick", **PATIENT, max_examples=10, derandomize=True)
settings.register_profile("nightly", **PATIENT, max_examples=300)
settings.load_profile("quick")

# Playwright's event loop runs in the thread of the test, where Django would refuse the ORM.
os.environ.setdefault("DJANGO_ALLOW_ASYNC_UNSAFE", "1")
# Several test runs share the machine, so threads of one model that wait for each other would cost more than they gain.
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")
# How long a child process may take to open an uploaded file depends on the load.
children.CHECK_SECONDS = HANGS
learners.use()
sessions.use()
# Tests never use a Redis that is already running.
os.environ.pop("REDIS_URL", None)


def pytest_sessionstart() -> None:
    from deidreview.middleware import TwoWays

    # Requests of tests take the two ways of those to the web server.
    test_client.ClientHandler = type("ClientHandler", (TwoWays, test_client.ClientHandler), {})
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
# Marks of tests that run processes, and folders whose tests with a database do so.
RUNNING = {"queue", "product"}
QUEUES = {"jobs", "refining", "runs", "training"}
# Marks of tests that run on PostgreSQL in `make test`. Tests with threads do so without a mark.
SECOND = {"both_databases", "postgresql"}
# The parts of a run. The second ones use PostgreSQL; `make test` runs only what is marked there, as one part.
PARTS = (
    "plain",
    "first",
    "first-rest",
    "first-browser",
    "first-running",
    "first-running-rest",
    "second",
    "second-browser",
    "second-running",
)
# From these folders on, tests on SQLite are a part of their own that ends in "-rest": about half of them by time.
REST = {"": "h", "-running": "r"}
HERE = Path(__file__).parent
FILES = pytest.StashKey[set[Path]]()
# Calls that a test can make at the same time.
THREADS = 8


@pytest.fixture(autouse=True)
def _no_pace_of_other_tests() -> None:
    """Ids come again in other tests, never in an installation."""
    if worklist := sys.modules.get("annotations.annotate.selectors.worklist"):
        worklist._minutes.cache_clear()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--part",
        choices=["all", *PARTS],
        default="all",
        help="plain: tests without a database; first: on SQLite; second: on PostgreSQL; -browser and -running: those "
        "in a browser and those that run processes; -rest: the second half",
    )
    parser.addoption("--plan", type=Path, help="the file that says which files each part needs; made if there is none")
    parser.addoption("--nightly", action="store_true", help="run all that `make test-all` runs")
    parser.addoption("--shared", type=Path, help="a folder that the parts of one run share")


def pytest_configure(config: pytest.Config) -> None:
    """Choose the number of examples, and read which files have tests of this part, if another part has loaded them all.

    Loading all files takes half a minute.
    """
    if config.getoption("--nightly"):
        settings.load_profile("nightly")
    plan = config.getoption("--plan")
    if plan and plan.exists():
        config.stash[FILES] = {HERE / name for name in json.loads(plan.read_text())[config.getoption("--part")]}


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    files = config.stash.get(FILES, None)
    if files is None or collection_path == HERE:
        return None
    if collection_path.is_dir():
        return None if any(collection_path in file.parents for file in files) else True
    return None if collection_path in files or not collection_path.name.startswith("test_") else True


def pytest_collection_modifyitems(session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> None:
    part, nightly = config.getoption("--part"), config.getoption("--nightly")
    plan = config.getoption("--plan")
    if plan and not plan.exists() and not session.testsfailed:
        _write_plan(plan, items, nightly)
    apart: dict[bool, list[pytest.Item]] = {True: [], False: []}
    for item in items:
        parts = _parts_of(item, nightly)
        apart[part in parts or (part == "all" and bool(parts))].append(item)
    items[:] = apart[True]
    config.hook.pytest_deselected(items=apart[False])


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    if held.OPEN and (_has_transactions(item) or {"transactional_db", "live_server"} & _fixtures(item)):
        with item.config.stash[blocking_manager_key].unblock():
            held.roll_back()


def pytest_collection_finish() -> None:
    """Keep the garbage collector away from what lives as long as the run: a tenth of the time of tests of pages."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


def _write_plan(plan: Path, items: list[pytest.Item], nightly: bool) -> None:
    files: dict[str, set[str]] = {part: set() for part in PARTS}
    for item in items:
        for part in _parts_of(item, nightly):
            files[part].add(str(item.path.relative_to(HERE)))
    if not nightly and (lost := {name for name in files["first-browser"] if not name.startswith("browser/")}):
        raise pytest.UsageError(f"The part for the browser loads only tests/browser, and not {sorted(lost)}.")
    whole = plan.with_suffix(".part")
    whole.write_text(json.dumps({part: sorted(names) for part, names in files.items()}))
    whole.rename(plan)  # Who waits for the file finds all of it.


def _parts_of(item: pytest.Item, nightly: bool) -> set[str]:
    """Return the parts that run a test: none if it is only for the night."""
    marks = {mark.name for mark in item.iter_markers()}
    if "nightly" in marks and not nightly:
        return set()
    if not _touches_database(item, marks):
        return {"plain"}
    folders = item.path.relative_to(HERE).parts
    kind = "-running" if marks & RUNNING or folders[0] in QUEUES else ""
    # Playwright's event loop stays in the thread, where other tests could not run one of their own.
    kind = "-browser" if BROWSER & set(folders) or "playwright" in _fixtures(item) else kind
    rest = "-rest" if kind in REST and folders[0] >= REST[kind] else ""
    parts = set() if "postgresql" in marks else {f"first{kind}{rest}"}
    if nightly:
        parts.add(f"second{kind}")
    elif marks & SECOND or "at_once" in _fixtures(item):
        parts.add("second")
    return parts


def _fixtures(item: pytest.Item) -> set[str]:
    return set(getattr(item, "fixturenames", ()))


def _has_transactions(item: pytest.Item) -> bool:
    return any(mark.kwargs.get("transaction") for mark in item.iter_markers("django_db"))


def _touches_database(item: pytest.Item, marks: set[str]) -> bool:
    if marks & {*RUNNING, "django_db"} or issubclass(getattr(item, "cls", None) or object, TransactionTestCase):
        return True
    return bool(TOUCHES & _fixtures(item))


def pytest_report_header() -> str:
    from django.db import connection

    return f"database: {connection.display_name}"


@pytest.fixture(scope="session")
def django_db_keepdb(pytestconfig: pytest.Config) -> bool:
    return bool(pytestconfig.getoption("--shared"))


@pytest.fixture(scope="session")
def django_db_setup(request: pytest.FixtureRequest, django_db_blocker: DjangoDbBlocker) -> None:
    """Make the database, or copy it from another part, and let tests with real transactions empty its tables."""
    from tests import databases

    shared = request.config.getoption("--shared")
    with django_db_blocker.unblock(), databases.migrated(shared) if shared else nullcontext():
        request.getfixturevalue("django_db_setup")
        databases.use()


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
