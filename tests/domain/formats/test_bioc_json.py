"""BioC JSON."""

import json
from typing import Any

import pytest

from annotations.domain.notes import NoteError, ParsedNote
from annotations.domain.spans import Span
from tests.domain.formats.helpers import read_all, read_one, said, write_one


def document(number: int, text: str = "Anna 2069", label: str = "NAME", quote: str = "Anna") -> dict[str, Any]:
    """A document with the fields of NCBI's tools."""
    return {
        "_id": f"{number}|None",
        "id": number,
        "infons": {},
        "passages": [
            {
                "infons": {"type": "title"},
                "offset": 0,
                "text": text,
                "sentences": [],
                "annotations": [
                    {
                        "id": "2",
                        "infons": {"identifier": "1", "type": label, "valid": True, "database": None, "list": [1]},
                        "text": quote,
                        "locations": [{"offset": 0, "length": 4}],
                    }
                ],
                "relations": [],
            },
            {"infons": {}, "offset": len(text) + 1, "text": "end"},
        ],
        "relations": [{"id": "R1", "nodes": []}],
        "pmid": 1,
    }


def test_what_others_write() -> None:
    note = read_one("bioc-json", {"a.json": json.dumps({"documents": [document(7)]})})
    assert (note.name, note.text, note.spans) == ("7", "Anna 2069\nend", [Span(0, 4, "NAME")])
    assert note.spans[0].attributes == (("identifier", "1"), ("valid", True))
    assert said(note.warnings) == [(1, "not kept")] * 3


@pytest.mark.parametrize(
    "whole",
    [
        json.dumps({"source": "x", "infons": {}, "documents": [document(1), document(2)]}, indent=1),
        json.dumps({"PubTator3": [document(1), document(2)]}),
        json.dumps([{"bioctype": "BioCCollection", "documents": [document(1)]}, {"documents": [document(2)]}]),
        json.dumps([document(1), document(2)]),
        json.dumps(document(1)) + "\n" + json.dumps(document(2)) + "\n",
        json.dumps({"documents": [document(1)]}) + "\n" + json.dumps({"documents": [document(2)]}),
    ],
    ids=["collection", "pubtator3", "collections", "documents", "lines", "lines of collections"],
)
def test_all_forms_of_files(whole: str) -> None:
    found = read_all("bioc-json", {"a.json": whole})
    assert [note.name for note in found if isinstance(note, ParsedNote)] == ["1", "2"]


def test_a_broken_document_does_not_lose_the_others() -> None:
    broken: list[Any] = [
        document(1),
        document(2, quote="Anne"),
        document(3, label="PERSON"),
        7,
        {"id": "5"},
        {"passages": [7]},
        {"passages": [{"offset": 0, "text": 7}]},
        {"passages": [{"offset": "x", "text": "x"}]},
        {"passages": [{"offset": 0, "text": "x", "annotations": [{"locations": 7}]}]},
        {"passages": [{"offset": 0, "text": "x", "annotations": [{"infons": {"type": "NAME"}, "locations": []}]}]},
        document(11),
    ]
    whole = json.dumps({"documents": broken}).replace(', {"id": "5"', ',\n{"id": "5"').replace(', {"_id"', ',\n{"_id"')
    found = read_all("bioc-json", {"a.json": whole})
    assert [said(each.problems) if isinstance(each, NoteError) else each.name for each in found] == [
        "1",
        [(2, "quote")],
        [(3, "label")],
        [(3, "structure")],
        [(4, "structure")],
        [(4, "structure")],
        [(4, "no text")],
        [(4, "offsets")],
        [(4, "structure")],
        [(4, "offsets")],
        "11",
    ]


@pytest.mark.parametrize(
    ("whole", "line", "code"),
    [
        ("", 1, "no notes"),
        ('{"documents": []}', 1, "no notes"),
        ('{"documents": [\n{"id": 1, "id": 2}]}', 2, "json"),
        ('{"documents": [\n{"id": 1', 2, "json"),
        ("[1", 1, "structure"),
        ('{"documents": [{"passages": [{"offset": 0, "text": "\\ud800"}]}]}', 1, "json"),
    ],
)
def test_broken_files(whole: str, line: int | None, code: str) -> None:
    first = read_all("bioc-json", {"a.json": whole})[0]
    assert isinstance(first, NoteError)
    assert said(first.problems) == [(line, code)]


def test_the_form_of_the_package_bioc() -> None:
    files, losses = write_one("bioc-json", "😀\r\nAnna", [Span(3, 7, "NAME", attributes=(("negated", True),))])
    assert losses == []
    assert json.loads(files["a.json"]) == {
        "source": "deidreview",
        "date": "",
        "key": "",
        "infons": {"offsets": "characters (code points)"},
        "documents": [
            {
                "id": "a",
                "infons": {},
                "passages": [
                    {
                        "offset": 0,
                        "infons": {},
                        "text": "😀\r\nAnna",
                        "sentences": [],
                        "annotations": [
                            {
                                "id": "T1",
                                "infons": {"type": "NAME", "negated": "true"},
                                "text": "Anna",
                                "locations": [{"offset": 3, "length": 4}],
                            }
                        ],
                        "relations": [],
                    }
                ],
                "annotations": [],
                "relations": [],
            }
        ],
    }
