"""Open a zip that somebody sent: one with too many entries costs gigabytes before a single one is looked at."""

import zipfile
from typing import IO, Any, Final

MOST_ENTRIES: Final = 100_000
# Python reads the whole directory at once; an entry has 46 bytes and its name.
BIGGEST_DIRECTORY: Final = 32 * 1024 * 1024
_ENTRY: Final = b"PK\x01\x02"


class TooManyEntries(Exception):
    """The archive has more than MOST_ENTRIES files, or a directory larger than BIGGEST_DIRECTORY."""


def open_zip(file: IO[bytes]) -> zipfile.ZipFile:
    """As `zipfile.ZipFile(file)`. Raises TooManyEntries too.

    The entries are counted in what zipfile reads as the directory, not in what the archive says their number is.
    """
    watched = _Watched(file)
    archive = zipfile.ZipFile(watched)
    watched.opening = False
    return archive


class _Watched:
    """A file that bounds each read while the archive is being opened."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.opening = True

    def read(self, size: int = -1) -> bytes:
        if not self.opening:
            return self._file.read(size)
        if size > BIGGEST_DIRECTORY:
            raise TooManyEntries
        data = self._file.read(size if size >= 0 else BIGGEST_DIRECTORY)
        if data.count(_ENTRY) > MOST_ENTRIES:
            raise TooManyEntries
        return data

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)
