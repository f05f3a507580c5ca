"""Zip archives with malicious directories, which are refused before their entries are created."""

import io
import struct
import time
import tracemalloc
import zipfile

import pytest

from annotations.domain.files import zips
from annotations.domain.files.zips import BIGGEST_DIRECTORY, MOST_ENTRIES, TooManyEntries, open_zip

LITTLE, MANY = 3, 1_000_000


def entry(number):
    name = b"n%d.txt" % number
    return (
        struct.pack("<4s4B4HL2L5H2L", b"PK\1\2", 20, 3, 20, 0, 0, 0, 0, 33, 0, 0, 0, len(name), 0, 0, 0, 0, 0, 0) + name
    )


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
def test_a_million_entries_are_refused_quickly(zip64, said):
    file = archive(MANY if zip64 else MOST_ENTRIES + 1, said=said, zip64=zip64)
    began = time.process_time()
    tracemalloc.start()
    with pytest.raises(TooManyEntries):
        open_zip(file)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert time.process_time() - began < 2
    assert most < 2 * BIGGEST_DIRECTORY


@pytest.mark.parametrize("zip64", [False, True])
def test_the_largest_allowed_number_of_entries(zip64, monkeypatch):
    monkeypatch.setattr(zips, "MOST_ENTRIES", LITTLE)
    assert len(open_zip(archive(LITTLE, zip64=zip64)).infolist()) == LITTLE
    with pytest.raises(TooManyEntries):
        open_zip(archive(LITTLE + 1, zip64=zip64))


def test_a_directory_of_few_entries_with_very_long_names(monkeypatch):
    monkeypatch.setattr(zips, "BIGGEST_DIRECTORY", 100)
    with pytest.raises(TooManyEntries):
        open_zip(archive(10))


@pytest.mark.parametrize("zip64", [False, True])
def test_a_directory_larger_than_its_file(zip64):
    with pytest.raises((zipfile.BadZipFile, TooManyEntries)):
        open_zip(archive(LITTLE, zip64=zip64, size=2**31))


def test_the_content_is_read_without_limits():
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as made:
        # The content has more entry signatures than a directory may have.
        made.writestr("a.txt", b"PK\1\2" * (MOST_ENTRIES + 1))
    assert len(open_zip(packed).read("a.txt")) == 4 * (MOST_ENTRIES + 1)
