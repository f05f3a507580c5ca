import json
from typing import Any

import pytest
from defusedxml.ElementTree import fromstring

from annotations.domain.formats.label_studio import LabelStudioFormat
from annotations.domain.labels import CategoryDef, LabelDef, LabelSetDef
from annotations.domain.notes import NoteError, ParsedNote
from annotations.domain.spans import Span
from tests.domain.formats.helpers import read_all, read_one, refused, said, write_one

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
    assert losses == []
    (found,) = json.loads(files["sub/a.json"])
    assert found["data"] == {"name": "sub/a", "text": TEXT}
    common = {"from_name": "label", "to_name": "text", "type": "labels"}
    place = {"start": 2, "end": 12, "text": "Anna\\n\\nNeri"}
    assert found["annotations"][0]["result"] == [
        {"id": "s1", **common, "value": {"start": 2, "end": 6, "text": "Anna", "labels": ["DATE"]}},
        {"id": "s2", **common, "value": place | {"labels": ["NAME"]}},
        {"id": "s2", **common, "from_name": "role", "type": "choices", "value": place | {"choices": ["x"]}},
        {"id": "s2", **common, "from_name": "sure", "type": "choices", "value": place | {"choices": ["sure"]}},
    ]
    note = read_one(STUDIO, files)
    assert [(span, span.attributes) for span in note.spans or ()] == [(spans[1], ()), (spans[0], spans[0].attributes)]


def test_spans_of_a_model_are_predictions() -> None:
    files, _ = write_one(STUDIO, TEXT, [Span(2, 6, "NAME", 0.5, "m1"), Span(8, 12, "NAME", 1.0, "m1")])
    (found,) = json.loads(files["a.json"])
    assert "annotations" not in found
    (prediction,) = found["predictions"]
    assert (prediction["model_version"], prediction["score"]) == ("m1", 0.75)
    note = read_one(STUDIO, files)
    assert [(span, span.confidence) for span in note.spans or ()] == [
        (Span(2, 6, "NAME"), 0.5),
        (Span(8, 12, "NAME"), 1.0),
    ]


def test_a_choice_named_like_its_attribute_is_a_loss() -> None:
    span = Span(2, 6, "NAME", attributes=(("role", "role"),))
    _, losses = write_one(STUDIO, TEXT, [span])
    assert [loss.span for loss in losses] == [span]


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
    assert [(span, span.attributes) for span in note.spans or ()] == [
        (Span(2, 6, "NAME"), ()),
        (Span(8, 12, "DATE"), (("role", "y"),)),
        (Span(8, 12, "NAME"), (("role", "y"),)),
    ]
    assert {problem.code for problem in note.warnings} == {"not kept"}
    assert len(note.warnings) == 5


def test_the_ground_truth_or_the_last_annotation_is_taken() -> None:
    def annotation(label: str, **others: object) -> dict[str, Any]:
        return {"result": [region(2, 6, label)], "updated_at": "2024-01-02T00:00:00Z"} | others

    one, other = annotation("NAME"), annotation("DATE", updated_at="2024-01-03T00:00:00Z")
    assert labels_of(task(annotations=[one, other])) == ["DATE"]
    assert labels_of(task(annotations=[other, one])) == ["DATE"]
    assert labels_of(task(annotations=[one | {"ground_truth": True}, other])) == ["NAME"]
    assert labels_of(task(annotations=[one, other | {"was_cancelled": True}])) == ["NAME"]
    assert labels_of({"data": {"text": TEXT}, "completions": [one]}) == ["NAME"]
    note = read_one(STUDIO, tasks(task(annotations=[one, other])))
    assert said(note.warnings) == [(1, "not kept")]


def labels_of(found: dict[str, Any]) -> list[str]:
    return [span.label for span in read_one(STUDIO, tasks(found)).spans or ()]


def test_predictions_are_taken_where_nobody_annotated() -> None:
    prediction = {
        "model_version": "m",
        "score": 0.5,
        "result": [region(2, 6, "NAME", score=0.75), region(8, 12, "DATE")],
    }
    note = read_one(STUDIO, tasks(task(annotations=[{"was_cancelled": True}], predictions=[prediction])))
    assert [(span.label, span.confidence) for span in note.spans or ()] == [("NAME", 0.75), ("DATE", 0.5)]
    note = read_one(STUDIO, tasks(task(region(2, 6, "DATE"), predictions=[prediction])))
    assert [span.label for span in note.spans or ()] == ["DATE"]
    assert said(note.warnings) == [(1, "not kept")]


def test_an_export_with_the_numbers_of_predictions_only() -> None:
    note = read_one(STUDIO, tasks(task(annotations=[], predictions=[7])))
    assert note.spans is None
    assert said(note.warnings) == [(1, "not kept")]


def test_tasks_without_annotations_and_with_an_empty_one() -> None:
    read = read_all(STUDIO, tasks({"data": {"text": TEXT}}, task(annotations=[]), task()))
    assert [note.spans for note in read if isinstance(note, ParsedNote)] == [None, None, []]


