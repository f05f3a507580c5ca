"""A transaction is on disk when it is acknowledged, and lets the next one in before it waits for the disk (SQLite)."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.db import OperationalError, connection, transaction
from django.db.utils import ConnectionHandler

from deidreview.sqlite3 import log
from tests.waiting import HANGS

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(connection.vendor != "sqlite", reason="PostgreSQL has a log of its own"),
]


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Any]:
    """A database with the app's own settings, which wait for the disk; the tests' settings don't."""
    own = dict(connection.settings_dict)
    options = own["OPTIONS"]["init_command"].replace("synchronous=OFF", "synchronous=FULL")
    own |= {"NAME": tmp_path / "log.sqlite3", "OPTIONS": own["OPTIONS"] | {"init_command": options}}
    handler = ConnectionHandler({"default": own})
    opened: list[Any] = []

    def connect() -> Any:
        made = handler.create_connection("default")
        made.inc_thread_sharing()
        opened.append(made)
        return made

    first = connect()
    first.cursor().execute("CREATE TABLE t (x)")
    first.again = connect
    yield first
    for each in opened:
        each.close()


@contextmanager
def atomic(database: Any) -> Iterator[None]:
    database.set_autocommit(False, force_begin_transaction_with_broken_autocommit=True)
    try:
        yield
        database.commit()
    except BaseException:
        database.rollback()
        raise
    finally:
        database.set_autocommit(True)


def add(database: Any, value: int) -> None:
    with atomic(database):
        database.cursor().execute("INSERT INTO t VALUES (%s)", [value])


def rows(database: Any) -> list[int]:
    return [x for (x,) in database.cursor().execute("SELECT x FROM t ORDER BY x").fetchall()]


def level(database: Any) -> int:
    return int(database.cursor().execute("PRAGMA synchronous").fetchone()[0])


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that were flushed to disk."""
    done: list[str] = []

    def to_disk(file: int) -> None:
        done.append(Path(f"/proc/self/fd/{file}").readlink().name)
        os.fsync(file)

    monkeypatch.setattr(log, "_to_disk", to_disk)
    return done


def test_a_commit_is_on_disk_when_it_returns(database: Any, disk: list[str]) -> None:
    for number in range(3):
        add(database, number)
        assert disk == ["log.sqlite3-wal"] * (number + 1)
    assert rows(database) == [0, 1, 2]


def test_outside_a_transaction_sqlite_waits_by_itself(database: Any, disk: list[str]) -> None:
    assert level(database) == 2
    add(database, 1)
    assert level(database) == 2
    with pytest.raises(ZeroDivisionError), atomic(database):
        assert level(database) == 1
        raise ZeroDivisionError
    assert level(database) == 2
    assert len(disk) == 1


def test_the_next_writer_does_not_wait_for_the_disk(database: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first commit waits for the disk; the second commits meanwhile, and is acknowledged only by a later flush."""
    reached, go = threading.Event(), threading.Event()
    calls = []

    def slow(file: int) -> None:
        calls.append(rows(third))
        reached.set()
        assert go.wait(HANGS)

    monkeypatch.setattr(log, "_to_disk", slow)
    third, second = database.again(), database.again()
    acknowledged: list[int] = []

    def work(own: Any, value: int) -> None:
        add(own, value)
        acknowledged.append(value)

    one = threading.Thread(target=work, args=(database, 1))
    one.start()
    assert reached.wait(HANGS)
    two = threading.Thread(target=work, args=(second, 2))
    two.start()
    while rows(third) != [1, 2]:
        assert two.is_alive()
    assert acknowledged == []
    go.set()
    one.join(HANGS)
    two.join(HANGS)
    assert sorted(acknowledged) == [1, 2]
    # The first flush had begun before the second commit, so it could not include it.
    assert calls == [[1], [1, 2]]


def test_one_flush_serves_all_waiting_commits(database: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    reached, go = threading.Event(), threading.Event()
    calls = []

    def slow(file: int) -> None:
        calls.append(file)
        reached.set()
        assert go.wait(HANGS)

    monkeypatch.setattr(log, "_to_disk", slow)
    third, others = database.again(), [database.again() for _ in range(5)]
    threads = [threading.Thread(target=add, args=(database, 0))]
    threads[0].start()
    assert reached.wait(HANGS)
    for number, own in enumerate(others, 1):
        threads.append(threading.Thread(target=add, args=(own, number)))
        threads[-1].start()
    shared = database.log._shared
    while shared.committed < 6:
        assert all(thread.is_alive() for thread in threads)
    go.set()
    for thread in threads:
        thread.join(HANGS)
    assert rows(third) == [0, 1, 2, 3, 4, 5]
    assert len(calls) == 2


def test_a_disk_error_is_reported(database: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(file: int) -> None:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patched:
        patched.setattr(log, "_to_disk", refuse)
        with pytest.raises(OperationalError, match="disk I/O error"):
            add(database, 1)
    add(database, 2)
    assert 2 in rows(database)
    assert not database.queue.holds


def test_the_log_may_be_restarted(database: Any, disk: list[str]) -> None:
    for number in range(3):
        add(database, number)
        database.cursor().execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert len(disk) == 3
    again = database.again()
    assert rows(again) == [0, 1, 2]


def test_the_tests_database_does_not_wait_for_the_disk() -> None:
    with transaction.atomic():
        connection.cursor().execute("SELECT 1")
    assert connection.log is None  # type: ignore[attr-defined]
