"""Tests with real notes, if available: MEDDOCAN dev (250 notes, 5,801 spans; 22 start with a byte order mark)."""

from pathlib import Path

import pytest

from annotations.formats.notes import ParsedNote
from tests.formats.helpers import parsed

SHARED = Path(__file__).parents[3] / "shared" / "data" / "meddocan" / "dev"
XML = SHARED.parent / "dev-i2b2-xml"
pytestmark = [pytest.mark.nightly, pytest.mark.skipif(not SHARED.is_dir(), reason="MEDDOCAN is not available")]


@pytest.fixture(scope="module")
def files() -> dict[str, bytes]:
    return {path.relative_to(SHARED).as_posix(): path.read_bytes() for path in SHARED.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def labels(files: dict[str, bytes]) -> dict[str, str]:
    rows = (row for name, data in files.items() if name.endswith(".ann") for row in data.decode().split("\n") if row)
    return {code: code for code in sorted({row.split("\t")[1].split(" ")[0] for row in rows})}


@pytest.fixture(scope="module")
def notes(files: dict[str, bytes], labels: dict[str, str]) -> list[ParsedNote]:
    return parsed("brat", files, labels)


def test_the_xml_of_the_corpus_is_read_as_its_brat_files(labels: dict[str, str], notes: list[ParsedNote]) -> None:
    assert same(parsed("i2b2", {path.name: path.read_bytes() for path in XML.iterdir()}, labels), notes)


def same(some: list[ParsedNote], others: list[ParsedNote]) -> bool:
    return [(n.name, n.text, n.spans) for n in some] == [(n.name, n.text, n.spans) for n in others]


def facts(read: list[ParsedNote]) -> set[tuple[str, str, int, int, str]]:
    """Every span as (note, label, start, end, text)."""
    return {(n.name, s.label, s.start, s.end, n.text[s.start : s.end]) for n in read for s in n.spans or []}


def test_every_note_is_read_exactly(files: dict[str, bytes], notes: list[ParsedNote]) -> None:
    expected = set()
    for name, data in files.items():
        if name.endswith(".ann"):
            for row in filter(None, data.decode().split("\n")):
                _, middle, quote = row.split("\t", 2)
                label, start, end = middle.split(" ")
                expected.add((name.removesuffix(".ann"), label, int(start), int(end), quote))
    assert len(notes) == 250 and len(expected) == 5801
    assert facts(notes) == expected and not any(note.warnings for note in notes)
