import json

import pytest

from annotations.domain.formats.prodigy import ProdigyFormat
from annotations.domain.notes import ParsedNote
from annotations.domain.spans import Span
from tests.domain.formats.helpers import read_all, read_one, refused, said, write_one

PRODIGY = ProdigyFormat()
TEXT = "😀 Anna Neri"


def lines(*records: dict[str, object]) -> dict[str, bytes | str]:
    return {"all.jsonl": "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)}


def test_writing() -> None:
    spans = [Span(2, 11, "NAME", attributes=(("role", "x"), ("sure", True))), Span(2, 6, "DATE", 0.25)]
    files, losses = write_one(PRODIGY, TEXT, spans, name="sub/a")
    assert losses == []
    assert json.loads(files["sub/a.jsonl"]) == {
        "text": TEXT,
        "spans": [
            {"start": 2, "end": 6, "label": "DATE", "score": 0.25},
            {"start": 2, "end": 11, "label": "NAME", "attributes": {"role": "x", "sure": True}},
        ],
        "meta": {"name": "sub/a"},
        "answer": "accept",
    }
    note = read_one(PRODIGY, files)
    assert [(span, span.confidence, span.attributes) for span in note.spans or ()] == [
        (Span(2, 6, "DATE"), 0.25, ()),
        (Span(2, 11, "NAME"), None, spans[0].attributes),
    ]


def test_an_export() -> None:
    task = {
        "text": TEXT,
        "_input_hash": -1,
        "_task_hash": 2,
        "tokens": [{"text": "😀", "start": 0, "end": 1, "id": 0, "ws": True}],
        "spans": [{"start": 2, "end": 6, "token_start": 1, "token_end": 1, "label": "NAME", "text": "Anna"}],
        "_is_binary": False,
        "_view_id": "ner_manual",
        "answer": "accept",
        "_timestamp": 1,
        "_annotator_id": "x",
        "_session_id": "x",
        "meta": {"source": "y"},
    }
    note = read_one(PRODIGY, lines(task))
    assert (note.name, note.spans, note.warnings) == ("all-00001", [Span(2, 6, "NAME")], [])


def test_answers() -> None:
    span = {"start": 2, "end": 6, "label": "NAME"}
    tasks: list[dict[str, object]] = [
        {"text": TEXT, "spans": [span], "answer": "reject"},
        {"text": TEXT, "spans": [{"start": "?"}], "answer": "ignore"},
        {"text": TEXT, "answer": "accept"},
        {"text": TEXT, "spans": [span]},
        {"text": TEXT},
    ]
    read = read_all(PRODIGY, lines(*tasks))
    assert [note.spans for note in read if isinstance(note, ParsedNote)] == [None, None, [], [Span(2, 6, "NAME")], None]
    assert [said(note.warnings) for note in read if isinstance(note, ParsedNote)] == [
        [(1, "not kept")],
        [(2, "not kept")],
        [],
        [],
        [],
    ]


def test_what_is_not_imported() -> None:
    span = {"start": 2, "end": 6, "label": "NAME", "attributes": {"a": 7, "b": False, "c": "x"}}
    task = {
        "text": TEXT,
        "spans": [span],
        "relations": [{}],
        "label": "x",
        "accept": ["y"],
        "html": "z",
        "answer": "accept",
    }
    note = read_one(PRODIGY, lines(task))
    assert (note.spans or [])[0].attributes == (("c", "x"),)
    assert said(note.warnings) == [(1, "not kept")] * 5


@pytest.mark.parametrize(
    ("record", "code"),
    [
        ({"html": "x"}, "no text"),
        ({"text": "ab", "spans": {}}, "list"),
        ({"text": "ab", "spans": [[0, 1, "NAME"]]}, "span"),
        ({"text": "ab", "spans": [{"start": 0, "end": 1}]}, "span"),
        ({"text": "ab", "spans": [{"start": 0, "end": 1, "label": "X"}]}, "label"),
        ({"text": "ab", "spans": [{"start": 0, "end": 3, "label": "NAME"}]}, "outside"),
        ({"text": "ab", "spans": [{"start": 0, "end": 1, "label": "NAME", "text": "b"}]}, "quote"),
    ],
)
def test_invalid_records(record: dict[str, object], code: str) -> None:
    assert said(refused(PRODIGY, lines(record))) == [(1, code)]


def test_claims() -> None:
    assert PRODIGY.claims("a.jsonl", b'{"text":"x","spans":[]}')
    assert PRODIGY.claims("a.jsonl", b'{"text":"x","_input_hash":1}')
    assert PRODIGY.claims("a.json", b'[{"text": "x", "answer": "accept"}]')
    assert not PRODIGY.claims("a.jsonl", b'{"text":"x","label":[]}')
