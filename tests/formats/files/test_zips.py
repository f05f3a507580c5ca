"""Zip archives with malicious directories, which are refused before their entries are created."""

import io
import struct
import time
import tracemalloc
import zipfile
import zlib

import pytest

from annotations.formats.files import zips
from annotations.formats.files.zips import BIGGEST_DIRECTORY, MOST_ENTRIES, EntryReader, TooManyEntries, open_zip
from tests.zips import zipped

LITTLE = 3


def entry(number):
    name = b"n%d.txt" % number
    fields = (20, 3, 20, 0, 0, 0, 0, 33, 0, 0, 0, len(name), 0, 0, 0, 0, 0, 0)
    return struct.pack("<4s4B4HL2L5H2L", b"PK\1\2", *fields) + name


def archive(count, *, said=None, zip64=False, size=None):
    """An archive that is only a directory, and that declares `said` entries."""
    directory = b"".join(map(entry, range(count)))
    said = count if said is None else said
    size = len(directory) if size is None else size
    if not zip64:
        end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, said & 0xFFFF, said & 0xFFFF, size, 0, 0)
        return io.BytesIO(directory + end)
    end = struct.pack("<4sQ2H2L4Q", b"PK\6\6", 44, 45, 45, 0, 0, said, said, size, 0)
    locator = struct.pack("<4sLQL", b"PK\6\7", 0, len(directory), 1)
    old = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 0xFFFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0)
    return io.BytesIO(directory + end + locator + old)


@pytest.mark.parametrize("zip64", [False, True])
@pytest.mark.parametrize("said", [None, 1, 0])
def test_too_many_entries_are_refused_quickly(zip64, said):
    file = archive(MOST_ENTRIES + 1, said=said, zip64=zip64)
    began = time.process_time()
    tracemalloc.start()
    with pytest.raises(TooManyEntries):
        open_zip(file)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert time.process_time() - began < 2 and most < 2 * BIGGEST_DIRECTORY


@pytest.mark.parametrize("zip64", [False, True])
def test_the_largest_allowed_number_of_entries(zip64, monkeypatch):
    monkeypatch.setattr(zips, "MOST_ENTRIES", LITTLE)
    assert len(open_zip(archive(LITTLE, zip64=zip64)).infolist()) == LITTLE
    with pytest.raises(TooManyEntries):
        open_zip(archive(LITTLE + 1, zip64=zip64))
    # Few entries with very long names
    monkeypatch.setattr(zips, "MOST_ENTRIES", MOST_ENTRIES)
    monkeypatch.setattr(zips, "BIGGEST_DIRECTORY", 100)
    with pytest.raises(TooManyEntries):
        open_zip(archive(10))


@pytest.mark.parametrize("zip64", [False, True])
def test_a_directory_larger_than_its_file(zip64):
    with pytest.raises((zipfile.BadZipFile, TooManyEntries)):
        open_zip(archive(LITTLE, zip64=zip64, size=2**31))


def test_the_content_is_read_without_limits():
    # The content has more entry signatures than a directory may have.
    packed = zipped({"a.txt": b"PK\1\2" * (MOST_ENTRIES + 1)}, zipfile.ZIP_STORED)
    assert len(open_zip(io.BytesIO(packed)).read("a.txt")) == 4 * (MOST_ENTRIES + 1)


# ── EntryReader: same contents and errors as ZipFile's own reading ───────────────────────────────────────────────────
TEXTS = {"a.txt": b"Anna saw Dr. Brown. " * 50, "b/é.txt": "Zoë".encode(), "empty.txt": b"", "last.txt": b"End."}


def opened(data):
    """The entries of an archive, and a function that reads one."""
    file = io.BytesIO(bytes(data))
    archive = open_zip(file)
    return archive.infolist(), EntryReader(archive, file).read


def with_size(packed, size):
    """The archive, whose directory says that the first entry has this size."""
    data = bytearray(packed)
    directory = data.index(b"PK\1\2")
    data[directory + 24 : directory + 28] = struct.pack("<L", size)
    return data


class NoStreams(zipfile.ZipFile):
    """An archive that fails when an entry is opened as a stream."""

    def open(self, *args, **kwargs):
        raise AssertionError("A stream was opened.")


@pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
@pytest.mark.parametrize("before", [b"", b"bytes before the archive"])
def test_entries_are_read_whole_with_each_compression(compression, before):
    entries, read = opened(before + zipped(TEXTS, compression))
    assert {entry.filename: read(entry) for entry in entries} == TEXTS
    assert {entry.filename: read(entry) for entry in reversed(entries)} == TEXTS


def test_usual_entries_need_no_stream_and_those_that_overlap_are_left_to_zipfile():
    file = io.BytesIO(zipped(TEXTS))
    reader = EntryReader(NoStreams(file), file)
    usual = NoStreams(file).infolist()[:-1]  # nothing says where the last entry must end
    assert [reader.read(entry) for entry in usual] == list(TEXTS.values())[:-1]
    data = bytearray(zipped(TEXTS, zipfile.ZIP_STORED))
    second = data.index(b"PK\1\2", data.index(b"PK\1\2") + 4)
    offset = struct.unpack("<L", data[second + 42 : second + 46])[0]
    data[second + 42 : second + 46] = struct.pack("<L", offset - 1)
    file = io.BytesIO(bytes(data))
    with pytest.raises(AssertionError, match="stream"):
        EntryReader(NoStreams(file), file).read(NoStreams(file).infolist()[0])


class OneWay(io.RawIOBase):
    """A file that can't be rewound, so that `zipfile` writes the sizes after the content."""

    def __init__(self):
        self.data = bytearray()

    def writable(self):
        return True

    def write(self, data):
        self.data += data
        return len(data)


def test_an_entry_with_sizes_after_its_content_is_read():
    out = OneWay()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as written:
        for name, text in TEXTS.items():
            written.writestr(name, text)
    entries, read = opened(out.data)
    assert entries[0].flag_bits & 0x8 and [read(entry) for entry in entries] == list(TEXTS.values())


@pytest.mark.parametrize("damage", ["content", "name", "header", "checksum"])
@pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_a_damaged_entry_raises_the_error_of_zipfile_and_the_others_are_read(damage, compression):
    data = bytearray(zipped(TEXTS, compression))
    places = {"content": 30 + len("a.txt") + 20, "name": 30, "header": 2, "checksum": data.index(b"PK\1\2") + 16}
    data[places[damage]] ^= 0x01 if damage == "name" else 0xFF
    (damaged, *others), read = opened(data)
    with pytest.raises((zipfile.BadZipFile, zlib.error)):
        read(damaged)
    assert [read(entry) for entry in others] == list(TEXTS.values())[1:]


def test_an_entry_is_never_longer_than_the_directory_says():
    (entry, *_), read = opened(with_size(zipped(TEXTS, zipfile.ZIP_STORED), 10))
    with pytest.raises(zipfile.BadZipFile):  # the checksum is that of the whole content
        read(entry)
    (bomb, _), read = opened(with_size(zipped({"bomb.txt": b"0" * 50_000_000, "end.txt": b""}), 1000))
    tracemalloc.start()
    with pytest.raises(zipfile.BadZipFile):
        read(bomb)
    _now, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2_000_000
