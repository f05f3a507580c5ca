import json
from typing import Any

import pytest

from annotations.formats.base import LoadedFiles
from annotations.formats.web_annotation import WebAnnotationFormat
from annotations.text.spans import Span
from tests.formats.helpers import facts, outcomes, parsed, read_one, refused, write_one

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
    held = (("role", "x"), ("sure", True))
    span = Span(2, 6, "NAME", attributes=held)
    written, losses = write_one(WEB, TEXT, [span], name="sub/ä b")
    source = "sub/%C3%A4%20b.txt"
    describing = {"type": "schema:PropertyValue", "purpose": "describing"}
    body = [{"type": "TextualBody", "purpose": "tagging", "value": "NAME"}]
    body += [describing | {"schema:name": name, "schema:value": value} for name, value in held]
    target = {"source": source, "selector": [position(2, 6), exact("Anna", prefix="😀 ", suffix=" Neri")]}
    item = {"id": f"{source}/annotations/1", "type": "Annotation", "body": body, "target": target}
    first = {"id": f"{source}/annotations/page", "type": "AnnotationPage", "startIndex": 0, "items": [item]}
    whole = {"@context": CONTEXT, "id": f"{source}/annotations", "type": "AnnotationCollection", "label": "sub/ä b"}
    whole |= {"@included": [{"id": source, "type": "Text", "format": "text/plain", "value": TEXT}]}
    assert (losses, json.loads(written["sub/ä b.jsonl"])) == ([], whole | {"total": 1, "first": first})
    note = read_one(WEB, written)
    assert (note.name, note.text, facts(note.spans), note.warnings) == ("sub/ä b", TEXT, facts([span]), [])


TARGETS = [
    {"source": "a.txt", "selector": position(2, 6)},
    {"source": "http://example.org/notes/a.txt", "selector": [exact("Anna"), position(2, 6)]},
    {"source": {"id": "a.txt", "type": "Text"}, "selector": exact("Anna")},
    {"source": "a.txt", "selector": exact("n", prefix="An", suffix="a"), "expected": Span(4, 5, "NAME")},
    {"source": "a.txt", "selector": {"type": "FragmentSelector", "value": "char=2,6"}},
    {"source": "a.txt", "selector": [{"type": "DataPositionSelector", "start": 5, "end": 9}, position(2, 6)]},
    "a.txt#char=2,6",
    ["./a.txt#char=2,6"],
]


@pytest.mark.parametrize("target", TARGETS)
def test_targets(target: Any) -> None:
    expected = target.pop("expected", Span(2, 6, "NAME")) if isinstance(target, dict) else Span(2, 6, "NAME")
    note = read_one(WEB, files(annotation(target=target)))
    assert (note.name, note.spans, note.warnings) == ("a", [expected], [])


BODIES = [
    ({"body": {"value": "NAME"}}, 1, 0), ({"body": None, "bodyValue": "NAME", "motivation": "tagging"}, 1, 0),
    ({"body": None, "bodyValue": "NAME"}, 1, 0),
    ({"body": [{"value": "NAME", "purpose": "tagging"}, {"value": "DATE", "purpose": "classifying"}]}, 2, 0),
    ({"body": [{"value": "NAME", "purpose": "tagging"}, {"value": "?", "purpose": "commenting"}]}, 1, 1),
    ({"body": [{"value": "?"}], "motivation": "commenting"}, 0, 2), ({"body": "http://example.org/body"}, 0, 2),
    ({"body": None}, 0, 1), ({"target": "a.txt"}, 0, 1),
]  # fmt: skip


@pytest.mark.parametrize(("others", "spans", "warnings"), BODIES)
def test_bodies(others: dict[str, Any], spans: int, warnings: int) -> None:
    note = read_one(WEB, files(annotation(position(2, 6), **others)))
    assert (len(note.spans or ()), len(note.warnings)) == (spans, warnings)
    assert {problem.code for problem in note.warnings} <= {"not kept"}


