"""BioC XML."""

import json
from typing import Any

import pytest

from annotations.text.spans import Span
from tests.formats.helpers import facts, outcomes, parsed, read_one, refused, said, write_one


def annotation(label: str, offset: int, length: int, text: str, more: str = "") -> str:
    place = f'<location offset="{offset}" length="{length}"/>'
    return f'<annotation id="1">\n<infon key="type">{label}</infon>{more}{place}<text>{text}</text></annotation>'


def passage(offset: int, text: str, annotations: str = "") -> str:
    title = '<infon key="type">title</infon>'
    return f"<passage>\n{title}<offset>{offset}</offset><text>{text}</text>{annotations}</passage>"


def bioc(*documents: str) -> dict[str, bytes | str]:
    whole = "".join(f"<document>\n<id>d{number}</id>{each}</document>\n" for number, each in enumerate(documents, 1))
    return {
        "a.xml": "<?xml version='1.0' encoding='UTF-8'?>\n<!DOCTYPE collection SYSTEM \"BioC.dtd\">\n"
        f'<collection><source>S</source><date/><key>k</key><infon key="x">y</infon>\n{whole}</collection>'
    }


def test_documents_with_passages_and_relations() -> None:
    more = '<infon key="certainty">low</infon><infon key="negated">true</infon><infon key="none"/>'
    relation = '<relation id="R1"><infon key="type">x</infon><node refid="1" role="a"/></relation>'
    first = passage(0, "Anna", annotation("NAME", 0, 4, "Anna", more))
    first += passage(5, "2069\n", annotation("DATE", 5, 4, "2069")) + relation
    one, two = parsed("bioc", bioc(first, passage(27, "Neri", annotation("NAME", 27, 4, "Neri"))))
    held = (("certainty", "low"), ("negated", True))
    assert (one.name, one.text) == ("d1", "Anna\n2069\n")
    assert facts(one.spans) == [(0, 4, "NAME", held), (5, 9, "DATE", ())]
    found = [(warning.code, "nfons" in warning.message) for warning in one.warnings]
    assert found == [("not kept", False), ("not kept", True)]
    assert (two.name, two.text, two.spans) == ("d2", "Neri", [Span(0, 4, "NAME")])
    # Sentences
    sentences = (
        f"<sentence><offset>3</offset><text>Anna.</text>{annotation('NAME', 3, 4, 'Anna')}</sentence>"
        f"<sentence><offset>9</offset><text>2069</text>{annotation('DATE', 9, 4, '2069')}</sentence>"
    )
    note = read_one("bioc", bioc(passage(0, "A.") + f"<passage><offset>3</offset>{sentences}</passage>"))
    assert (note.text, note.spans) == ("A.\nAnna. 2069", [Span(3, 7, "NAME"), Span(9, 13, "DATE")])
    # Pieces of a line break are one span, and others are spans of their own.
    split = annotation("NAME", 5, 4, "Anna Neri", '<location offset="0" length="4"/>')
    assert read_one("bioc", bioc(passage(0, "Anna\nNeri", split))).spans == [Span(0, 9, "NAME")]
    note = read_one("bioc", bioc(passage(0, "Anna Neri", split)))
    assert ([(span.start, span.end) for span in note.spans or ()], said(note.warnings)[1:]) == (
        [(0, 4), (5, 9)], [(6, "discontinuous")],
    )  # fmt: skip


@pytest.mark.parametrize("second", [9, 10, 13])
def test_offsets_in_code_points_utf16_and_bytes(second: int) -> None:
    """The texts are those of “😀 é Anna” and “Neri”, one character apart."""
    found = passage(0, "😀 é Anna", annotation("NAME", second - 5, 4, "Anna"))
    found += passage(second, "Neri", annotation("NAME", second, 4, "Neri"))
    note = read_one("bioc", bioc(found))
    assert (note.text, note.spans) == ("😀 é Anna\nNeri", [Span(4, 8, "NAME"), Span(9, 13, "NAME")])


def test_a_broken_document_does_not_lose_the_others() -> None:
    named = '<annotation id="1"><infon key="type">NAME</infon>'
    wrong = annotation("NAME", 0, 4, "Anne") + annotation("NAME", 3, 9, "x") + annotation("PERSON", 0, 4, "Anna")
    wrong += '<annotation id="1"><location offset="0" length="4"/></annotation>'
    wrong += f'{named}</annotation>{named}<location offset="NaN" length="4"/></annotation>'
    right = passage(0, "Anna", annotation("NAME", 0, 4, "Anna"))
    documents = [passage(0, "Anna", wrong), right, passage(0, "Anna") + passage(3, "x"), passage(9**9, "x"), right]
    documents += ["<passage><text>x</text></passage>", passage(0, "x") + passage(10**7, "x")]
    assert outcomes("bioc", bioc(*documents)) == [
        [(6, "quote"), (7, "outside"), (8, "label"), (9, "label"), (9, "offsets"), (9, "offsets")], "d2",
        [(16, "order")], "d4", "d5", [(26, "offsets")], [(29, "offsets")],
    ]  # fmt: skip
    # Notes before a fault of the file are read.
    whole = str(bioc(passage(0, "Anna"), passage(0, "Neri"))["a.xml"])
    assert outcomes("bioc", {"a.xml": whole[: whole.index("Neri")]}) == ["d1", [(9, "xml")]]
    assert said(refused("bioc", {"a.xml": "<collection/>"})) == [(None, "no notes")]


