"""The folders of feeds. Nothing here follows a link, and nothing lies half-written under its final name."""

import errno
import hashlib
import os
import secrets
import stat
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

from models_runtime.feeds.rules.naming import is_ignored

SETTLED: Final = 3.0
"""Seconds for which a file must not have changed before it is taken."""
CHUNK: Final = 1024 * 1024
_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@contextmanager
def opened(root: Path, *parts: str) -> Iterator[int]:
    """The descriptor of a folder below the root. Raises OSError if it is gone, or a link."""
    descriptor = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for name in (name for part in parts for name in PurePosixPath(part).parts):
            inner = os.open(name, _FOLDER, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = inner
        yield descriptor
    finally:
        os.close(descriptor)


@dataclass(frozen=True)
class Entry:
    """A file of the incoming folder, or what lies there in place of one. `folder` stays open until the next entry."""

    path: str
    folder: int
    found: os.stat_result

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]

    @property
    def is_link(self) -> bool:
        return stat.S_ISLNK(self.found.st_mode)

    @property
    def is_plain(self) -> bool:
        return stat.S_ISREG(self.found.st_mode)

    @property
    def settled(self) -> bool:
        """Whether the file has not changed for a while. The time of a change can't be set by who copies a file."""
        return time.time() - max(self.found.st_mtime, self.found.st_ctime) >= SETTLED

    def is_same(self) -> bool:
        """Whether the file is still the one that was found, unchanged."""
        with suppress(OSError):
            now = os.stat(self.name, dir_fd=self.folder, follow_symlinks=False)
            return _identity(now) == _identity(self.found)
        return False

    def remove(self) -> None:
        """Remove the file from the folder, unless another one has taken its place."""
        if self.is_same():
            os.unlink(self.name, dir_fd=self.folder)
            os.fsync(self.folder)

    def move(self, target: int, name: str) -> None:
        """Move the file to another folder of the same file system, unless another one has taken its place."""
        if self.is_same():
            os.rename(self.name, name, src_dir_fd=self.folder, dst_dir_fd=target)
            os.fsync(target)
            os.fsync(self.folder)


def _identity(found: os.stat_result) -> tuple[int, ...]:
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, stat.S_IFMT(found.st_mode)


def _refuse(error: OSError) -> None:
    """Stop at a subfolder that can't be read, since its files would be left out in silence."""
    if error.errno not in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
        raise error


def entries(folder: int) -> Iterator[Entry]:
    """The entries to take, in the order of their names, folder by folder."""
    for root, folders, files, descriptor in os.fwalk(".", onerror=_refuse, dir_fd=folder, follow_symlinks=False):
        prefix = "" if root == "." else f"{root.removeprefix('./')}/"
        folders[:] = sorted(name for name in folders if not is_ignored(f"{prefix}{name}"))
        for name in sorted([*files, *folders]):
            path = f"{prefix}{name}"
            if not is_ignored(path):
                with suppress(FileNotFoundError):
                    entry = Entry(path, descriptor, os.stat(name, dir_fd=descriptor, follow_symlinks=False))
                    if not stat.S_ISDIR(entry.found.st_mode):
                        yield entry


@dataclass(frozen=True)
class ReadFile:
    """A file that was read: the SHA-256 of its content, and the content unless it has more than `most` bytes."""

    sha256: str
    content: bytes | None


def read(entry: Entry, most: int) -> ReadFile | None:
    """Read a file; None where it changed meanwhile. Raises OSError."""
    descriptor = os.open(entry.name, _FILE, dir_fd=entry.folder)
    with os.fdopen(descriptor, "rb") as file:
        if _identity(os.fstat(descriptor)) != _identity(entry.found):
            return None
        digest, parts, size = hashlib.sha256(), list[bytes](), 0
        while chunk := file.read(CHUNK):
            digest.update(chunk)
            size += len(chunk)
            if size <= most:
                parts.append(chunk)
            else:
                parts.clear()
        if _identity(os.fstat(descriptor)) != _identity(entry.found):
            return None
    return ReadFile(digest.hexdigest(), None if size > most else b"".join(parts))


@contextmanager
def subfolder(folder: int, name: str) -> Iterator[int]:
    """A folder inside another one, made if it does not exist."""
    with suppress(FileExistsError):
        os.mkdir(name, 0o750, dir_fd=folder)
        os.fsync(folder)
    with opened_inside(folder, name) as inner:
        yield inner


def write(folder: int, name: str, content: bytes) -> None:
    """Write a file beside its place, flush it to the disk, and rename it. The caller syncs the folder."""
    beside = f".{secrets.token_hex(8)}.part"
    descriptor = os.open(beside, _NEW, 0o640, dir_fd=folder)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.rename(beside, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with suppress(OSError):
            os.unlink(beside, dir_fd=folder)
        raise


def remove(folder: int, path: str) -> None:
    """Remove a file of a folder or of a folder in it; nothing if it does not exist."""
    inner, _slash, name = path.rpartition("/")
    with suppress(FileNotFoundError), opened_inside(folder, inner) as place:
        os.unlink(name, dir_fd=place)
        os.fsync(place)


def remove_numbered(folder: int, numbers: Collection[int]) -> None:
    """Remove the files of a quarantine whose names begin with these numbers, and what lies beside them."""
    known = {f"{number:06d}" for number in numbers}
    for name in os.listdir(folder):
        if name.partition(".")[0] in known:
            with suppress(FileNotFoundError):
                os.unlink(name, dir_fd=folder)
    os.fsync(folder)


sync = os.fsync
"""Flush the names in a folder to the disk."""


@contextmanager
def opened_inside(folder: int, name: str) -> Iterator[int]:
    """A folder inside another one; without a name, the folder itself. Raises OSError."""
    descriptor = os.open(name or ".", _FOLDER, dir_fd=folder)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def sweep(folder: int) -> None:
    """Remove what a killed process left half-written in a folder. Only one process at a time writes there."""
    for name in os.listdir(folder):
        if name.startswith(".") and name.endswith(".part"):
            with suppress(FileNotFoundError):
                os.unlink(name, dir_fd=folder)