TWO = [annotation(position(2, 6)), annotation(position(7, 11))]


COLLECTIONS = [
    TWO, page(*TWO), {"@context": CONTEXT, "type": ["AnnotationCollection"], "first": page(*TWO)},
    {"@context": CONTEXT, "@graph": TWO},
]  # fmt: skip


@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize("record", COLLECTIONS)
def test_collections(record: object, indent: int | None) -> None:
    found = {"all.jsonld": json.dumps(record, indent=indent), "a.txt": TEXT, "b.txt": "x"}
    spans = [Span(2, 6, "NAME"), Span(7, 11, "NAME")]
    assert [(note.name, note.spans) for note in parsed(WEB, found)] == [("a", spans), ("b", None)]
    (group,), _ = WEB.group(found)
    assert list(WEB.used_labels(group, LoadedFiles(lambda name: found[name].encode()))) == [{"NAME": 2}]


def test_single_annotations_in_any_order() -> None:
    given = [("a", "NAME"), ("b", "NAME"), ("a", "DATE")]
    records = [annotation(position(0, 1), source=source, tag=tag) for source, tag in given]
    found = parsed(WEB, files(*records) | {"b.txt": "b"})
    assert [(note.name, len(note.spans or ())) for note in found] == [("a", 2), ("b", 1)]
    # Offsets that count UTF-16
    wrong = [annotation(position(3, 7), exact("Anna")), annotation(exact("Neri"))]
    assert read_one(WEB, files(*wrong)).spans == [Span(2, 6, "NAME"), Span(7, 11, "NAME")]
    # The text file with the name of the annotations
    named = {"sub/n.json": json.dumps(page(annotation(position(2, 6), source="urn:x"))), "sub/n.txt": TEXT}
    assert read_one(WEB, named).spans == [Span(2, 6, "NAME")]


def test_texts_inside() -> None:
    whole = {"id": "http://example.org/x/a.txt", "value": TEXT}
    note = read_one(WEB, files(annotation(position(2, 6), source=whole), text=None))
    assert (note.name, note.text, note.spans) == ("x/a", TEXT, [Span(2, 6, "NAME")])
    graph = {"@context": CONTEXT, "@graph": [{"id": "a", "value": TEXT}, annotation(position(2, 6), source="a")]}
    assert read_one(WEB, files(graph, text=None)).spans == [Span(2, 6, "NAME")]
    assert read_one(WEB, files(annotation(position(2, 6), source={"value": TEXT}), text=None)).name == "all-00001"


INVALID_RECORDS = [
    (annotation(position(2, 6), tag="X"), "label"), (annotation(position(2, 6), exact("Neri")), "quote"),
    (annotation(exact("Anne")), "quote"), (annotation(exact("n")), "quote"),
    (annotation({"type": "CssSelector", "value": "p"}), "selector"), (annotation(target=None), "target"),
    (annotation(target={"type": "Choice", "items": []}), "target"), (page(7), "target"),
    ({"type": "AnnotationCollection", "first": "http://example.org/page1"}, "record"), ({"text": "x"}, "record"),
    (annotation(position(2, 6), source="b.txt"), "no text"),
]  # fmt: skip


@pytest.mark.parametrize(("record", "code"), INVALID_RECORDS)
def test_invalid_records(record: dict[str, Any], code: str) -> None:
    found = outcomes(WEB, files(page(annotation(position(0, 1), source="c")), record) | {"c.txt": TEXT})
    assert [(2, code)] in found and "c" in found


def test_invalid_texts() -> None:
    one = page(annotation(position(0, 1)))
    assert outcomes(WEB, files(one, one)) == ["a", [(2, "same name")]]
    (problem,) = refused(WEB, files(one) | {"a.txt": b"\xff"})
    assert (problem.file, problem.code) == ("a.txt", "utf8")
