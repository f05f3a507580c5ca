"""Whether a zip holds anything besides its files (PKWARE, APPNOTE.TXT 6.3.10, section 4.3)."""

import copy
import io
import stat
import zipfile
import zlib
from typing import IO, Final

_AT_ONCE: Final = 1 << 20
_VERSIONS: Final = frozenset({10, 20, 45})
_SYSTEMS: Final = frozenset({0, 3})  # Windows and Unix
_UTF8_NAME: Final = 0x800
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
