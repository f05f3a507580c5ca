"""BioC XML."""

import io
import tracemalloc
import xml.etree.ElementTree as ET
from collections.abc import Iterator

import pytest

from annotations.domain.formats.base import Loaded, OutNote
from annotations.domain.formats.bioc import BiocFormat
from annotations.domain.notes import NoteError, ParsedNote
from annotations.domain.spans import Span
from tests.domain.formats.helpers import NAMES, read_all, read_one, refused, said, write_one

Given = tuple[str, int, int, str]


def annotation(label: str, offset: int, length: int, text: str, more: str = "") -> str:
    infon = f'<infon key="type">{label}</infon>{more}'
    return (
        f'<annotation id="1">\n{infon}<location offset="{offset}" length="{length}"/><text>{text}</text></annotation>'
    )


def passage(offset: int, text: str, annotations: str = "") -> str:
    return (
        f'<passage>\n<infon key="type">title</infon><offset>{offset}</offset><text>{text}</text>{annotations}</passage>'
    )


def bioc(*documents: str) -> dict[str, bytes | str]:
    whole = "".join(f"<document>\n<id>d{number}</id>{each}</document>\n" for number, each in enumerate(documents, 1))
    return {
        "a.xml": "<?xml version='1.0' encoding='UTF-8'?>\n<!DOCTYPE collection SYSTEM \"BioC.dtd\">\n"
        f'<collection><source>S</source><date/><key>k</key><infon key="x">y</infon>\n{whole}</collection>'
    }


def test_documents_with_passages_and_relations() -> None:
    more = '<infon key="certainty">low</infon><infon key="negated">true</infon><infon key="none"/>'
    relation = '<relation id="R1"><infon key="type">x</infon><node refid="1" role="a"/></relation>'
    first = passage(0, "Anna", annotation("NAME", 0, 4, "Anna", more)) + passage(
        5, "2069\n", annotation("DATE", 5, 4, "2069")
    )
    one, two = read_all("bioc", bioc(first + relation, passage(27, "Neri", annotation("NAME", 27, 4, "Neri"))))
    assert isinstance(one, ParsedNote)
    assert (one.name, one.text, one.spans) == ("d1", "Anna\n2069\n", [Span(0, 4, "NAME"), Span(5, 9, "DATE")])
    assert one.spans[0].attributes == (("certainty", "low"), ("negated", True))
    assert [(warning.code, "nfons" in warning.message) for warning in one.warnings] == [
        ("not kept", False),
        ("not kept", True),
    ]
    assert isinstance(two, ParsedNote)
    assert (two.name, two.text, two.spans) == ("d2", "Neri", [Span(0, 4, "NAME")])


def test_sentences() -> None:
    sentences = (
        f"<sentence><offset>3</offset><text>Anna.</text>{annotation('NAME', 3, 4, 'Anna')}</sentence>"
        f"<sentence><offset>9</offset><text>2069</text>{annotation('DATE', 9, 4, '2069')}</sentence>"
    )
    note = read_one("bioc", bioc(passage(0, "A.") + f"<passage><offset>3</offset>{sentences}</passage>"))
    assert (note.text, note.spans) == ("A.\nAnna. 2069", [Span(3, 7, "NAME"), Span(9, 13, "DATE")])


@pytest.mark.parametrize("second", [9, 10, 13])
def test_offsets_in_code_points_utf16_and_bytes(second: int) -> None:
    """The texts are those of “😀 é Anna” and “Neri”, one character apart."""
    first = second - 5
    found = passage(0, "😀 é Anna", annotation("NAME", first, 4, "Anna"))
    found += passage(second, "Neri", annotation("NAME", second, 4, "Neri"))
    note = read_one("bioc", bioc(found))
    assert (note.text, note.spans) == ("😀 é Anna\nNeri", [Span(4, 8, "NAME"), Span(9, 13, "NAME")])


def test_pieces_of_a_line_break_are_one_span_and_others_are_refused() -> None:
    split = (
        '<annotation id="1">\n<infon key="type">NAME</infon><location offset="5" length="4"/>'
        '<location offset="0" length="4"/><text>Anna Neri</text></annotation>'
    )
    assert read_one("bioc", bioc(passage(0, "Anna\nNeri", split))).spans == [Span(0, 9, "NAME")]
    assert said(refused("bioc", bioc(passage(0, "Anna Neri", split)))) == [(6, "discontinuous")]


