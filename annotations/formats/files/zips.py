"""Safe opening of uploaded zip archives, where too many entries would take gigabytes of memory, and fast reading."""

import copy
import io
import lzma
import stat
import struct
import zipfile
import zlib
from itertools import pairwise
from typing import IO, Any, Final

DAMAGED: Final = (
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error, EOFError, OSError, NotImplementedError),
    *(RuntimeError, ValueError, OverflowError),
)
"""The errors that reading a damaged or encrypted zip raises, depending on where the damage is."""
MOST_ENTRIES: Final = 100_000
# Python reads the whole directory at once; an entry takes 46 bytes plus its name.
BIGGEST_DIRECTORY: Final = 32 * 1024 * 1024
_ENTRY: Final = b"PK\x01\x02"
# Entries up to this size, in bytes, are read and unpacked in one step.
SMALL: Final = 1024 * 1024
# The local header before an entry's content (PKWARE, APPNOTE.TXT 6.3.10, section 4.3.7).
_HEADER: Final = struct.Struct("<4s5H3L2H")
_HEADER_START: Final = b"PK\x03\x04"
_UTF8_NAME: Final = 0x800
# Flags of usual entries: how hard the content was compressed, sizes after the content, and a name in UTF-8.
_USUAL_FLAGS: Final = 0x2 | 0x4 | 0x8 | _UTF8_NAME


class TooManyEntries(Exception):
    """The archive has more than MOST_ENTRIES files, or a directory larger than BIGGEST_DIRECTORY."""


def open_zip(file: IO[bytes]) -> zipfile.ZipFile:
    """Do what `zipfile.ZipFile(file)` does, but raise TooManyEntries for an archive that is too large.

    The entries are counted in the directory itself; the number that the archive declares may be false.
    """
    archive = zipfile.ZipFile(_LimitedFile(file))
    # The directory has been read, so from here on the archive may read the file without limits.
    archive.fp = file
    return archive


class _LimitedFile:
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


def new_entry(name: str) -> zipfile.ZipInfo:
    """An entry to write. Its date is always the same, so that the same content gives the same bytes."""
    entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
    entry.compress_type = zipfile.ZIP_DEFLATED
    return entry


class EntryReader:
    """Reads whole entries of an archive that `open_zip` opened on `file`.

    Reading a small entry through `ZipFile.open` takes more than twice as long, since it prepares a stream. It still
    reads all entries that are large or unusual, and those in which something is wrong: it alone decides on errors.
    """

    def __init__(self, archive: zipfile.ZipFile, file: IO[bytes]) -> None:
        self._archive = archive
        self._file = file
        # Where the next entry starts. Entries that overlap are unusual.
        self._next = dict(pairwise(sorted(entry.header_offset for entry in archive.infolist())))

    def read(self, entry: zipfile.ZipInfo) -> bytes:
        """The content of an entry, at most as long as the directory says. Raises as `ZipFile.open` and `read` do."""
        data = self._usual(entry)
        if data is None:
            with self._archive.open(entry) as file:
                # The size in the archive's directory may be wrong.
                data = file.read(entry.file_size + 1)[: entry.file_size]
        return data

    def _usual(self, entry: zipfile.ZipInfo) -> bytes | None:
        """The content of a small usual entry whose header, size and checksum are right; None for all others."""
        if (
            entry.flag_bits & ~_USUAL_FLAGS
            or entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
            or max(entry.file_size, entry.compress_size) > SMALL
        ):
            return None
        self._file.seek(entry.header_offset)
        header = self._file.read(_HEADER.size)
        if len(header) < _HEADER.size:
            return None
        start, _version, flags, *_others, name_length, extra_length = _HEADER.unpack(header)
        length = name_length + extra_length
        begin = entry.header_offset + _HEADER.size + length
        if start != _HEADER_START or begin + entry.compress_size > self._next.get(entry.header_offset, 0):
            return None
        rest = self._file.read(length + entry.compress_size)
        try:
            if rest[:name_length].decode("utf-8" if flags & _UTF8_NAME else "cp437") != entry.orig_filename:
                return None
            data = rest[length:]
            if entry.compress_type == zipfile.ZIP_DEFLATED:
                data = zlib.decompressobj(-zlib.MAX_WBITS).decompress(data, entry.file_size + 1)
        except (UnicodeDecodeError, zlib.error):
            return None
        return data if len(data) == entry.file_size and zlib.crc32(data) == entry.CRC else None


