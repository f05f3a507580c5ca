"""Putting commits on disk: by one call for all who wait, and without keeping the next writer out meanwhile.

With synchronous=FULL SQLite waits for the disk at every commit while nobody else may write. With NORMAL it only hands
the commit to the kernel, in the write-ahead log (a file that grows at its end, so that what is on disk is always a
prefix of it). Here a transaction commits as with NORMAL, lets the next writer in, and then waits until the log is on
disk: its own pages and those of all who committed before it. Only then is anything acknowledged, so that an answer
means what it means with FULL. PostgreSQL does the same, and calls it group commit.
"""

import os
import threading
from collections import defaultdict
from contextlib import suppress

# Not on every system; what SQLite itself uses where it is there.
_to_disk = getattr(os, "fdatasync", os.fsync)


class _Shared:
    """What the threads of a process share of one log: numbers of commits, and up to which they are on disk."""

    def __init__(self) -> None:
        self.count = threading.Lock()
        self.turn = threading.Lock()
        self.committed = 0
        self.on_disk = 0


_shared: dict[str, _Shared] = defaultdict(_Shared)
# A child of a fork has none of the threads that held the locks.
os.register_at_fork(after_in_child=_shared.clear)


class Log:
    """One connection's view of the write-ahead log. SQLite keeps the file as long as the connection is open.

    It is safe to open and close it beside SQLite: the locks lie on other files. When a checkpoint has begun the log
    anew meanwhile, it has put the pages on disk before.
    """

    def __init__(self, database: str) -> None:
        self._path = f"{database}-wal"
        self._file = -1
        self._shared = _shared[database]

    def flush(self) -> None:
        """Returns when everything is on disk that this process has committed. Raises OSError where the disk refuses."""
        shared = self._shared
        with shared.count:
            shared.committed += 1
            mine = shared.committed
        with shared.turn:
            if shared.on_disk >= mine:
                return  # whoever was before has waited for this commit too
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
