"""ZIP and TAR of documents: links, traversal, bombs and nesting are stopped, and the rest is read."""

import gzip
import random
import stat
import struct
import tarfile
import tracemalloc
import zipfile

import pytest

from annotations.formats.documents.base import Limits
from fixtures.quality.written_documents import docx, pdf
from tests.formats.documents.helpers import found_in, refusal, results, tarred
from tests.zips import zipped

FILES = {
    "a/one.txt": "año".encode(), "a/two.html": b"<p>two", "three.pdf": pdf(1).data, "three.docx": docx(1).data,
    "broken.pdf": b"%PDF-1.4", "__MACOSX/a/._one.txt": b"x", ".DS_Store": b"x",
}  # fmt: skip


ARCHIVES = [
    ("x.zip", zipped(FILES)), ("x.tar", tarred(FILES)), ("x.tar.gz", tarred(FILES, "w:gz")),
    ("x.tgz", tarred(FILES, "w:gz")), ("x.tar.bz2", tarred(FILES, "w:bz2")), ("x.tar.xz", tarred(FILES, "w:xz")),
]  # fmt: skip


@pytest.mark.parametrize(("name", "data"), ARCHIVES)
def test_all_documents_are_read_and_problems_name_their_file(name, data):
    notes, problems = found_in(results(name, data))
    # The name without ending is taken the second time.
    assert notes == [("a/one", "año"), ("a/two", "two"), ("three", pdf(1).text), ("three.docx", docx(1).text)]
    assert problems == [("broken.pdf", None, "damaged")]


TRAVERSAL = ["../up.txt", "/etc/up.txt", "a/../../up.txt", "a\\..\\up.txt", "a//b.txt", "C:\\up.txt"]


@pytest.mark.parametrize("bad", TRAVERSAL)
def test_names_that_lead_out_of_the_archive_are_refused(bad):
    held = "n" * len(bad)  # zipfile writes another separator, so the name is put in afterwards
    zip_named = zipped({held: "x", "good.txt": "y"}).replace(held.encode(), bad.encode())
    for found in (results("x.zip", zip_named), results("x.tar", tarred({bad: b"x", "good.txt": b"y"}))):
        notes, problems = found_in(found)
        assert (notes, [problem[-1] for problem in problems]) == ([("good", "y")], ["name"])


def _entry(name, kind, target="/etc/passwd"):
    entry = tarfile.TarInfo(name)
    entry.type, entry.linkname = kind, target
    return entry


def test_links_and_devices_are_not_followed():
    kinds = [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE]
    entries = [_entry(f"l{number}.txt", kind) for number, kind in enumerate(kinds)]
    links = [(f"l{number}.txt", None, "link") for number in range(4)]
    assert found_in(results("x.tar", tarred({"a.txt": b"a"}, entries=entries))) == ([("a", "a")], links)
    link = zipfile.ZipInfo("link.txt")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    assert found_in(results("x.zip", zipped([(link, "/etc/passwd")]))) == ([], [("link.txt", None, "link")])


@pytest.mark.parametrize("pack", [zipped, lambda files: tarred(files, "w:gz")])
def test_a_bomb_is_refused_before_it_fills_memory(pack):
    data = pack({"bomb.txt": b"0" * (48 << 20), "good.txt": b"y"})
    tracemalloc.start()
    found = found_in(results("x", data))
    _now, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found == ([("good", "y")], [("bomb.txt", None, "bomb")]) and peak < 40 << 20


def test_all_files_together_are_limited_over_all_levels():
    part = {f"{number}.txt": random.Random(number).randbytes(600_000).hex().encode() for number in range(3)}
    for name, data, whole, file in (
        ("x.zip", zipped(part), 2, "x.zip"),
        ("x.zip", zipped({"inner.zip": zipped(part)}), 0, "inner.zip"),  # the inner archive counts, too
        ("x.tar", tarred(part), 2, "x.tar"),
    ):
        notes, problems = found_in(results(name, data, limits=Limits(unpacked=3 << 20)))
        assert (len(notes), problems) == (whole, [(file, None, "too large")])
    many = {f"{number}.txt": b"x" for number in range(11)}
    for name, data in (("x.zip", zipped(many)), ("x.tar", tarred(many))):
        notes, problems = found_in(results(name, data, limits=Limits(members=10)))
        assert (len(notes), problems) == (10, [(name, None, "too many")])


def test_what_the_directory_says():
    data = bytearray(zipped({"a.txt": b"0" * (5 << 20)}))
    at = data.rindex(b"PK\1\2")
    data[at + 24 : at + 28] = struct.pack("<L", 10)  # its sizes are not believed
    assert found_in(results("x.zip", bytes(data)))[0] in ([], [("a", "0" * 10)])
    data = bytearray(zipped({"a.txt": "secret"}))
    data[data.index(b"PK\1\2") + 8] |= 1
    assert found_in(results("x.zip", bytes(data))) == ([], [("a.txt", None, "encrypted")])
    with pytest.warns(UserWarning, match="Duplicate"):
        data = zipped([("a.txt", "first"), ("a.txt", "second")])
    assert found_in(results("x.zip", data)) == ([("a", "first")], [("a.txt", None, "same name")])


def test_archives_in_archives_are_read_up_to_the_limit():
    inner = zipped({"deep.txt": "deep"})
    assert found_in(results("x.zip", zipped({"in.zip": inner}))) == ([("deep", "deep")], [])
    twice = zipped({"in.tar": tarred({"in.zip": inner})})
    assert found_in(results("x.zip", twice)) == ([], [("deep.txt", None, "nesting")])
    for _ in range(100):
        inner = zipped({"in.zip": inner})
    assert [problem[-1] for problem in found_in(results("x.zip", inner))[1]] == ["nesting"]


DAMAGED = [
    ("x.zip", zipped(FILES)[:-40]), ("x.tar.gz", tarred({"a.txt": b"x" * 5000}, "w:gz")[:60]),
    ("x.gz", gzip.compress(b"no tar")), ("x.tar", b"no tar"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "data"), DAMAGED)
def test_damaged_archives_are_refused(name, data):
    problem = refusal(name, data)
    assert (problem.file, problem.code) == (name, "damaged")


def test_a_damaged_file_leaves_the_others():
    data = zipped({"a.txt": bytes(range(256)) * 50, "b.txt": "b"})
    at = data.index(b"a.txt") + 20
    found = found_in(results("x.zip", data[:at] + b"\xff\xff\xff\xff" + data[at + 4 :]))
    assert found == ([("b", "b")], [("a.txt", None, "damaged")])
