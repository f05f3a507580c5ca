"""Safe opening of uploaded zip archives: one with too many entries would take gigabytes of memory to open."""

import zipfile
from typing import IO, Any, Final

MOST_ENTRIES: Final = 100_000
# Python reads the whole directory at once; an entry takes 46 bytes plus its name.
BIGGEST_DIRECTORY: Final = 32 * 1024 * 1024
_ENTRY: Final = b"PK\x01\x02"


class TooManyEntries(Exception):
    """The archive has more than MOST_ENTRIES files, or a directory larger than BIGGEST_DIRECTORY."""


def open_zip(file: IO[bytes]) -> zipfile.ZipFile:
    """Do what `zipfile.ZipFile(file)` does, but raise TooManyEntries for an archive that is too large.

    The entries are counted in the directory itself; the number that the archive declares may be false.
    """
    archive = zipfile.ZipFile(_Watched(file))
    # The directory has been read, so from here on the archive may read the file without limits.
    archive.fp = file
    return archive


class _Watched:
    """A file wrapper that limits each read while the archive is being opened."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def read(self, size: int = -1) -> bytes:
        if size > BIGGEST_DIRECTORY:
            raise TooManyEntries
        data = self._file.read(size if size >= 0 else BIGGEST_DIRECTORY)
        if data.count(_ENTRY) > MOST_ENTRIES:
            raise TooManyEntries
        return data

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)