def test_a_broken_document_does_not_lose_the_others() -> None:
    wrong = (
        annotation("NAME", 0, 4, "Anne")
        + annotation("NAME", 3, 9, "x")
        + annotation("PERSON", 0, 4, "Anna")
        + '<annotation id="1"><location offset="0" length="4"/></annotation>'
        + '<annotation id="1"><infon key="type">NAME</infon></annotation>'
        + '<annotation id="1"><infon key="type">NAME</infon><location offset="NaN" length="4"/></annotation>'
    )
    right = passage(0, "Anna", annotation("NAME", 0, 4, "Anna"))
    documents = [passage(0, "Anna", wrong), right, passage(0, "Anna") + passage(3, "x"), passage(9**9, "x"), right]
    documents += ["<passage><text>x</text></passage>", passage(0, "x") + passage(10**7, "x")]
    found = read_all("bioc", bioc(*documents))
    codes = [said(each.problems) if isinstance(each, NoteError) else each.name for each in found]
    assert codes == [
        [(6, "quote"), (7, "outside"), (8, "label"), (9, "label"), (9, "offsets"), (9, "offsets")],
        "d2",
        [(16, "order")],
        "d4",
        "d5",
        [(26, "offsets")],
        [(29, "offsets")],
    ]


def test_notes_before_a_fault_of_the_file_are_read() -> None:
    whole = bioc(passage(0, "Anna"), passage(0, "Neri"))["a.xml"]
    assert isinstance(whole, str)
    one, error = read_all("bioc", {"a.xml": whole[: whole.index("Neri")]})
    assert isinstance(one, ParsedNote)
    assert isinstance(error, NoteError)
    assert said(error.problems) == [(9, "xml")]
    assert said(refused("bioc", {"a.xml": "<collection/>"})) == [(None, "no notes")]


def test_ids_that_are_no_names() -> None:
    documents = "".join(f"<document><id>{each}</id></document>" for each in ("", "../a", "b"))
    notes = read_all("bioc", {"sub/x.xml": f"<collection>{documents}</collection>"})
    assert [note.name for note in notes if isinstance(note, ParsedNote)] == ["sub/x-00001", "sub/x-00002", "b"]
    assert [said(note.warnings) for note in notes if isinstance(note, ParsedNote)] == [[], [(1, "name")], []]


def test_other_programs_read_the_same() -> None:
    text = "\ufeffAnna <b>\r\n😀 \x0c Neri"
    spans = [Span(1, 5, "NAME", attributes=(("negated", True),)), Span(15, 19, "NAME")]
    files, losses = write_one("bioc", text, spans, name="sub/ä")
    (document,) = ET.fromstring(files["sub/ä.xml"]).iter("document")
    assert losses == []
    assert document.findtext("id") == "sub/ä"
    assert document.findtext("passage/text") == text.replace("\x0c", "\ufffd")
    assert [each.findtext("text") for each in document.iter("annotation")] == ["Anna", "Neri"]
    assert [each.attrib for each in document.iter("location")] == [
        {"offset": "1", "length": "4"},
        {"offset": "15", "length": "4"},
    ]


@pytest.mark.parametrize(("kind", "module", "ending"), [("bioc", "biocxml", "xml"), ("bioc-json", "biocjson", "json")])
def test_the_package_bioc_reads_and_writes_the_same(kind: str, module: str, ending: str) -> None:
    package = pytest.importorskip(f"bioc.{module}")
    text = "\ufeffAnna <b>\r\n😀 & Neri"
    spans = [Span(1, 5, "NAME"), Span(15, 19, "DATE")]
    files, _ = write_one(kind, text, spans)
    collection = package.loads(files[f"a.{ending}"].decode())
    (passage,) = collection.documents[0].passages
    assert passage.text == text
    assert [text[each.locations[0].offset : each.locations[0].end] for each in passage.annotations] == ["Anna", "Neri"]
    assert [each.text for each in passage.annotations] == ["Anna", "Neri"]
    note = read_one(kind, {f"b.{ending}": package.dumps(collection)})
    assert (note.name, note.text, note.spans) == ("a", text, spans)


def test_many_notes_take_the_memory_of_one() -> None:
    format, number = BiocFormat(), 500
    out = io.BytesIO()
    with format.sink(out, NAMES) as add:
        for at in range(number):
            add(OutNote(f"n{at}", "Anna Neri 2069\n" * 100, [Span(0, 4, "NAME")]))
    files = Loaded({"a.xml": out.getvalue()}.__getitem__)

    def peak(notes: Iterator[object]) -> tuple[int, int]:
        tracemalloc.start()
        read = sum(1 for _ in notes)
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return read, most

    (group,), _ = format.group(["a.xml"])
    read, most = peak(format.read_many(group, files, NAMES))
    assert read == number
    # The bytes of the file itself are there before.
    assert most < 3 * 1024 * 1024
