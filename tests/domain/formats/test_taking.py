"""The one rule by which readers take a span."""

import pytest

from annotations.domain.formats.base import LabelFinder
from annotations.domain.formats.taking import SpanTaker
from annotations.domain.notes import NoteError
from annotations.domain.spans import Span
from tests.domain.formats.helpers import NAMES, said

TEXT = "😀 Anna Neri\r\nVia Roma"


def taker(text: str = TEXT, *, utf16: bool = False) -> SpanTaker:
    return SpanTaker(text, "a.json", LabelFinder(NAMES), utf16=utf16)


def test_spans_are_taken_in_text_order_with_their_extras() -> None:
    found = taker()
    found.take("name", 13, 16)
    found.take("NAME", 2, 11, quote="Anna Neri", attributes={"b": True, "a": "x"}, confidence=0.5, source="m")
    note = found.note("a", patient_id="p")
    assert note.spans == [Span(2, 11, "NAME"), Span(13, 16, "NAME")]
    assert (note.name, note.text, note.warnings, note.patient_id) == ("a", TEXT, [], "p")
    assert note.spans[0].attributes == (("a", "x"), ("b", True))
    assert (note.spans[0].confidence, note.spans[0].source) == (0.5, "m")


@pytest.mark.parametrize(("start", "end"), [(3, 12), ("3", "12"), (3.0, 12.0)])
def test_utf16_code_units(start: object, end: object) -> None:
    found = taker(utf16=True)
    found.take("NAME", start, end, quote="Anna Neri")
    assert found.note("a").spans == [Span(2, 11, "NAME")]


@pytest.mark.parametrize("quote", ["Neri\r\nVia", "Neri\nVia", "Neri Via"])
def test_line_breaks_of_a_quote_may_differ(quote: str) -> None:
    found = taker()
    found.take("NAME", 7, 16, quote=quote)
    assert found.note("a").spans == [Span(7, 16, "NAME")]


def test_white_ends_duplicates_and_what_is_not_kept_are_warnings() -> None:
    found = taker()
    found.take("NAME", 1, 7, line=1, quote=" Anna ")
    found.take("NAME", 2, 6, line=2)
    found.not_kept("Relations are not imported.", 3)
    found.not_kept("Relations are not imported.", 4)
    note = found.note("a")
    assert note.spans == [Span(2, 6, "NAME")]
    assert said(note.warnings) == [(1, "trimmed"), (2, "twice"), (3, "not kept")]


@pytest.mark.parametrize(
    ("label", "start", "end", "quote", "codes"),
    [
        ("PERSON", 2, 6, None, ["label"]),
        (None, 2, 6, None, ["label"]),
        (["NAME"], 2, 99, None, ["label", "outside"]),
        ("NAME", 2, 6, "Anne", ["quote"]),
        ("NAME", 2, 6, "", ["quote"]),
        ("NAME", 6, 2, None, ["empty"]),
        ("NAME", 2, 2, None, ["empty"]),
        ("NAME", -1, 2, None, ["outside"]),
        ("NAME", 2, 10**9, None, ["outside"]),
        pytest.param("NAME", 2, 10**5000, None, ["offsets"], id="huge"),
        ("NAME", True, 6, None, ["offsets"]),
        ("NAME", None, 6, None, ["offsets"]),
        ("NAME", 2.5, 6, None, ["offsets"]),
        ("NAME", float("nan"), 6, None, ["offsets"]),
        ("NAME", 2, float("inf"), None, ["offsets"]),
        ("NAME", "٢", "6", None, ["offsets"]),
        ("NAME", [2], {}, None, ["offsets"]),
        ("NAME", 11, 13, None, ["white"]),
    ],
)
def test_problems(label: object, start: object, end: object, quote: str | None, codes: list[str]) -> None:
    found = taker()
    found.take(label, start, end, line=7, quote=quote)
    with pytest.raises(NoteError) as raised:
        found.note("a")
    assert said(raised.value.problems) == [(7, code) for code in codes]
    assert all(problem.file == "a.json" and "Ann" not in problem.message for problem in raised.value.problems)


@pytest.mark.parametrize(("start", "end", "code"), [(0, 1, "offsets"), (1, 4, "offsets"), (3, 23, "outside")])
def test_problems_in_utf16(start: int, end: int, code: str) -> None:
    found = taker(utf16=True)
    found.take("NAME", start, end)
    assert said(found.problems) == [(None, code)]
    assert "UTF-16" in found.problems[0].message
