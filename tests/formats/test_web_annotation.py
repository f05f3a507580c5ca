"""Web annotations; and formats that are only read."""

import json

import pytest

from annotations.formats import READERS, claiming
from annotations.formats.base import LoadedFiles
from annotations.formats.web_annotation import WebAnnotationFormat
from annotations.text.spans import Span
from tests.formats.helpers import NAMES, facts, outcomes, parsed, read_all, read_one, refused, said, write_one

WEB = WebAnnotationFormat()
TEXT = "😀 Anna Neri"
CONTEXT = "http://www.w3.org/ns/anno.jsonld"


def annotation(*selectors, tag="NAME", source="a.txt", **others):
    body = {"type": "TextualBody", "purpose": "tagging", "value": tag}
    target = {"source": source, "selector": list(selectors)}
    return {"@context": CONTEXT, "type": "Annotation", "body": body, "target": target} | others


def position(start, end):
    return {"type": "TextPositionSelector", "start": start, "end": end}


def exact(words, **around):
    return {"type": "TextQuoteSelector", "exact": words, **around}


def page(*items, **others):
    return {"@context": CONTEXT, "type": "AnnotationPage", "items": list(items)} | others


def files(*records, text=TEXT):
    written = {"all.jsonl": "".join(json.dumps(record) + "\n" for record in records)}
    return written if text is None else written | {"a.txt": text}


def test_writing():
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
def test_targets(target):
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
def test_bodies(others, spans, warnings):
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
def test_collections(record, indent):
    found = {"all.jsonld": json.dumps(record, indent=indent), "a.txt": TEXT, "b.txt": "x"}
    spans = [Span(2, 6, "NAME"), Span(7, 11, "NAME")]
    assert [(note.name, note.spans) for note in parsed(WEB, found)] == [("a", spans), ("b", None)]
    (group,), _ = WEB.group(found)
    assert list(WEB.used_labels(group, LoadedFiles(lambda name: found[name].encode()))) == [{"NAME": 2}]


def test_single_annotations_in_any_order():
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


def test_texts_inside():
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
def test_invalid_records(record, code):
    found = outcomes(WEB, files(page(annotation(position(0, 1), source="c")), record) | {"c.txt": TEXT})
    assert [(2, code)] in found and "c" in found


def test_invalid_texts():
    one = page(annotation(position(0, 1)))
    assert outcomes(WEB, files(one, one)) == ["a", [(2, "same name")]]
    (problem,) = refused(WEB, files(one) | {"a.txt": b"\xff"})
    assert (problem.file, problem.code) == ("a.txt", "utf8")


# ── Formats that are only read ────────────────────────────────────────────────────────────────────────────────────────
PUBTATOR = READERS["pubtator"]
PUBANNOTATION = READERS["pubannotation"]
ROWS = (
    "12|t|Seen 😀 by Anna Neri.\r\n12|a|She came on 2069.\r\n12\t{}\t{}\tAnna Neri\tNAME\tD1\r\n"
    "12\t{}\t{}\t2069\tDATE\t-1\r\n12\tCID\tD1\tD2\r\n\r\n"
)


@pytest.mark.parametrize("wide", [0, 1])
def test_pubtator(wide: int) -> None:
    """Offsets count code points, or UTF-16 code units with `wide`."""
    rows = ROWS.format(10 + wide, 19 + wide, 33 + wide, 37 + wide) + "a/../b|t|Bo\nx|t|Anna\nx\t0\t4\tAnna\tNAME\n"
    files: dict[str, bytes | str] = {"x.txt": rows}
    assert claiming([("x.txt", rows.encode())], READERS) == "pubtator"
    one, two, three = read_all(PUBTATOR, files)
    assert (one.name, one.text) == ("12", "Seen 😀 by Anna Neri.\nShe came on 2069.")
    assert facts(one.spans) == [(10, 19, "NAME", (("identifier", "D1"),)), (33, 37, "DATE", ())]
    assert said(one.warnings) == [(5, "not kept")]
    assert (two.name, two.text, two.spans, said(two.warnings)) == ("x-00002", "Bo", [], [(7, "name")])
    assert (three.name, three.spans) == ("x", [Span(0, 4, "NAME")])
    (group,), _problems = PUBTATOR.group(files)
    counted = list(PUBTATOR.used_labels(group, LoadedFiles(lambda _name: rows.encode())))
    assert counted == [{"NAME": 1, "DATE": 1}, {}, {"NAME": 1}]


def test_documents_beside_a_broken_one_are_read() -> None:
    rows = "1|t|Anna\n1\t0\t3\tAnna\tNAME\n\n2|t|Bo\nfree text\n\n3\t0\t1\tB\tNAME\n\n4|t|Bo\n"
    assert outcomes(PUBTATOR, {"a.pubtator": rows}) == [[(2, "quote")], [(5, "line")], [(7, "line")], "4"]
    assert said(refused(PUBTATOR, {"a.pubtator": b"1|t|\xff"})) == [(1, "utf8")]
    assert said(refused(PUBTATOR, {"a.pubtator": ""})) == [(1, "no text")]


def denotation(identity: str, label: str, *pieces: tuple[int, int]) -> dict[str, object]:
    spans = [{"begin": begin, "end": end} for begin, end in pieces]
    return {"id": identity, "span": spans if len(spans) > 1 else spans[0], "obj": label}


def test_pubannotation() -> None:
    record = {
        "sourcedb": "PMC", "sourceid": "77", "divid": 3, "text": "Anna 😀 Neri, 2069",
        "denotations": [denotation("T1", "NAME", (0, 4)), denotation("T2", "ID-1", (0, 4), (7, 11))],
        "blocks": [denotation("T3", "DATE", (13, 17))],
        "attributes": [{"subj": "T1", "pred": "sure", "obj": "low"}, {"subj": "T3", "pred": "x", "obj": True}],
        "relations": [{"id": "R1", "subj": "T1", "pred": "of", "obj": "T3"}], "other": 1,
    }  # fmt: skip
    data = json.dumps(record)
    assert claiming([("a.json", data.encode())], READERS) == "pubannotation"
    note = read_one(PUBANNOTATION, {"a.json": data})
    assert (note.name, facts(note.spans)) == (
        "PMC-77-3",
        [(0, 4, "ID-1", ()), (0, 4, "NAME", (("sure", "low"),)), (7, 11, "ID-1", ()), (13, 17, "DATE", (("x", True),))],
    )
    assert said(note.warnings) == [(1, "discontinuous"), (1, "not kept"), (1, "not kept")]
    (group,), _problems = PUBANNOTATION.group(["a.json"])
    counted = list(PUBANNOTATION.used_labels(group, LoadedFiles(lambda _name: data.encode())))
    assert counted == [{"NAME": 1, "ID-1": 1, "DATE": 1}]
    # Offsets of TextAE may count UTF-16, and an array holds many notes.
    notes = [{"text": "😀 Anna", "denotations": [denotation("T1", "NAME", (3, 7))]}, {"text": "x", "denotations": []}]
    first, second = read_all(PUBANNOTATION, {"a.json": json.dumps(notes)}, NAMES)
    assert (first.spans, said(first.warnings), second.name) == ([Span(2, 6, "NAME")], [(1, "unit")], "a-00002")
    for wrong in ({"span": {"begin": 0}, "obj": "NAME"}, {"span": [], "obj": "NAME"}, 7):
        data = json.dumps({"text": "x", "denotations": [wrong]})
        assert said(refused(PUBANNOTATION, {"a.json": data})) == [(1, "span")]
