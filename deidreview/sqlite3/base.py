"""Django's SQLite backend with a queue for writers.

SQLite lets one connection write at a time; the others sleep and look again, after 1 ms at first and up to 100 ms. With
eight people at work nobody writes during most of that time, and some connections wait very long. Here a writing
transaction first takes a lock on a file beside the database; the kernel wakes the next waiting one at once. SQLite's
own locks still protect the data, so connections that don't queue (a backup, a shell) are safe. A transaction
waits for the disk only after it has let the next writer in (see `Log`).
"""

import fcntl
import os
import threading
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from typing import Any

from django.db import OperationalError
from django.db.backends.sqlite3 import base

WRITES = ("INSERT", "UPDATE", "DELETE", "REPLACE")
# PRAGMA synchronous: at these levels a commit waits for the disk.
WAITS = {2: "FULL", 3: "EXTRA"}
# The threads of a process queue here, by database file, so that at most one thread waits in the kernel without a limit.
_turns: dict[str, threading.Lock] = defaultdict(threading.Lock)
# After a fork the child has none of the threads that held these locks.
os.register_at_fork(after_in_child=_turns.clear)


class Cursor(base.SQLiteCursorWrapper):
    """A cursor that queues for writes outside a transaction, and caches statements converted to SQLite's style."""

    queue: "WriterQueue | None" = None
    _in_turn = False

    def execute(self, query: str, params: Any = None) -> Any:
        queue = self.queue
        if queue is None or queue.holds or not query.startswith(WRITES):
            return super().execute(query, params)
        queue.enter()
        try:
            done = super().execute(query, params)
        except BaseException:
            queue.leave()
            raise
        # A statement that returns rows is only committed after the rows were fetched.
        self._in_turn = self.description is not None
        if not self._in_turn:
            queue.leave()
        return done

    def close(self) -> None:
        super().close()
        if self._in_turn and self.queue is not None:
            self._in_turn = False
            self.queue.leave()

    def convert_query(self, query: str, *, param_names: Any = None) -> str:
        return (
            _in_sqlites_style(query)
            if param_names is None
            else str(super().convert_query(query, param_names=param_names))
        )


@lru_cache(maxsize=512)
def _in_sqlites_style(query: str) -> str:
    return base.FORMAT_QMARK_REGEX.sub("?", query).replace("%%", "%")


