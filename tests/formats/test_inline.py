"""Inline XML."""

import pytest

from annotations.text.spans import Span
from tests.formats.helpers import facts, read_one, refused, said, write_one

ROOTS = [
    ("Dr. <NAME>Anna</NAME> &amp; co.\n", "Dr. Anna & co.\n", [Span(4, 8, "NAME")]),
    ("<NAME>Anna</NAME>", "Anna", [Span(0, 4, "NAME")]),
    ("<NAME>Anna</NAME>\n", "Anna\n", [Span(0, 4, "NAME")]),
    ("\ufeffx <NAME>Anna</NAME>", "\ufeffx Anna", [Span(3, 7, "NAME")]),
    ("<note>\n<NAME>Anna</NAME></note>\n", "\nAnna", [Span(1, 5, "NAME")]),
    ("<Report>a <NAME>Anna</NAME></Report>", "a Anna", [Span(2, 6, "NAME")]),
    ("<text>Anna</text>", "Anna", []),
    ('<?xml version="1.0"?><NAME>Anna</NAME>', "Anna", []),
    ("<r xmlns='urn:x'><DATE>1 <NAME>A</NAME></DATE></r>", "1 A", [Span(0, 3, "DATE"), Span(2, 3, "NAME")]),
    (
        '<r><PHI TYPE="NAME">A</PHI><ENAMEX type="DATE">1</ENAMEX></r>',
        *("A1", [Span(0, 1, "NAME"), Span(1, 2, "DATE")]),
    ),
    ('<r><span label="ID-1">A</span></r>', "A", [Span(0, 1, "ID-1")]),
    ("no tags &lt;b&gt;", "no tags <b>", []),
    ("", "", []),
]


@pytest.mark.parametrize(("whole", "text", "spans"), ROOTS)
def test_roots_and_labels(whole: str, text: str, spans: list[Span]) -> None:
    note = read_one("inline", {"a.xml": whole})
    assert (note.text, note.spans, note.warnings) == (text, spans, [])


def test_encodings_as_declared_and_attributes() -> None:
    whole = '<?xml version="1.0" encoding="{}"?>\n<r>Dr. <NAME>Zoë</NAME></r>'
    for encoding in ("latin-1", "windows-1252", "utf-16"):
        note = read_one("inline", {"a.xml": whole.format(encoding).encode(encoding)})
        assert (note.text, note.spans) == ("Dr. Zoë", [Span(4, 7, "NAME")])
    tag = '<NAME id="1" certainty="a &quot;b&quot;" negated="true" none="">'
    note = read_one("inline", {"a.xml": f"<r>\n{tag}A</NAME></r>"})
    assert facts(note.spans) == [(1, 2, "NAME", (("certainty", 'a "b"'), ("negated", True)))]
    assert said(note.warnings) == [(2, "not kept")]


PROBLEMS = [
    ("a\nb & c", 2, "xml"), ("a\n<NAME>b", 2, "xml"), ("<NAME>a</DATE>", 1, "xml"), ("a\n<NAME/>", 2, "empty"),
    ("a\n<NAME> \n</NAME>", 2, "white"), ("a\n<PERSON>b</PERSON>", 2, "label"),
]  # fmt: skip


@pytest.mark.parametrize(("whole", "line", "code"), PROBLEMS)
def test_problems(whole: str, line: int, code: str) -> None:
    assert said(refused("inline", {"a.xml": whole})) == [(line, code)]


def test_crossing_spans_are_lost_and_nested_ones_are_not() -> None:
    spans = [Span(0, 9, "NAME"), Span(0, 4, "DATE"), Span(0, 4, "NAME"), Span(5, 14, "DATE"), Span(10, 14, "ID-1")]
    files, losses = write_one("inline", "Anna Neri Rosa", spans)
    assert [loss.span for loss in losses] == [spans[3]] and "NAME 0-9" in losses[0].reason
    assert read_one("inline", files).spans == sorted({*spans} - {spans[3]})


@pytest.mark.parametrize("code", ["9A", "-A", "xmlA", "span", "PHI", "label"])
def test_labels_that_are_not_names_of_elements(code: str) -> None:
    span = Span(0, 4, code, attributes=(("kept", "x"),))
    files, losses = write_one("inline", "Anna", [span], {code: code})
    assert (losses, facts(read_one("inline", files, {code: code}).spans)) == ([], facts([span]))


def test_deep_nesting_is_no_danger() -> None:
    note = read_one("inline", {"a.xml": "x" + "<NAME>" * 5_000 + "A" + "</NAME>" * 5_000})
    assert (note.spans, len(note.warnings)) == ([Span(1, 2, "NAME")], 4_999)