def test_offsets_of_old_versions_count_utf16() -> None:
    old = task(region(3, 7, "NAME", value={"text": "Anna"}), region(9, 13, "DATE", value={"text": "Neri"}))
    assert read_one(STUDIO, tasks(old)).spans == [Span(2, 6, "NAME"), Span(8, 12, "DATE")]
    mixed = task(region(3, 7, "NAME", value={"text": "Anna"}), region(8, 12, "DATE", value={"text": "Neri"}))
    assert said(refused(STUDIO, tasks(mixed))) == [(1, "quote")]


@pytest.mark.parametrize("quote", ["Anna\\n\\nNeri", "Anna\r\nNeri", "AnnaNeri", "Anna Neri"])
def test_quotes_as_the_page_shows_them(quote: str) -> None:
    assert read_one(STUDIO, tasks(task(region(2, 12, "NAME", value={"text": quote})))).spans == [Span(2, 12, "NAME")]


def test_plain_text_in_a_hypertext_tag() -> None:
    value = {"startOffset": 3, "endOffset": 7, "globalOffsets": {"start": 2, "end": 6}, "hypertextlabels": ["NAME"]}
    found = region("/text()[1]", "/text()[1]", type="hypertextlabels", value=value)
    del found["value"]["labels"]
    assert read_one(STUDIO, tasks(task(found))).spans == [Span(2, 6, "NAME")]
    assert said(refused(STUDIO, tasks(task(found, data={"html": "<p>Anna</p>"})))) == [(1, "html")]


def test_the_short_form() -> None:
    found = {
        "id": 1,
        "text": TEXT,
        "label": [{"start": 2, "end": 6, "text": "Anna", "labels": ["NAME"]}],
        "annotator": 1,
        "annotation_id": 3,
    }
    assert read_one(STUDIO, tasks(found)).spans == [Span(2, 6, "NAME")]
    del found["label"]
    assert read_one(STUDIO, tasks(found)).spans == []


@pytest.mark.parametrize(
    ("found", "code"),
    [
        ({"data": {}}, "no text"),
        ({"data": {"image": "/data/upload/1/a.png"}}, "no text"),
        ({"data": {"text": "https://example.org/a.txt"}}, "no text"),
        ({"data": {"one": "a", "two": "b"}}, "no text"),
        ({"data": {"text": [{"author": "a"}]}}, "no text"),
        (task(annotations=[{"result": None}]), "list"),
        (task({"type": "labels"}), "span"),
        (task(region(2, 6, "X")), "label"),
        (task(region(2, 6, 7)), "label"),
        (task(region(2, 99, "NAME")), "outside"),
        (task(region(2, None, "NAME")), "offsets"),
        (task(region(2, 6, "NAME", value={"text": "Neri"})), "quote"),
    ],
)
def test_invalid_tasks(found: dict[str, Any], code: str) -> None:
    good, bad = read_all(STUDIO, tasks(task(), found))
    assert isinstance(good, ParsedNote) and isinstance(bad, NoteError)
    assert said(bad.problems) == [(1, code)]


def test_a_field_with_another_name_holds_the_text() -> None:
    note = read_one(STUDIO, tasks({"data": {"note": "Anna", "filename": "x/a.txt", "number": 7}}))
    assert (note.name, note.text) == ("x/a", "Anna")


def test_configuration() -> None:
    labels = LabelSetDef(
        "x",
        "X",
        "",
        "",
        (),
        (
            CategoryDef(
                "NAME", "Names", (LabelDef("DOCTOR", "Doctor", "d"), LabelDef("PATIENT", 'The "patient" & co'))
            ),
            CategoryDef("AGE", "Age", (LabelDef("AGE", "Age"),)),
        ),
    )
    root = fromstring(STUDIO.extra_files(labels)["label-studio.xml"])
    found = [label.attrib for label in root.iter("Label")]
    assert [label["value"] for label in found] == ["DOCTOR", "PATIENT", "AGE"]
    assert [label.get("hotkey") for label in found] == ["d", None, None]
    assert found[1]["hint"] == 'The "patient" & co'
    assert found[0]["background"] == found[1]["background"] != found[2]["background"]
    (text,), (control,) = root.iter("Text"), root.iter("Labels")
    assert (text.attrib["value"], control.attrib["toName"]) == ("$text", text.attrib["name"])


def test_claims() -> None:
    assert STUDIO.claims("a.json", b'[{"data": {"text": "x"}}]')
    assert STUDIO.claims("a.json", b'[{"id":1,"annotations":[{"result":[]}],"data":{"text":"x"}}]')
    assert STUDIO.claims("a.json", b'[{"text":"x","label":[{"start":0,"end":1,"labels":["A"]}],"annotation_id":3}]')
    assert not STUDIO.claims("a.json", b'{"source":"x","documents":[{"passages":[{"annotations":[]}]}]}')
    assert not STUDIO.claims("a.txt", b'[{"data": {"text": "x"}}]')
