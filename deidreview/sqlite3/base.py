"""Django's SQLite backend, with a queue for those who want to write.

SQLite lets one connection write at a time and has the others sleep and look again, 1 ms at first and up to 100 ms: with
eight people at work most of that time nobody writes, and who comes last may wait longest. Here a transaction that will
write first takes a lock on a file beside the database, on which the kernel wakes the next one at once. SQLite's own
locks stay what protects the data: whoever does not queue (a backup, a shell) is as safe as ever.
"""

import fcntl
import os
import threading
from collections import defaultdict
from contextlib import suppress
from functools import lru_cache
from typing import Any

from django.db import OperationalError
from django.db.backends.sqlite3 import base

# Inside a process people queue here, by database file, so that one thread at most waits in the kernel without a limit.
_turns: dict[str, threading.Lock] = defaultdict(threading.Lock)
# A child of a fork has none of the threads that held them.
os.register_at_fork(after_in_child=_turns.clear)


class Cursor(base.SQLiteCursorWrapper):
    """Remembers how the product's few statements look in SQLite's own style."""

    def convert_query(self, query: str, *, param_names: Any = None) -> str:
        return (
            _in_sqlites_style(query)
            if param_names is None
            else str(super().convert_query(query, param_names=param_names))
        )


@lru_cache(maxsize=512)
def _in_sqlites_style(query: str) -> str:
    return base.FORMAT_QMARK_REGEX.sub("?", query).replace("%%", "%")


class Queue:
    """One connection's place in the queue of a database file. Never waits for itself."""

    def __init__(self, file: str) -> None:
        self.holds = False
        self._turn = _turns[file]
        self._file = os.open(f"{file}-queue", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def enter(self, seconds: float) -> None:
        if self.holds:
            return
        if not self._turn.acquire(timeout=seconds):
            raise OperationalError("database is locked")
        self.holds = True
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX)
        except BaseException:
            self.leave()
            raise

    def leave(self) -> None:
        if self.holds:
            self.holds = False
            fcntl.flock(self._file, fcntl.LOCK_UN)
            self._turn.release()

    def close(self) -> None:
        if self._file >= 0:
            self.leave()
            os.close(self._file)
            self._file = -1

    def __del__(self) -> None:
        # A thread may end without closing its connection.
        with suppress(AttributeError, OSError):
            self.close()


def _make_private(file: str | os.PathLike[str]) -> None:
    """A new database is its owner's alone, whatever the umask of the command that makes it; SQLite's own side files
    take its mode."""
    with suppress(OSError):  # it is there, or it can't be made: SQLite will say so
        os.close(os.open(file, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))


# django-stubs know little of a backend's inside.
Original: Any = base.DatabaseWrapper


class DatabaseWrapper(Original):  # type: ignore[misc]
    queue: Queue | None = None

    def get_new_connection(self, conn_params: Any) -> Any:
        if not self.is_in_memory_db():
            _make_private(conn_params["database"])
        connection = super().get_new_connection(conn_params)
        if not self.is_in_memory_db():
            with suppress(OSError):  # a folder that can't be written: then nobody writes here
                self.queue = Queue(os.path.abspath(conn_params["database"]))  # noqa: PTH100 - text, and links as given
        return connection

    def create_cursor(self, name: str | None = None) -> Any:
        return self.connection.cursor(factory=Cursor)

    def _start_transaction_under_autocommit(self) -> None:
        if self.queue is None or self.transaction_mode is None:
            super()._start_transaction_under_autocommit()
            return
        self.queue.enter(self.settings_dict["OPTIONS"].get("timeout", 5))
        try:
            super()._start_transaction_under_autocommit()
        except BaseException:
            self.queue.leave()
            raise

    def _commit(self) -> None:
        super()._commit()
        # Not where it failed: the rollback that follows ends the transaction.
        self._leave()

    def _rollback(self) -> None:
        try:
            super()._rollback()
        finally:
            self._leave()

    def _close(self) -> None:
        try:
            super()._close()
        finally:
            if self.queue is not None:
                self.queue.close()
                self.queue = None

    def _leave(self) -> None:
        if self.queue is not None:
            self.queue.leave()
