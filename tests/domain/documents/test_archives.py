"""ZIP and TAR of documents: links, traversal, bombs and nesting are stopped, and the rest is read."""

import gzip
import io
import random
import stat
import struct
import tarfile
import tracemalloc
import zipfile

import pytest

from annotations.domain.documents.base import Extracted, Limits
from fixtures.quality.written_documents import docx, pdf
from tests.domain.documents.helpers import refusal, results, zipped


def tarred(files, mode="w", entries=()):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as archive:
        for name, data in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
        for entry in entries:
            archive.addfile(entry)
    return out.getvalue()


def outcome(found):
    """Names with texts, and files with codes of problems."""
    notes = [(each.name, each.text) for each in found if isinstance(each, Extracted)]
    problems = [
        (problem.file, problem.code) for each in found if not isinstance(each, Extracted) for problem in each.problems
    ]
    return notes, problems


FILES = {
    "a/one.txt": "año".encode(),
    "a/two.html": b"<p>two",
    "three.pdf": pdf(1).data,
    "three.docx": docx(1).data,
    "broken.pdf": b"%PDF-1.4",
    "__MACOSX/a/._one.txt": b"x",
    ".DS_Store": b"x",
}


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("x.zip", zipped(FILES)),
        ("x.tar", tarred(FILES)),
        ("x.tar.gz", tarred(FILES, "w:gz")),
        ("x.tgz", tarred(FILES, "w:gz")),
        ("x.tar.bz2", tarred(FILES, "w:bz2")),
        ("x.tar.xz", tarred(FILES, "w:xz")),
    ],
)
def test_all_documents_are_read_and_problems_name_their_file(name, data):
    notes, problems = outcome(results(name, data))
    assert notes == [
        ("a/one", "año"),
        ("a/two", "two"),
        ("three", pdf(1).text),
        ("three.docx", docx(1).text),  # the name without ending is taken
    ]
    assert problems == [("broken.pdf", "damaged")]


TRAVERSAL = ["../up.txt", "/etc/up.txt", "a/../../up.txt", "a\\..\\up.txt", "a//b.txt", "C:\\up.txt"]


@pytest.mark.parametrize("bad", TRAVERSAL)
def test_names_that_lead_out_of_the_archive_are_refused(bad):
    for found in (results("x.zip", _zip_named(bad)), results("x.tar", tarred({bad: b"x", "good.txt": b"y"}))):
        notes, problems = outcome(found)
        assert notes == [("good", "y")]
        assert [code for _file, code in problems] == ["name"]


def _zip_named(name):
    """zipfile writes another separator, so the name is put in afterwards."""
    held = "n" * len(name)
    return zipped({held: "x", "good.txt": "y"}).replace(held.encode(), name.encode())


def _entry(name, kind, target="/etc/passwd"):
    entry = tarfile.TarInfo(name)
    entry.type, entry.linkname = kind, target
    return entry


def test_links_and_devices_are_not_followed():
    kinds = [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE]
    entries = [_entry(f"l{number}.txt", kind) for number, kind in enumerate(kinds)]
    assert outcome(results("x.tar", tarred({"a.txt": b"a"}, entries=entries))) == (
        [("a", "a")],
        [(f"l{number}.txt", "link") for number in range(4)],
    )
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        link = zipfile.ZipInfo("link.txt")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(link, "/etc/passwd")
    assert outcome(results("x.zip", out.getvalue())) == ([], [("link.txt", "link")])


@pytest.mark.parametrize("pack", [zipped, lambda files: tarred(files, "w:gz")])
def test_a_bomb_is_refused_before_it_fills_memory(pack):
    data = pack({"bomb.txt": b"0" * (48 << 20), "good.txt": b"y"})
    tracemalloc.start()
    notes, problems = outcome(results("x", data))
    _now, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert problems == [("bomb.txt", "bomb")]
    assert notes == [("good", "y")]
    assert peak < 40 << 20


def test_all_files_together_are_limited_over_all_levels():
    some = Limits(unpacked=3 << 20)
    part = {f"{number}.txt": random.Random(number).randbytes(600_000).hex().encode() for number in range(3)}
    notes, problems = outcome(results("x.zip", zipped(part), limits=some))
    assert (len(notes), problems) == (2, [("x.zip", "too large")])
    inner = {"inner.zip": zipped(part)}
    notes, problems = outcome(results("x.zip", zipped(inner), limits=some))
    # The inner archive counts, too.
    assert (len(notes), problems) == (0, [("inner.zip", "too large")])
    notes, problems = outcome(results("x.tar", tarred(part), limits=some))
    assert (len(notes), problems) == (2, [("x.tar", "too large")])


def test_sizes_in_the_directory_are_not_believed():
    data = bytearray(zipped({"a.txt": b"0" * (5 << 20)}))
    at = data.rindex(b"PK\1\2")
    data[at + 24 : at + 28] = struct.pack("<L", 10)
    assert outcome(results("x.zip", bytes(data)))[0] in ([], [("a", "0" * 10)])


def test_archives_in_archives_are_read_up_to_the_limit():
    inner = zipped({"deep.txt": "deep"})
    assert outcome(results("x.zip", zipped({"in.zip": inner}))) == ([("deep", "deep")], [])
    twice = zipped({"in.tar": tarred({"in.zip": inner})})
    assert outcome(results("x.zip", twice)) == ([], [("deep.txt", "nesting")])
    level = inner
    for _ in range(100):
        level = zipped({"in.zip": level})
    assert [code for _file, code in outcome(results("x.zip", level))[1]] == ["nesting"]


def test_many_files_are_refused():
    few = Limits(members=10)
    many = {f"{number}.txt": b"x" for number in range(11)}
    for name, data in (("x.zip", zipped(many)), ("x.tar", tarred(many))):
        notes, problems = outcome(results(name, data, limits=few))
        assert (len(notes), problems) == (10, [(name, "too many")])


def test_two_files_of_one_name_and_encrypted_ones():
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr("a.txt", "first")
        archive.writestr("a.txt", "second")
    assert outcome(results("x.zip", out.getvalue())) == ([("a", "first")], [("a.txt", "same name")])
    data = bytearray(zipped({"a.txt": "secret"}))
    at = data.index(b"PK\1\2")
    data[at + 8] |= 1
    assert outcome(results("x.zip", bytes(data))) == ([], [("a.txt", "encrypted")])


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("x.zip", zipped(FILES)[:-40]),
        ("x.tar.gz", tarred({"a.txt": b"x" * 5000}, "w:gz")[:60]),
        ("x.gz", gzip.compress(b"no tar")),
        ("x.tar", b"no tar"),
    ],
)
def test_damaged_archives_are_refused(name, data):
    problem = refusal(name, data)
    assert (problem.file, problem.code) == (name, "damaged")


def test_a_damaged_file_leaves_the_others():
    data = zipped({"a.txt": bytes(range(256)) * 50, "b.txt": "b"})
    at = data.index(b"a.txt") + 20
    notes, problems = outcome(results("x.zip", data[:at] + b"\xff\xff\xff\xff" + data[at + 4 :]))
    assert (notes, problems) == ([("b", "b")], [("a.txt", "damaged")])
