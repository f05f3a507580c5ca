import json
from typing import Any

import pytest
from defusedxml.ElementTree import fromstring

from annotations.formats.label_studio import LabelStudioFormat
from annotations.text.labels import CategoryDef, LabelDef, LabelSetDef
from annotations.text.spans import Span
from tests.formats.helpers import facts, outcomes, read_one, refused, said, write_one

STUDIO = LabelStudioFormat()
TEXT = "😀 Anna\r\nNeri"


def tasks(*records: dict[str, Any], indent: int | None = None) -> dict[str, bytes | str]:
    return {"all.json": json.dumps(list(records), ensure_ascii=False, indent=indent)}


def region(start: object, end: object, *labels: object, **others: Any) -> dict[str, Any]:
    value = {"start": start, "end": end, "labels": list(labels)} | others.pop("value", {})
    return {"id": "x1", "from_name": "label", "to_name": "text", "type": "labels", "value": value} | others


def task(*results: dict[str, Any], **others: Any) -> dict[str, Any]:
    return {"id": 1, "data": {"text": TEXT}, "annotations": [{"id": 2, "result": list(results)}]} | others


def test_writing() -> None:
    spans = [Span(2, 12, "NAME", attributes=(("role", "x"), ("sure", True))), Span(2, 6, "DATE")]
    files, losses = write_one(STUDIO, TEXT, spans, name="sub/a")
    (found,) = json.loads(files["sub/a.json"])
    assert (losses, found["data"]) == ([], {"name": "sub/a", "text": TEXT})
    common = {"from_name": "label", "to_name": "text", "type": "labels"}
    place = {"start": 2, "end": 12, "text": "Anna\\n\\nNeri"}
    assert found["annotations"][0]["result"] == [
        {"id": "s1", **common, "value": {"start": 2, "end": 6, "text": "Anna", "labels": ["DATE"]}},
        {"id": "s2", **common, "value": place | {"labels": ["NAME"]}},
        {"id": "s2", **common, "from_name": "role", "type": "choices", "value": place | {"choices": ["x"]}},
        {"id": "s2", **common, "from_name": "sure", "type": "choices", "value": place | {"choices": ["sure"]}},
    ]
    assert facts(read_one(STUDIO, files).spans) == facts(spans)
    # A choice named like its attribute is a loss.
    span = Span(2, 6, "NAME", attributes=(("role", "role"),))
    assert [loss.span for loss in write_one(STUDIO, TEXT, [span])[1]] == [span]


def test_spans_of_a_model_are_predictions() -> None:
    files, _ = write_one(STUDIO, TEXT, [Span(2, 6, "NAME", 0.5, "m1"), Span(8, 12, "NAME", 1.0, "m1")])
    (found,) = json.loads(files["a.json"])
    (prediction,) = found["predictions"]
    assert ("annotations" in found, prediction["model_version"], prediction["score"]) == (False, "m1", 0.75)
    rows = [(span.start, span.end, span.confidence) for span in read_one(STUDIO, files).spans or ()]
    assert rows == [(2, 6, 0.5), (8, 12, 1.0)]


@pytest.mark.parametrize("indent", [None, 1])
def test_an_export(indent: int | None) -> None:
    results = [
        region(2, 6, "NAME", value={"text": "Anna"}, origin="manual"),
        region(8, 12, "NAME", "DATE", id="x2", value={"text": "Neri"}),
        {"from_id": "x1", "to_id": "x2", "type": "relation", "direction": "right"},
        region(8, 12, id="x2", type="choices", from_name="role", value={"choices": ["y", "z"]}),
        {"id": "x3", "from_name": "kind", "to_name": "text", "type": "choices", "value": {"choices": ["letter"]}},
        region(2, 6, id="x4", meta={"text": ["?"]}),
    ]
    exported = task(*results, file_upload="1-a.txt", drafts=[], predictions=[], meta={}, total_annotations=1)
    note = read_one(STUDIO, tasks(exported, indent=indent))
    assert (note.name, note.text) == ("all-00001", TEXT)
    role = (("role", "y"),)
    assert facts(note.spans) == [(2, 6, "NAME", ()), (8, 12, "DATE", role), (8, 12, "NAME", role)]
    assert [problem.code for problem in note.warnings] == ["not kept"] * 5


ONE = {"result": [region(2, 6, "NAME")], "updated_at": "2024-01-02T00:00:00Z"}
OTHER = {"result": [region(2, 6, "DATE")], "updated_at": "2024-01-03T00:00:00Z"}
LEFT = [(1, "not kept")]
PREDICTION = {"model_version": "m", "score": 0.5, "result": [region(2, 6, "NAME", score=0.75), region(8, 12, "DATE")]}