# Whether a zip holds anything besides its files (PKWARE, APPNOTE.TXT 6.3.10, section 4.3).


_AT_ONCE: Final = 1 << 20
_VERSIONS: Final = frozenset({10, 20, 45})
_SYSTEMS: Final = frozenset({0, 3})  # Windows and Unix
_METHODS: Final = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED})
_KINDS: Final = frozenset({0, stat.S_IFREG, stat.S_IFDIR, stat.S_IFLNK})


class _Rest(io.BytesIO):
    """What follows the files of an archive, which end at `start`."""

    def __init__(self, start: int) -> None:
        super().__init__()
        self._start = start

    def tell(self) -> int:
        return self._start + super().tell()


def holds_more(archive: zipfile.ZipFile, file: IO[bytes]) -> bool:
    """Whether a zip has comments, extra fields, second names, unusual numbers, or bytes that belong to no file.

    Only the times of the files may be any. `archive` is open on `file`. Raises as reading an entry does.
    """
    entries = [_bare(entry) for entry in archive.infolist()]
    if any(map(_is_unusual, entries)):
        return True
    at = 0
    for entry in sorted(entries, key=lambda entry: entry.header_offset):
        header = entry.FileHeader(zip64=False)
        large = copy.copy(entry).FileHeader(zip64=True)
        file.seek(at)
        begin = file.read(len(large))
        if entry.header_offset != at or not begin.startswith((header, large)):
            return True
        file.seek(at + len(large if begin == large else header))
        if not _fills_its_bytes(entry, file):
            return True
        at = file.tell()
    rest = _directory(entries, at)
    return file.read(len(rest) + 1) != rest


def _bare(entry: zipfile.ZipInfo) -> zipfile.ZipInfo:
    bare = copy.copy(entry)
    bare.extra = bare.comment = b""
    return bare


def _is_unusual(entry: zipfile.ZipInfo) -> bool:
    """Whether a number in the headers, which programs ignore, could say something."""
    mode = entry.external_attr >> 16
    return (
        not {entry.create_version, entry.extract_version} <= _VERSIONS
        or entry.create_system not in _SYSTEMS
        or entry.compress_type not in _METHODS
        or entry.flag_bits not in (0, _UTF8_NAME)
        or entry.reserved != 0
        or entry.internal_attr > 1
        or entry.external_attr & 0xFFFF not in (0, 0x10, 0x20)
        or stat.S_IFMT(mode) not in _KINDS
        or stat.S_IMODE(mode) > 0o777
    )


def _fills_its_bytes(entry: zipfile.ZipInfo, file: IO[bytes]) -> bool:
    """Whether the content of an entry ends where its bytes end. Leaves the file there."""
    if entry.compress_type == zipfile.ZIP_STORED:
        file.seek(entry.compress_size, io.SEEK_CUR)
        return entry.compress_size == entry.file_size
    unpacking, left, length = zlib.decompressobj(-zlib.MAX_WBITS), entry.compress_size, 0
    while left and (data := file.read(min(left, _AT_ONCE))):
        left -= len(data)
        while data and not unpacking.eof:
            length += len(unpacking.decompress(data, _AT_ONCE))
            data = unpacking.unconsumed_tail
            if length > entry.file_size:
                return False
        if unpacking.unused_data or (unpacking.eof and left):
            return False
    return unpacking.eof and not left and length == entry.file_size


def _directory(entries: list[zipfile.ZipInfo], start: int) -> bytes:
    """The directory that Python writes for these entries."""
    archive = zipfile.ZipFile(io.BytesIO(), "w")
    archive.filelist, archive.start_dir = entries, start
    archive.fp = rest = _Rest(start)
    archive._write_end_record()  # type: ignore[attr-defined] # no public function writes only the directory
    archive.fp = None
    return rest.getvalue()
