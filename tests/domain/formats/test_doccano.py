import json

import pytest

from annotations.domain.formats.doccano import DoccanoFormat
from annotations.domain.notes import NoteError, ParsedNote
from annotations.domain.spans import Span
from tests.domain.formats.helpers import read_all, read_one, refused, said, write_one

DOCCANO = DoccanoFormat()
TEXT = "😀 Anna Neri"


def lines(*records: dict[str, object]) -> dict[str, bytes | str]:
    return {"all.jsonl": "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)}


def test_writing() -> None:
    files, losses = write_one(DOCCANO, TEXT, [Span(2, 11, "NAME"), Span(2, 6, "DATE")], name="sub/a")
    assert losses == []
    assert json.loads(files["sub/a.jsonl"]) == {
        "name": "sub/a",
        "text": TEXT,
        "label": [[3, 7, "DATE"], [3, 12, "NAME"]],  # the emoji has two code units
    }
    assert files["sub/a.jsonl"].isascii() and files["sub/a.jsonl"].count(b"\n") == 1


@pytest.mark.parametrize("field", ["label", "labels", "entities"])
def test_an_export_of_sequence_labeling(field: str) -> None:
    found = lines({"id": 7, "text": TEXT, field: [[3, 7, "name"], [8, 12, "NAME"]], "Comments": []})
    note = read_one(DOCCANO, found)
    assert (note.name, note.text, note.warnings) == ("all-00001", TEXT, [])
    assert note.spans == [Span(2, 6, "NAME"), Span(7, 11, "NAME")]


def test_an_export_of_a_project_with_relations() -> None:
    entity = {"id": 1, "label": "NAME", "start_offset": 3, "end_offset": 7}
    other = {"id": 2, "label": "DATE", "start_offset": 8, "end_offset": 12}
    relation = {"id": 1, "from_id": 1, "to_id": 2, "type": "x"}
    note = read_one(
        DOCCANO, lines({"id": 7, "text": TEXT, "entities": [entity, other], "relations": [relation], "Comments": ["?"]})
    )
    assert note.spans == [Span(2, 6, "NAME"), Span(7, 11, "DATE")]
    assert said(note.warnings) == [(1, "not kept"), (1, "not kept")]


def test_an_old_export_with_metadata() -> None:
    note = read_one(
        DOCCANO,
        lines({"id": 7, "text": TEXT, "meta": {"ward": "3"}, "annotation_approver": None, "labels": [[3, 7, "NAME"]]}),
    )
    assert note.spans == [Span(2, 6, "NAME")]
    assert said(note.warnings) == [(1, "not kept")]
    assert "meta" in note.warnings[0].message


def test_notes_without_annotations_and_with_an_empty_set() -> None:
    first, second, third = read_all(
        DOCCANO, lines({"text": "a"}, {"text": "b", "label": []}, {"text": "c", "label": ["x"]})
    )
    assert isinstance(first, ParsedNote) and first.spans is None
    assert isinstance(second, ParsedNote) and second.spans == []
    assert isinstance(third, ParsedNote) and third.spans is None
    assert said(third.warnings) == [(3, "not kept")]


def test_names() -> None:
    read = read_all(
        DOCCANO,
        lines(
            {"text": "a", "name": "sub/x.y"},
            {"text": "b", "filename": "note 2.txt"},
            {"text": "c", "name": "../c"},
            {"text": "d", "name": 7},
        ),
    )
    assert [note.name for note in read if isinstance(note, ParsedNote)] == [
        "sub/x.y",
        "note 2",
        "all-00003",
        "all-00004",
    ]
    assert [said(note.warnings) for note in read if isinstance(note, ParsedNote)] == [[], [], [(3, "name")], []]


def test_the_notes_beside_a_broken_one_are_read() -> None:
    data = '{"text": "a"}\n{"text": "b", "label": [[0, 9, "NAME"], [0, 1, "X"]]}\n{"text": \n{"text": "d"}\n'
    first, second, third, fourth = read_all(DOCCANO, {"all.jsonl": data})
    assert isinstance(first, ParsedNote) and isinstance(fourth, ParsedNote)
    assert isinstance(second, NoteError) and said(second.problems) == [(2, "outside"), (2, "label")]
    assert isinstance(third, NoteError) and said(third.problems) == [(3, "json")]


@pytest.mark.parametrize(
    ("record", "code"),
    [
        ({}, "no text"),
        ({"text": None}, "no text"),
        ({"text": ["a"]}, "no text"),
        ({"text": "ab", "label": 7}, "list"),
        ({"text": "ab", "label": [[0, 1]]}, "span"),
        ({"text": "ab", "label": [7]}, "span"),
        ({"text": "ab", "label": [{"label": "NAME"}]}, "span"),
        ({"text": "ab", "label": [[0, 1, 7]]}, "label"),
        ({"text": "ab", "label": [[0, "x", "NAME"]]}, "offsets"),
        ({"text": "ab", "label": [[0, True, "NAME"]]}, "offsets"),
        ({"text": "ab", "label": [[1, 0, "NAME"]]}, "empty"),
        ({"text": "😀", "label": [[0, 1, "NAME"]]}, "offsets"),
    ],
)
def test_invalid_records(record: dict[str, object], code: str) -> None:
    assert said(refused(DOCCANO, lines(record))) == [(1, code)]


def test_claims() -> None:
    assert DOCCANO.claims("a.jsonl", b'{"id":1,"text":"x","label":[],"Comments":[]}')
    assert DOCCANO.claims("a.json", b'[{"text": "x", "labels": [[0, 1, "A"]]}]')
    assert not DOCCANO.claims("a.jsonl", b'{"text":"x","spans":[]}')
    assert not DOCCANO.claims("a.jsonl", b'{"text":"x"}')
    assert not DOCCANO.claims("a.txt", b'{"id":1,"text":"x","label":[]}')
