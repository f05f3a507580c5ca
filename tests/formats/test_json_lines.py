"""Notes in JSON lines: doccano and Prodigy."""

import json

import pytest

from annotations.text.spans import Span
from tests.formats.helpers import facts, outcomes, parsed, read_one, refused, said, write_one

TEXT = "😀 Anna Neri"


def lines(*records):
    return {"all.jsonl": "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)}


def test_writing():
    files, losses = write_one("doccano", TEXT, [Span(2, 11, "NAME"), Span(2, 6, "DATE")], name="sub/a")
    assert losses == []
    assert json.loads(files["sub/a.jsonl"]) == {
        "name": "sub/a",
        "text": TEXT,
        "label": [[3, 7, "DATE"], [3, 12, "NAME"]],  # the emoji has two code units
    }
    assert files["sub/a.jsonl"].isascii() and files["sub/a.jsonl"].count(b"\n") == 1


@pytest.mark.parametrize("field", ["label", "labels", "entities"])
def test_an_export_of_sequence_labeling(field):
    found = lines({"id": 7, "text": TEXT, field: [[3, 7, "name"], [8, 12, "NAME"]], "Comments": []})
    note = read_one("doccano", found)
    spans = [Span(2, 6, "NAME"), Span(7, 11, "NAME")]
    assert (note.name, note.text, note.warnings, note.spans) == ("all-00001", TEXT, [], spans)


SEEN = "Pain 😖 today. Seen by Petrie, Petrie told."
UNITS = [
    (SEEN, [[23, 29], [31, 37]], [(22, 28), (30, 36)], False),  # UTF-16
    (SEEN, [[22, 28], [30, 36]], [(22, 28), (30, 36)], True),  # code points
    (SEEN, [[25, 31], [33, 39]], [(22, 28), (30, 36)], True),  # bytes
    ("Señora Petrie", [[8, 14]], [(7, 13)], True),
    # No unit fits all spans, or the unit makes no difference.
    (SEEN, [[21, 27], [23, 29]], [(20, 26), (22, 28)], True),
    ("Petrie señora", [[0, 3]], [(0, 3)], False),
]


@pytest.mark.parametrize(("text", "given", "bounds", "warned"), UNITS)
def test_offsets_in_another_unit(text, given, bounds, warned):
    note = read_one("doccano", lines({"text": text, "label": [[*each, "NAME"] for each in given]}))
    assert (note.spans, said(note.warnings)) == ([Span(*each, "NAME") for each in bounds], [(1, "unit")] * warned)
    files, _losses = write_one("doccano", text, note.spans or [])
    again = read_one("doccano", files)
    assert (again.spans, again.warnings) == (note.spans, [])


def test_exports_with_relations_or_metadata():
    entity = {"id": 1, "label": "NAME", "start_offset": 3, "end_offset": 7}
    other = {"id": 2, "label": "DATE", "start_offset": 8, "end_offset": 12}
    relation = {"id": 1, "from_id": 1, "to_id": 2, "type": "x"}
    record = {"id": 7, "text": TEXT, "entities": [entity, other]}
    note = read_one("doccano", lines(record | {"relations": [relation], "Comments": ["?"]}))
    assert note.spans == [Span(2, 6, "NAME"), Span(7, 11, "DATE")] and said(note.warnings) == [(1, "not kept")] * 2
    old = {"id": 7, "text": TEXT, "meta": {"ward": "3"}, "annotation_approver": None, "labels": [[3, 7, "NAME"]]}
    note = read_one("doccano", lines(old))
    assert (note.spans, said(note.warnings)) == ([Span(2, 6, "NAME")], [(1, "not kept")])


def test_notes_without_annotations_and_with_an_empty_set():
    notes = parsed("doccano", lines({"text": "a"}, {"text": "b", "label": []}, {"text": "c", "label": ["x"]}))
    assert [(note.spans, said(note.warnings)) for note in notes] == [(None, []), ([], []), (None, [(3, "not kept")])]


def test_names():
    given = [{"name": "sub/x.y"}, {"filename": "note 2.txt"}, {"name": "../c"}, {"name": 7}]
    notes = parsed("doccano", lines(*({"text": "a"} | each for each in given)))
    found = [(note.name, said(note.warnings)) for note in notes]
    assert found == [("sub/x.y", []), ("note 2", []), ("all-00003", [(3, "name")]), ("all-00004", [])]


def test_the_notes_beside_a_broken_one_are_read():
    data = '{"text": "a"}\n{"text": "b", "label": [[0, 9, "NAME"], [0, 1, "X"]]}\n{"text": \n{"text": "d"}\n'
    found = outcomes("doccano", {"all.jsonl": data})
    assert found == ["all-00001", [(2, "outside"), (2, "label")], [(3, "json")], "all-00004"]


INVALID_RECORDS = [
    ({}, "no text"), ({"text": None}, "no text"), ({"text": ["a"]}, "no text"), ({"text": "ab", "label": 7}, "list"),
    ({"text": "ab", "label": [[0, 1]]}, "span"), ({"text": "ab", "label": [7]}, "span"),
    ({"text": "ab", "label": [{"label": "NAME"}]}, "span"), ({"text": "ab", "label": [[0, "x", "NAME"]]}, "offsets"),
    ({"text": "😀abc", "label": [[1, 3, "NAME"]]}, "offsets"),
]  # fmt: skip


INVALID_TASKS = [
    ({"html": "x"}, "no text"), ({"text": "ab", "spans": {}}, "list"),
    ({"text": "ab", "spans": [[0, 1, "NAME"]]}, "span"), ({"text": "ab", "spans": [{"start": 0, "end": 1}]}, "span"),
    ({"text": "ab", "spans": [{"start": 0, "end": 1, "label": "X"}]}, "label"),
    ({"text": "ab", "spans": [{"start": 0, "end": 1, "label": "NAME", "text": "b"}]}, "quote"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "record", "code"),
    [*(("doccano", *row) for row in INVALID_RECORDS), *(("prodigy", *row) for row in INVALID_TASKS)],
)
def test_invalid_records(kind, record, code):
    assert said(refused(kind, lines(record))) == [(1, code)]


# Tasks of Prodigy.


def test_writing_tasks():
    spans = [Span(2, 11, "NAME", attributes=(("role", "x"), ("sure", True))), Span(2, 6, "DATE", 0.25)]
    files, losses = write_one("prodigy", TEXT, spans, name="sub/a")
    date = {"start": 2, "end": 6, "label": "DATE", "score": 0.25}
    name = {"start": 2, "end": 11, "label": "NAME", "attributes": {"role": "x", "sure": True}}
    task = {"text": TEXT, "spans": [date, name], "meta": {"name": "sub/a"}, "answer": "accept"}
    assert (losses, json.loads(files["sub/a.jsonl"])) == ([], task)
    note = read_one("prodigy", files)
    assert facts(note.spans) == facts(spans) and [span.confidence for span in note.spans or ()] == [0.25, None]


def test_an_export_of_tasks():
    span = {"start": 2, "end": 6, "token_start": 1, "token_end": 1, "label": "NAME", "text": "Anna"}
    token = {"text": "😀", "start": 0, "end": 1, "id": 0, "ws": True}
    task = {"text": TEXT, "_input_hash": -1, "_task_hash": 2, "tokens": [token], "spans": [span]}
    task |= {"_is_binary": False, "_view_id": "ner_manual", "answer": "accept", "_timestamp": 1}
    task |= {"_annotator_id": "x", "_session_id": "x", "meta": {"source": "y"}}
    note = read_one("prodigy", lines(task))
    assert (note.name, note.spans, note.warnings) == ("all-00001", [Span(2, 6, "NAME")], [])


def test_answers():
    span = {"start": 2, "end": 6, "label": "NAME"}
    rejected, ignored = {"spans": [span], "answer": "reject"}, {"spans": [{"start": "?"}], "answer": "ignore"}
    tasks = [rejected, ignored, {"answer": "accept"}, {"spans": [span]}, {}]
    found = parsed("prodigy", lines(*({"text": TEXT} | task for task in tasks)))
    assert [note.spans for note in found] == [None, None, [], [Span(2, 6, "NAME")], None]
    assert [said(note.warnings) for note in found] == [[(1, "not kept")], [(2, "not kept")], [], [], []]


def test_what_is_not_imported():
    span = {"start": 2, "end": 6, "label": "NAME", "attributes": {"a": 7, "b": False, "c": "x"}}
    task = {"text": TEXT, "spans": [span], "relations": [{}], "label": "x", "answer": "accept"}
    note = read_one("prodigy", lines(task | {"accept": ["y"], "html": "z"}))
    assert facts(note.spans) == [(2, 6, "NAME", (("c", "x"),))] and said(note.warnings) == [(1, "not kept")] * 5
