"""Flushing commits to disk: one call for all waiting transactions, while the next writer already writes.

With synchronous=FULL SQLite waits for the disk at every commit, and nobody else can write meanwhile. With NORMAL it
only passes the commit to the kernel, in the write-ahead log (a file that grows at its end, so that the part on disk is
always a prefix of it). Here a transaction commits as with NORMAL, lets the next writer in, and then waits until the log
is on disk, with its own pages and those of all earlier commits. The commit is acknowledged only then, as with FULL.
PostgreSQL does the same and calls it group commit.
"""

import os
import threading
from collections import defaultdict
from contextlib import suppress

# fdatasync does not exist on every system. SQLite itself uses it if it exists.
_to_disk = getattr(os, "fdatasync", os.fsync)


class _Shared:
    """State of one log, shared by the threads of a process: the number of commits, and how many are on disk."""

    def __init__(self) -> None:
        self.count = threading.Lock()
        self.turn = threading.Lock()
        self.committed = 0
        self.on_disk = 0


_shared: dict[str, _Shared] = defaultdict(_Shared)
# After a fork the child has none of the threads that held these locks.
os.register_at_fork(after_in_child=_shared.clear)


class Log:
    """One connection's view of the write-ahead log. SQLite keeps the file as long as the connection is open.

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
