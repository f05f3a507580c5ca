import json
from typing import Any

import pytest

from annotations.domain.formats.base import Loaded
from annotations.domain.formats.web_annotation import WebAnnotationFormat
from annotations.domain.notes import NoteError, ParsedNote
from annotations.domain.spans import Span
from tests.domain.formats.helpers import NAMES, read_all, read_one, refused, said, write_one

WEB = WebAnnotationFormat()
TEXT = "😀 Anna Neri"
CONTEXT = "http://www.w3.org/ns/anno.jsonld"


def annotation(
    *selectors: dict[str, Any], tag: str = "NAME", source: object = "a.txt", **others: Any
) -> dict[str, Any]:
    body = {"type": "TextualBody", "purpose": "tagging", "value": tag}
    target = {"source": source, "selector": list(selectors)}
    return {"@context": CONTEXT, "type": "Annotation", "body": body, "target": target} | others


def position(start: object, end: object) -> dict[str, Any]:
    return {"type": "TextPositionSelector", "start": start, "end": end}


def exact(words: str, **around: str) -> dict[str, Any]:
    return {"type": "TextQuoteSelector", "exact": words, **around}


def page(*items: object, **others: Any) -> dict[str, Any]:
    return {"@context": CONTEXT, "type": "AnnotationPage", "items": list(items)} | others


def files(*records: object, text: str | None = TEXT) -> dict[str, bytes | str]:
    written: dict[str, bytes | str] = {"all.jsonl": "".join(json.dumps(record) + "\n" for record in records)}
    return written if text is None else written | {"a.txt": text}


def test_writing() -> None:
    spans = [Span(2, 6, "NAME", attributes=(("role", "x"), ("sure", True)))]
    written, losses = write_one(WEB, TEXT, spans, name="sub/ä b")
    assert losses == []
    source = "sub/%C3%A4%20b.txt"
    assert json.loads(written["sub/ä b.jsonl"]) == {
        "@context": CONTEXT,
        "id": f"{source}/annotations",
        "type": "AnnotationCollection",
        "label": "sub/ä b",
        "total": 1,
        "first": {
            "id": f"{source}/annotations/page",
            "type": "AnnotationPage",
            "startIndex": 0,
            "items": [
                {
                    "id": f"{source}/annotations/1",
                    "type": "Annotation",
                    "body": [
                        {"type": "TextualBody", "purpose": "tagging", "value": "NAME"},
                        {
                            "type": "schema:PropertyValue",
                            "purpose": "describing",
                            "schema:name": "role",
                            "schema:value": "x",
                        },
                        {
                            "type": "schema:PropertyValue",
                            "purpose": "describing",
                            "schema:name": "sure",
                            "schema:value": True,
                        },
                    ],
                    "target": {
                        "source": source,
                        "selector": [
                            {"type": "TextPositionSelector", "start": 2, "end": 6},
                            {"type": "TextQuoteSelector", "exact": "Anna", "prefix": "😀 ", "suffix": " Neri"},
                        ],
                    },
                }
            ],
        },
        "@included": [{"id": source, "type": "Text", "format": "text/plain", "value": TEXT}],
    }
    note = read_one(WEB, written)
    assert (note.name, note.text, note.warnings) == ("sub/ä b", TEXT, [])
    assert [(span, span.attributes) for span in note.spans or ()] == [(spans[0], spans[0].attributes)]


@pytest.mark.parametrize(
    "target",
    [
        {"source": "a.txt", "selector": position(2, 6)},
        {"source": "http://example.org/notes/a.txt", "selector": [exact("Anna"), position(2, 6)]},
        {"source": {"id": "a.txt", "type": "Text"}, "selector": exact("Anna")},
        {"source": "a.txt", "selector": exact("n", prefix="An", suffix="a"), "expected": Span(4, 5, "NAME")},
        {"source": "a.txt", "selector": {"type": "FragmentSelector", "value": "char=2,6"}},
        {"source": "a.txt", "selector": [{"type": "DataPositionSelector", "start": 5, "end": 9}, position(2, 6)]},
        "a.txt#char=2,6",
        ["./a.txt#char=2,6"],
    ],
)
def test_targets(target: Any) -> None:
    expected = target.pop("expected", Span(2, 6, "NAME")) if isinstance(target, dict) else Span(2, 6, "NAME")
    note = read_one(WEB, files(annotation(target=target)))
    assert (note.name, note.spans, note.warnings) == ("a", [expected], [])


@pytest.mark.parametrize(
    ("others", "spans", "warnings"),
    [
        ({"body": {"value": "NAME"}}, 1, 0),
        ({"body": None, "bodyValue": "NAME", "motivation": "tagging"}, 1, 0),
        ({"body": None, "bodyValue": "NAME"}, 1, 0),
        ({"body": [{"value": "NAME", "purpose": "tagging"}, {"value": "DATE", "purpose": "classifying"}]}, 2, 0),
        ({"body": [{"value": "NAME", "purpose": "tagging"}, {"value": "?", "purpose": "commenting"}]}, 1, 1),
        ({"body": [{"value": "?"}], "motivation": "commenting"}, 0, 2),
        ({"body": "http://example.org/body"}, 0, 2),
        ({"body": None}, 0, 1),
        ({"target": "a.txt"}, 0, 1),
    ],
)
def test_bodies(others: dict[str, Any], spans: int, warnings: int) -> None:
    note = read_one(WEB, files(annotation(position(2, 6), **others)))
    assert (len(note.spans or ()), len(note.warnings)) == (spans, warnings)
    assert {problem.code for problem in note.warnings} <= {"not kept"}


