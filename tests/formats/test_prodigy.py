import json

import pytest

from annotations.formats.json_formats import ProdigyFormat
from annotations.text.spans import Span
from tests.formats.helpers import facts, parsed, read_one, refused, said, write_one

PRODIGY = ProdigyFormat()
TEXT = "😀 Anna Neri"


def lines(*records: dict[str, object]) -> dict[str, bytes | str]:
    return {"all.jsonl": "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)}


def test_writing() -> None:
    spans = [Span(2, 11, "NAME", attributes=(("role", "x"), ("sure", True))), Span(2, 6, "DATE", 0.25)]
    files, losses = write_one(PRODIGY, TEXT, spans, name="sub/a")
    date = {"start": 2, "end": 6, "label": "DATE", "score": 0.25}
    name = {"start": 2, "end": 11, "label": "NAME", "attributes": {"role": "x", "sure": True}}
    task = {"text": TEXT, "spans": [date, name], "meta": {"name": "sub/a"}, "answer": "accept"}
    assert (losses, json.loads(files["sub/a.jsonl"])) == ([], task)
    note = read_one(PRODIGY, files)
    assert facts(note.spans) == facts(spans) and [span.confidence for span in note.spans or ()] == [0.25, None]


def test_an_export() -> None:
    span = {"start": 2, "end": 6, "token_start": 1, "token_end": 1, "label": "NAME", "text": "Anna"}
    token = {"text": "😀", "start": 0, "end": 1, "id": 0, "ws": True}
    task: dict[str, object] = {"text": TEXT, "_input_hash": -1, "_task_hash": 2, "tokens": [token], "spans": [span]}
    task |= {"_is_binary": False, "_view_id": "ner_manual", "answer": "accept", "_timestamp": 1}
    task |= {"_annotator_id": "x", "_session_id": "x", "meta": {"source": "y"}}
    note = read_one(PRODIGY, lines(task))
    assert (note.name, note.spans, note.warnings) == ("all-00001", [Span(2, 6, "NAME")], [])


def test_answers() -> None:
    span = {"start": 2, "end": 6, "label": "NAME"}
    rejected, ignored = {"spans": [span], "answer": "reject"}, {"spans": [{"start": "?"}], "answer": "ignore"}
    tasks: list[dict[str, object]] = [rejected, ignored, {"answer": "accept"}, {"spans": [span]}, {}]
    found = parsed(PRODIGY, lines(*({"text": TEXT} | task for task in tasks)))
    assert [note.spans for note in found] == [None, None, [], [Span(2, 6, "NAME")], None]
    assert [said(note.warnings) for note in found] == [[(1, "not kept")], [(2, "not kept")], [], [], []]


def test_what_is_not_imported() -> None:
    span = {"start": 2, "end": 6, "label": "NAME", "attributes": {"a": 7, "b": False, "c": "x"}}
    task: dict[str, object] = {"text": TEXT, "spans": [span], "relations": [{}], "label": "x", "answer": "accept"}
    note = read_one(PRODIGY, lines(task | {"accept": ["y"], "html": "z"}))
    assert facts(note.spans) == [(2, 6, "NAME", (("c", "x"),))] and said(note.warnings) == [(1, "not kept")] * 5


INVALID_RECORDS = [
    ({"html": "x"}, "no text"), ({"text": "ab", "spans": {}}, "list"),
    ({"text": "ab", "spans": [[0, 1, "NAME"]]}, "span"), ({"text": "ab", "spans": [{"start": 0, "end": 1}]}, "span"),
    ({"text": "ab", "spans": [{"start": 0, "end": 1, "label": "X"}]}, "label"),
    ({"text": "ab", "spans": [{"start": 0, "end": 1, "label": "NAME", "text": "b"}]}, "quote"),
]  # fmt: skip


@pytest.mark.parametrize(("record", "code"), INVALID_RECORDS)
def test_invalid_records(record: dict[str, object], code: str) -> None:
    assert said(refused(PRODIGY, lines(record))) == [(1, code)]