def test_ids_that_are_no_names() -> None:
    documents = "".join(f"<document><id>{each}</id></document>" for each in ("", "../a", "b"))
    notes = parsed("bioc", {"sub/x.xml": f"<collection>{documents}</collection>"})
    assert [note.name for note in notes] == ["sub/x-00001", "sub/x-00002", "b"]
    assert [said(note.warnings) for note in notes] == [[], [(1, "name")], []]


@pytest.mark.parametrize(("kind", "module", "ending"), [("bioc", "biocxml", "xml"), ("bioc-json", "biocjson", "json")])
def test_the_package_bioc_reads_and_writes_the_same(kind: str, module: str, ending: str) -> None:
    package = pytest.importorskip(f"bioc.{module}")
    text = "\ufeffAnna <b>\r\n😀 & Neri"
    spans = [Span(1, 5, "NAME"), Span(15, 19, "DATE")]
    files, _ = write_one(kind, text, spans)
    collection = package.loads(files[f"a.{ending}"].decode())
    (passage,) = collection.documents[0].passages
    assert passage.text == text
    for each, quote in zip(passage.annotations, ("Anna", "Neri"), strict=True):
        assert text[each.locations[0].offset : each.locations[0].end] == each.text == quote
    note = read_one(kind, {f"b.{ending}": package.dumps(collection)})
    assert (note.name, note.text, note.spans) == ("a", text, spans)


# ── BioC JSON ────────────────────────────────────────────────────────────────────────────────────────────────────────


def document(number: int, text: str = "Anna 2069", label: str = "NAME", quote: str = "Anna") -> dict[str, Any]:
    """A document with the fields of NCBI's tools."""
    infons = {"identifier": "1", "type": label, "valid": True, "database": None, "list": [1]}
    annotation = {"id": "2", "infons": infons, "text": quote, "locations": [{"offset": 0, "length": 4}]}
    first = {"infons": {"type": "title"}, "offset": 0, "text": text, "sentences": [], "relations": []}
    passages = [first | {"annotations": [annotation]}, {"infons": {}, "offset": len(text) + 1, "text": "end"}]
    relations = [{"id": "R1", "nodes": []}]
    return {
        "_id": f"{number}|None", "id": number, "infons": {}, "passages": passages, "relations": relations, "pmid": 1,
    }  # fmt: skip


def test_what_others_write() -> None:
    note = read_one("bioc-json", {"a.json": json.dumps({"documents": [document(7)]})})
    assert (note.name, note.text) == ("7", "Anna 2069\nend")
    assert facts(note.spans) == [(0, 4, "NAME", (("identifier", "1"), ("valid", True)))]
    assert said(note.warnings) == [(1, "not kept")] * 3


FORMS = [
    json.dumps({"source": "x", "infons": {}, "documents": [document(1), document(2)]}, indent=1),
    json.dumps({"PubTator3": [document(1), document(2)]}),
    json.dumps([{"bioctype": "BioCCollection", "documents": [document(1)]}, {"documents": [document(2)]}]),
    json.dumps([document(1), document(2)]),
    json.dumps(document(1)) + "\n" + json.dumps(document(2)) + "\n",
    json.dumps({"documents": [document(1)]}) + "\n" + json.dumps({"documents": [document(2)]}),
]


@pytest.mark.parametrize("whole", FORMS)
def test_all_forms_of_files(whole: str) -> None:
    assert outcomes("bioc-json", {"a.json": whole}) == ["1", "2"]


def test_bioc_json_a_broken_document_does_not_lose_the_others() -> None:
    passages: list[Any] = [
        7, {"offset": 0, "text": 7}, {"offset": "x", "text": "x"},
        {"offset": 0, "text": "x", "annotations": [{"locations": 7}]},
        {"offset": 0, "text": "x", "annotations": [{"infons": {"type": "NAME"}, "locations": []}]},
    ]  # fmt: skip
    broken = [document(1), document(2, quote="Anne"), document(3, label="PERSON"), 7, {"id": "5"}]
    broken += [*({"passages": [each]} for each in passages), document(11)]
    whole = json.dumps({"documents": broken}).replace(', {"id": "5"', ',\n{"id": "5"').replace(', {"_id"', ',\n{"_id"')
    structure = [(4, "structure")]
    assert outcomes("bioc-json", {"a.json": whole}) == [
        *("1", [(2, "quote")], [(3, "label")], [(3, "structure")], structure, structure),
        *([(4, "no text")], [(4, "offsets")], structure, [(4, "offsets")], "11"),
    ]


BROKEN_FILES = [
    ("", 1, "no notes"), ('{"documents": []}', 1, "no notes"), ('{"documents": [\n{"id": 1, "id": 2}]}', 2, "json"),
    ('{"documents": [\n{"id": 1', 2, "json"), ("[1", 1, "structure"),
    ('{"documents": [{"passages": [{"offset": 0, "text": "\\ud800"}]}]}', 1, "json"),
]  # fmt: skip


@pytest.mark.parametrize(("whole", "line", "code"), BROKEN_FILES)
def test_broken_files(whole: str, line: int | None, code: str) -> None:
    assert outcomes("bioc-json", {"a.json": whole})[0] == [(line, code)]