@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize(
    "record",
    [
        [annotation(position(2, 6)), annotation(position(7, 11))],
        page(annotation(position(2, 6)), annotation(position(7, 11))),
        {
            "@context": CONTEXT,
            "type": ["AnnotationCollection"],
            "first": page(annotation(position(2, 6)), annotation(position(7, 11))),
        },
        {"@context": CONTEXT, "@graph": [annotation(position(2, 6)), annotation(position(7, 11))]},
    ],
)
def test_collections(record: object, indent: int | None) -> None:
    found = {"all.jsonld": json.dumps(record, indent=indent), "a.txt": TEXT, "b.txt": "x"}
    a, b = read_all(WEB, found)
    assert isinstance(a, ParsedNote) and (a.name, a.spans) == ("a", [Span(2, 6, "NAME"), Span(7, 11, "NAME")])
    assert isinstance(b, ParsedNote) and (b.name, b.spans) == ("b", None)
    (group,), _ = WEB.group(found)
    (counted,) = WEB.used_labels(group, Loaded(lambda name: found[name].encode()))
    assert counted == {"NAME": 2}


def test_single_annotations_in_any_order() -> None:
    records = [
        annotation(position(0, 1), source=source, tag=tag)
        for source, tag in [("a", "NAME"), ("b", "NAME"), ("a", "DATE")]
    ]
    read = read_all(WEB, files(*records) | {"b.txt": "b"})
    assert [(note.name, len(note.spans or ())) for note in read if isinstance(note, ParsedNote)] == [("a", 2), ("b", 1)]


def test_texts_inside() -> None:
    source = {"id": "http://example.org/x/a.txt", "value": TEXT}
    note = read_one(WEB, files(annotation(position(2, 6), source=source), text=None))
    assert (note.name, note.text, note.spans) == ("x/a", TEXT, [Span(2, 6, "NAME")])
    graph = {"@context": CONTEXT, "@graph": [{"id": "a", "value": TEXT}, annotation(position(2, 6), source="a")]}
    assert read_one(WEB, files(graph, text=None)).spans == [Span(2, 6, "NAME")]
    nameless = annotation(position(2, 6), source={"value": TEXT})
    assert read_one(WEB, files(nameless, text=None)).name == "all-00001"


def test_the_text_file_with_the_name_of_the_annotations() -> None:
    found = {"sub/n.json": json.dumps(page(annotation(position(2, 6), source="urn:x"))), "sub/n.txt": TEXT}
    assert read_one(WEB, found).spans == [Span(2, 6, "NAME")]


def test_offsets_that_count_utf16() -> None:
    wrong = [annotation(position(3, 7), exact("Anna")), annotation(exact("Neri"))]
    assert read_one(WEB, files(*wrong)).spans == [Span(2, 6, "NAME"), Span(7, 11, "NAME")]


@pytest.mark.parametrize(
    ("record", "code"),
    [
        (annotation(position(2, 6), tag="X"), "label"),
        (annotation(position(2, 60)), "outside"),
        (annotation(position(2, None)), "offsets"),
        (annotation(position(2, 6), exact("Neri")), "quote"),
        (annotation(exact("Anne")), "quote"),
        (annotation(exact("n")), "quote"),
        (annotation({"type": "CssSelector", "value": "p"}), "selector"),
        (annotation(target=None), "target"),
        (annotation(target={"type": "Choice", "items": []}), "target"),
        (page(7), "target"),
        ({"type": "AnnotationCollection", "first": "http://example.org/page1"}, "record"),
        ({"text": "x"}, "record"),
        (annotation(position(2, 6), source="b.txt"), "no text"),
    ],
)
def test_invalid_records(record: dict[str, Any], code: str) -> None:
    read = read_all(WEB, files(page(annotation(position(0, 1), source="c")), record) | {"c.txt": TEXT})
    (error,) = [note for note in read if isinstance(note, NoteError)]
    assert said(error.problems) == [(2, code)]
    assert "c" in [note.name for note in read if isinstance(note, ParsedNote)]


def test_two_collections_for_one_text_file() -> None:
    read = read_all(WEB, files(page(annotation(position(0, 1))), page(annotation(position(0, 1)))))
    assert [note.problems[0].code for note in read if isinstance(note, NoteError)] == ["same name"]


def test_a_text_that_is_not_utf8() -> None:
    (problem,) = refused(WEB, files(page(annotation(position(0, 1)))) | {"a.txt": b"\xff"}, NAMES)
    assert (problem.file, problem.code) == ("a.txt", "utf8")


def test_claims() -> None:
    assert WEB.claims("a.jsonld", b'{"@context": "http://www.w3.org/ns/anno.jsonld"}')
    assert not WEB.claims("a.jsonld", b'{"@context": "http://schema.org"}')
    assert not WEB.claims("a.txt", b"http://www.w3.org/ns/anno.jsonld")