TAKEN = [
    # The ground truth or the last annotation is taken,
    (task(annotations=[ONE, OTHER]), [("DATE", None)], LEFT), (task(annotations=[OTHER, ONE]), [("DATE", None)], LEFT),
    (task(annotations=[ONE | {"ground_truth": True}, OTHER]), [("NAME", None)], LEFT),
    (task(annotations=[ONE, OTHER | {"was_cancelled": True}]), [("NAME", None)], LEFT),
    ({"data": {"text": TEXT}, "completions": [ONE]}, [("NAME", None)], []),
    # and predictions where nobody annotated.
    (task(annotations=[{"was_cancelled": True}], predictions=[PREDICTION]), [("NAME", 0.75), ("DATE", 0.5)], LEFT),
    (task(region(2, 6, "DATE"), predictions=[PREDICTION]), [("DATE", None)], LEFT),
    (task(annotations=[], predictions=[7]), None, LEFT),  # with their numbers only
    ({"data": {"text": TEXT}}, None, []), (task(annotations=[]), None, []), (task(), [], []),
]  # fmt: skip


@pytest.mark.parametrize(("found", "spans", "warnings"), TAKEN)
def test_one_annotation_is_taken(found: dict[str, Any], spans: list[tuple[str, float]] | None, warnings: Any) -> None:
    note = read_one(STUDIO, tasks(found))
    assert (note.spans is None) == (spans is None)
    assert [(span.label, span.confidence) for span in note.spans or ()] == (spans or [])
    assert said(note.warnings) == warnings


def test_offsets_of_old_versions_count_utf16() -> None:
    old = task(region(3, 7, "NAME", value={"text": "Anna"}), region(9, 13, "DATE", value={"text": "Neri"}))
    assert read_one(STUDIO, tasks(old)).spans == [Span(2, 6, "NAME"), Span(8, 12, "DATE")]
    mixed = task(region(3, 7, "NAME", value={"text": "Anna"}), region(8, 12, "DATE", value={"text": "Neri"}))
    assert said(refused(STUDIO, tasks(mixed))) == [(1, "quote")]
    # Quotes as the page shows them
    for quote in ("Anna\\n\\nNeri", "Anna\r\nNeri", "AnnaNeri", "Anna Neri"):
        assert read_one(STUDIO, tasks(task(region(2, 12, "NAME", value={"text": quote})))).spans == [
            Span(2, 12, "NAME")
        ]


def test_plain_text_in_a_hypertext_tag() -> None:
    value = {"startOffset": 3, "endOffset": 7, "globalOffsets": {"start": 2, "end": 6}, "hypertextlabels": ["NAME"]}
    found = region("/text()[1]", "/text()[1]", type="hypertextlabels", value=value)
    del found["value"]["labels"]
    assert read_one(STUDIO, tasks(task(found))).spans == [Span(2, 6, "NAME")]
    assert said(refused(STUDIO, tasks(task(found, data={"html": "<p>Anna</p>"})))) == [(1, "html")]


def test_other_forms() -> None:
    label = [{"start": 2, "end": 6, "text": "Anna", "labels": ["NAME"]}]
    found: dict[str, Any] = {"id": 1, "text": TEXT, "annotator": 1, "annotation_id": 3}
    assert read_one(STUDIO, tasks(found | {"label": label})).spans == [Span(2, 6, "NAME")]
    assert read_one(STUDIO, tasks(found)).spans == []
    # A field with another name holds the text.
    note = read_one(STUDIO, tasks({"data": {"note": "Anna", "filename": "x/a.txt", "number": 7}}))
    assert (note.name, note.text) == ("x/a", "Anna")


INVALID_TASKS = [
    ({"data": {}}, "no text"), ({"data": {"image": "/data/upload/1/a.png"}}, "no text"),
    ({"data": {"text": "https://example.org/a.txt"}}, "no text"), ({"data": {"one": "a", "two": "b"}}, "no text"),
    ({"data": {"text": [{"author": "a"}]}}, "no text"), (task(annotations=[{"result": None}]), "list"),
    (task({"type": "labels"}), "span"), (task(region(2, 6, "X")), "label"),
    (task(region(2, 6, "NAME", value={"text": "Neri"})), "quote"),
]  # fmt: skip


@pytest.mark.parametrize(("found", "code"), INVALID_TASKS)
def test_invalid_tasks(found: dict[str, Any], code: str) -> None:
    assert outcomes(STUDIO, tasks(task(), found)) == ["all-00001", [(1, code)]]


def test_configuration() -> None:
    names = CategoryDef("NAME", "Names", (LabelDef("DOCTOR", "Doctor", "d"), LabelDef("PATIENT", 'The "patient" & co')))
    age = CategoryDef("AGE", "Age", (LabelDef("AGE", "Age"),))
    root = fromstring(STUDIO.extra_files(LabelSetDef("x", "X", "", "", (), (names, age)))["label-studio.xml"])
    found = [label.attrib for label in root.iter("Label")]
    rows = [(label["value"], label.get("hotkey")) for label in found]
    assert rows == [("DOCTOR", "d"), ("PATIENT", None), ("AGE", None)] and found[1]["hint"] == 'The "patient" & co'
    assert found[0]["background"] == found[1]["background"] != found[2]["background"]
    (text,), (control,) = root.iter("Text"), root.iter("Labels")
    assert (text.attrib["value"], control.attrib["toName"]) == ("$text", text.attrib["name"])
