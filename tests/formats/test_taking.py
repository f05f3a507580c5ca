"""The one rule by which readers take a span."""

import pytest
from hypothesis import given

from annotations.formats.base import LabelFinder
from annotations.formats.notes import NoteError
from annotations.formats.span_rules import SpanTaker
from annotations.formats.token_tags import align, blank, rebuilt
from annotations.text.spans import Span, Token, tokenize
from tests.formats.helpers import NAMES, said
from tests.text.strategies import texts

TEXT = "😀 Anna Neri\r\nVia Roma"


def taker(text: str = TEXT, *, utf16: bool = False) -> SpanTaker:
    return SpanTaker(text, "a.json", LabelFinder(NAMES), utf16=utf16)


def test_spans_are_taken_in_text_order_with_their_extras() -> None:
    found = taker()
    found.take("name", 13, 16)
    found.take("NAME", 2, 11, quote="Anna Neri", attributes={"b": True, "a": "x"}, confidence=0.5)
    note = found.note("a", patient_id="p")
    assert note.spans == [Span(2, 11, "NAME"), Span(13, 16, "NAME")]
    assert (note.name, note.text, note.warnings, note.patient_id) == ("a", TEXT, [], "p")
    assert note.spans[0].attributes == (("a", "x"), ("b", True))
    assert note.spans[0].confidence == 0.5


def test_utf16_code_units_and_line_breaks_of_quotes() -> None:
    for start, end in ((3, 12), ("3", "12"), (3.0, 12.0)):
        found = taker(utf16=True)
        found.take("NAME", start, end, quote="Anna Neri")
        assert found.note("a").spans == [Span(2, 11, "NAME")]
    for start, end, code in ((0, 1, "offsets"), (1, 4, "offsets"), (3, 23, "outside")):
        found = taker(utf16=True)
        found.take("NAME", start, end)
        assert said(found.problems) == [(None, code)]
    for quote in ("Neri\r\nVia", "Neri\nVia", "Neri Via"):
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
    assert note.spans == [Span(2, 6, "NAME")] and said(note.warnings) == [(1, "trimmed"), (2, "twice"), (3, "not kept")]


PROBLEMS = [
    ("PERSON", 2, 6, None, ["label"]), (None, 2, 6, None, ["label"]), (["NAME"], 2, 99, None, ["label", "outside"]),
    ("NAME", 2, 6, "Anne", ["quote"]), ("NAME", 2, 6, "", ["quote"]), ("NAME", 6, 2, None, ["empty"]),
    ("NAME", 2, 2, None, ["empty"]), ("NAME", -1, 2, None, ["outside"]), ("NAME", 2, 10**9, None, ["outside"]),
    pytest.param("NAME", 2, 10**5000, None, ["offsets"], id="huge"), ("NAME", True, 6, None, ["offsets"]),
    ("NAME", None, 6, None, ["offsets"]), ("NAME", 2.5, 6, None, ["offsets"]),
    ("NAME", float("nan"), 6, None, ["offsets"]), ("NAME", 2, float("inf"), None, ["offsets"]),
    ("NAME", "٢", "6", None, ["offsets"]), ("NAME", [2], {}, None, ["offsets"]), ("NAME", 11, 13, None, ["white"]),
]  # fmt: skip


@pytest.mark.parametrize(("label", "start", "end", "quote", "codes"), PROBLEMS)
def test_problems(label: object, start: object, end: object, quote: str | None, codes: list[str]) -> None:
    found = taker()
    found.take(label, start, end, line=7, quote=quote)
    with pytest.raises(NoteError) as raised:
        found.note("a")
    assert said(raised.value.problems) == [(7, code) for code in codes]
    assert all(problem.file == "a.json" and "Ann" not in problem.message for problem in raised.value.problems)


# ── Aligning ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@given(texts())
def test_tokens_are_found_where_they_were(text: str) -> None:
    tokens = tokenize(text)
    found = align(text, [text[token.start : token.end] for token in tokens])
    assert (found.tokens, found.missing, found.changed) == (tokens, None, []) and blank(text, found.at)


REWRITTEN_TOKENS = [
    ("(A)", "-LRB-A-RRB-", 3), ("[A]", "-lsb-A-rsb-", 3), ("“A”", "``A''", 3), ('"A"', "``A''", 3), ("''A", "``A", 3),
    ("it’s", "it's", 4), ("1/2", "1\\/2", 3), ("a…", "a...", 2), ("a–b", "a--b", 3), ("New\n York", "New York", 9),
    ("NewYork", "New York", 7), ("-LRB-", "-LRB-", 5),
]  # fmt: skip


@pytest.mark.parametrize(("text", "word", "end"), REWRITTEN_TOKENS)
def test_tokens_written_in_another_way(text: str, word: str, end: int) -> None:
    found = align(text + " b", [word, "b"])
    assert found.missing is None and found.tokens == [Token(0, end), Token(end + 1, end + 2)]


def test_the_first_word_that_does_not_follow() -> None:
    found = align("a b c", ["a", "c", "b"])
    assert (found.tokens, found.missing, found.at) == ([Token(0, 1)], 1, 1) and not blank("a b c", found.at)


def test_characters_that_nobody_sees_are_free() -> None:
    assert align("\ufeffa\x01\u200db", ["a", "b"]).tokens == [Token(1, 2), Token(4, 5)]
    assert align("a\x01b", ["a", "\x01", "b"]).tokens == [Token(0, 1), Token(1, 2), Token(2, 3)]


def test_a_text_of_tokens() -> None:
    assert rebuilt([["Dr.", "Neri"], ["Via"]]) == ("Dr. Neri\nVia", [Token(0, 3), Token(4, 8), Token(9, 12)])
    assert rebuilt([]) == ("", [])
