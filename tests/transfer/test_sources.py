"""Names inside a zip: which are hidden, and which top folder is dropped."""

import io
import zipfile

import pytest

from annotations.transfer.services.sources import ZipSource


def names_of(*names: str) -> list[str]:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name in names:
            archive.writestr(name, b"x")
    return ZipSource(packed).names()


@pytest.mark.parametrize("hidden", [".DS_Store", "a/.git/b.txt", "__MACOSX/a.txt", "a/__MACOSX/b.txt", ".a/b.txt"])
def test_hidden_files_are_skipped(hidden):
    assert names_of("a/one.txt", "b/two.txt", hidden) == ["a/one.txt", "b/two.txt"]


@pytest.mark.parametrize("name", ["./one.txt", "a/./one.txt", "a//one.txt", "one.d/.../x"])
def test_a_dot_that_means_the_folder_itself_hides_nothing(name):
    shown = names_of(name, "other.txt", "b/two.txt")
    assert (name in shown) is (name != "one.d/.../x")


def test_a_single_top_folder_is_dropped():
    assert names_of("all/one.txt", "all/b/two.txt", "__MACOSX/all/._one.txt") == ["b/two.txt", "one.txt"]
    assert names_of("all/one.txt", "two.txt") == ["all/one.txt", "two.txt"]
    assert names_of() == []


def test_a_file_is_read_whole_after_the_archive_was_opened():
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.txt", b"note " * 100_000)
    assert ZipSource(packed).load("a.txt") == b"note " * 100_000
