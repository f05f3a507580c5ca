"""A transaction is on disk when it is acknowledged, and lets the next one in before it waits for the disk (SQLite)."""

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.db import OperationalError, connection
from django.db.utils import ConnectionHandler

from deidreview.sqlite3 import base
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

    monkeypatch.setattr(base, "_to_disk", to_disk)
    return done


def test_a_commit_is_on_disk_when_it_returns(database: Any, disk: list[str]) -> None:
    for number in range(3):
        add(database, number)
        assert disk == ["log.sqlite3-wal"] * (number + 1)
        database.cursor().execute("PRAGMA wal_checkpoint(TRUNCATE)")  # The log may be restarted.
    assert rows(database.again()) == [0, 1, 2]


def test_outside_a_transaction_sqlite_waits_by_itself(database: Any, disk: list[str]) -> None:
    assert level(database) == 2
    add(database, 1)
    assert level(database) == 2
    with pytest.raises(ZeroDivisionError), atomic(database):
        assert level(database) == 1
        raise ZeroDivisionError
    assert level(database) == 2 and len(disk) == 1


def test_a_write_that_need_not_wait_is_on_disk_with_the_next_commit(database: Any, disk: list[str]) -> None:
    with database.without_waiting():
        assert level(database) == 1
        database.cursor().execute("INSERT INTO t VALUES (1)")
        assert rows(database.again()) == [1] and disk == []
    assert level(database) == 2
    add(database.again(), 2)
    assert disk == ["log.sqlite3-wal"]
    with atomic(database), database.without_waiting():  # A transaction waits as always.
        database.cursor().execute("INSERT INTO t VALUES (3)")
    assert level(database) == 2 and len(disk) == 2 and rows(database) == [1, 2, 3]
    with pytest.raises(ZeroDivisionError), database.without_waiting():
        raise ZeroDivisionError
    assert level(database) == 2


class SlowDisk:
    """A disk that lets nothing through before `go` is set. `seen` are the results of `look` at each flush."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, look: Callable[[], Any]) -> None:
        self.reached, self.go = threading.Event(), threading.Event()
        self.seen: list[Any] = []

        def slow(file: int) -> None:
            self.seen.append(look())
            self.reached.set()
            assert self.go.wait(HANGS)

        monkeypatch.setattr(base, "_to_disk", slow)


def test_the_next_writer_does_not_wait_for_the_disk(database: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first commit waits for the disk; the second commits meanwhile, and is acknowledged only by a later flush."""
    third, second = database.again(), database.again()
    disk = SlowDisk(monkeypatch, lambda: rows(third))
    acknowledged: list[int] = []

    def work(own: Any, value: int) -> None:
        add(own, value)
        acknowledged.append(value)

    one, two = (threading.Thread(target=work, args=task) for task in ((database, 1), (second, 2)))
    one.start()
    assert disk.reached.wait(HANGS)
    two.start()
    while rows(third) != [1, 2]:
        assert two.is_alive()
    assert acknowledged == []
    disk.go.set()
    one.join(HANGS), two.join(HANGS)
    assert sorted(acknowledged) == [1, 2]
    # The first flush had begun before the second commit, so it could not include it.
    assert disk.seen == [[1], [1, 2]]


def test_one_flush_serves_all_waiting_commits(database: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    disk = SlowDisk(monkeypatch, lambda: None)
    third, others = database.again(), [database.again() for _ in range(5)]
    threads = [threading.Thread(target=add, args=(own, number)) for number, own in enumerate([database, *others])]
    threads[0].start()
    assert disk.reached.wait(HANGS)
    for thread in threads[1:]:
        thread.start()
    while database.log._shared.committed < 6:
        assert all(thread.is_alive() for thread in threads)
    disk.go.set()
    for thread in threads:
        thread.join(HANGS)
    assert rows(third) == [0, 1, 2, 3, 4, 5] and len(disk.seen) == 2


def test_a_disk_error_is_reported(database: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(file: int) -> None:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patched:
        patched.setattr(base, "_to_disk", refuse)
        with pytest.raises(OperationalError, match="disk I/O error"):
            add(database, 1)
    add(database, 2)
    assert 2 in rows(database)
    assert not database.queue.holds