class WriterQueue:
    """One connection's position in the queue of a database file. A connection that holds the lock may enter again."""

    def __init__(self, file: str, seconds: float) -> None:
        self._seconds = seconds
        self.holds = False
        self._turn = _turns[file]
        self._file = os.open(f"{file}-queue", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def enter(self) -> None:
        if self.holds:
            return
        if not self._turn.acquire(timeout=self._seconds):
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


# fdatasync does not exist on every system. SQLite itself uses it if it exists.
_to_disk = getattr(os, "fdatasync", os.fsync)


class _SharedLog:
    """State of one log, shared by the threads of a process: the number of commits, and how many are on disk."""

    def __init__(self) -> None:
        self.count = threading.Lock()
        self.turn = threading.Lock()
        self.committed = 0
        self.on_disk = 0


_shared: dict[str, _SharedLog] = defaultdict(_SharedLog)
# After a fork the child has none of the threads that held these locks.
os.register_at_fork(after_in_child=_shared.clear)


class Log:
    """One connection's view of the write-ahead log, which flushes commits to disk: one call for all that wait.

    With synchronous=FULL SQLite waits for the disk at every commit, and nobody else can write meanwhile. With NORMAL it
    only passes the commit to the kernel, in the write-ahead log (a file that grows at its end, so that the part on disk
    is always a prefix of it). Here a transaction commits as with NORMAL, lets the next writer in, and then waits until
    the log is on disk, with its own pages and those of all earlier commits. The commit is acknowledged only then, as
    with FULL. PostgreSQL does the same and calls it group commit.

    SQLite keeps the file as long as the connection is open.

    Opening and closing the file beside SQLite is safe, since SQLite's locks are on other files. If a checkpoint has
    restarted the log meanwhile, it has put the pages on disk before.
    """

    def __init__(self, database: str) -> None:
        self._path = f"{database}-wal"
        self._file = -1
        self._shared = _shared[database]

    def flush(self) -> None:
        """Return when all commits of this process are on disk. Raise OSError if the disk reports an error."""
        shared = self._shared
        with shared.count:
            shared.committed += 1
            mine = shared.committed
        with shared.turn:
            if shared.on_disk >= mine:
                return  # an earlier flush included this commit
            with shared.count:
                upto = shared.committed
            if self._file < 0:
                self._file = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
            _to_disk(self._file)
            shared.on_disk = upto

    def close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def __del__(self) -> None:
        with suppress(AttributeError, OSError):
            self.close()


def _make_private(file: str | os.PathLike[str]) -> None:
    """Create a new database file with mode 0600, whatever the umask is. SQLite's side files take the same mode."""
    with suppress(OSError):  # the file exists, or it can't be created and SQLite will report that
        os.close(os.open(file, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))


# django-stubs don't describe the internals of a database backend.
Original: Any = base.DatabaseWrapper


def _has_log(connection: Any) -> bool:
    return bool(connection.execute("PRAGMA journal_mode").fetchone()[0] == "wal")


class DatabaseWrapper(Original):  # type: ignore[misc]  # its class has no types
    queue: WriterQueue | None = None
    log: Log | None = None
    _level = ""

    def get_new_connection(self, conn_params: Any) -> Any:
        if not self.is_in_memory_db():
            _make_private(conn_params["database"])
        connection = super().get_new_connection(conn_params)
        if not self.is_in_memory_db():
            with suppress(OSError):  # If the folder can't be written, no writes need a queue.
                file = os.path.abspath(conn_params["database"])  # noqa: PTH100 - keeps symlinks
                self.queue = WriterQueue(file, conn_params.get("timeout", 5))
                self._level = WAITS.get(connection.execute("PRAGMA synchronous").fetchone()[0], "")
                self.log = Log(file) if self._level and _has_log(connection) else None
        return connection

    def create_cursor(self, name: str | None = None) -> Any:
        cursor: Cursor = self.connection.cursor(factory=Cursor)
        cursor.queue = self.queue
        return cursor

    def _start_transaction_under_autocommit(self) -> None:
        if self.queue is None or self.transaction_mode is None:
            super()._start_transaction_under_autocommit()
            return
        self.queue.enter()
        try:
            if self.log is not None:
                self.connection.execute("PRAGMA synchronous=NORMAL")
            super()._start_transaction_under_autocommit()
        except BaseException:
            self._leave()
            raise

    def _commit(self) -> None:
        super()._commit()
        # If the commit failed, this is not reached: the rollback that follows leaves the queue.
        if self._leave() and self.log is not None:
            try:
                self.log.flush()
            except OSError as error:
                raise OperationalError("disk I/O error") from error  # SQLite's own message

    def _rollback(self) -> None:
        try:
            super()._rollback()
        finally:
            self._leave()

    def _close(self) -> None:
        try:
            super()._close()
        finally:
            for each in (self.queue, self.log):
                if each is not None:
                    each.close()
            self.queue = self.log = None

    @contextmanager
    def without_waiting(self) -> Iterator[None]:
        """Let writes of the block outside transactions reach the disk with the next commit of anybody, not alone.

        Only a power failure can lose them, and with them nothing that came later.
        """
        waits = self.log is not None and self.autocommit
        if waits:
            self.connection.execute("PRAGMA synchronous=NORMAL")
        try:
            yield
        finally:
            if waits:
                self.connection.execute(f"PRAGMA synchronous={self._level}")

    def _leave(self) -> bool:
        """Let the next writer in. Return whether this connection was in the queue."""
        if self.queue is None or not self.queue.holds:
            return False
        try:
            if self.log is not None and self.connection is not None and not self.connection.in_transaction:
                # A write outside a transaction must wait for the disk itself.
                self.connection.execute(f"PRAGMA synchronous={self._level}")
        finally:
            self.queue.leave()
        return True
