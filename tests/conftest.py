"""What every test shares: which database it runs on, and a data folder that is gone afterwards.

SQLite by default; PostgreSQL where DATABASE_URL names one (`make test` runs all tests on both).
"""

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

# Playwright's event loop runs in the thread of the test, where Django would refuse the ORM.
os.environ.setdefault("DJANGO_ALLOW_ASYNC_UNSAFE", "1")
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
