"""Strategies for difficult texts and for spans in them, for the property tests."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from annotations.text.spans import Span, SpanError, checked

CASES = Path(__file__).parent.parent / "cases"
LABELS = ("NAME", "DATE", "ID-1")

BREAKS = ["\n", "\r", "\r\n", "\n\n", "\r\r\n"]
WHITE = [*" \t\x0b\x0c\x85\xa0\u2003\u2028\u2029\u200b\ufeff\u3000"]
WORDS = [
    "Mario", "Rossi", "12", "24/07/2015", "GambiaHome", "e\u0301", "Ω", "مُحمد", "דוד", "张伟", "\u0928\u093e\u092e"
]  # fmt: skip
ODD = [*"😀\u0301\u202e\u202c\x1c\x1f\x01\u2060\U0010ffff", "👨\u200d👩\u200d👧", "👍🏽", "🇮🇹"]
SYNTAX = [*"#O;|'\"[", "# ", "T1", "-DOCSTART-", "B-NAME", "<b>", "&amp;", "\\n", "%s", "{}", "T1\tNAME 0 1\t"]


def texts(max_pieces: int = 24) -> st.SearchStrategy[str]:
    """Texts with all known difficulties, but without NUL and unpaired surrogates, which can't be imported."""
    piece = st.one_of(
        *map(st.sampled_from, (BREAKS, WHITE, WORDS, ODD, SYNTAX)),
        st.characters(exclude_categories=["Cs"], exclude_characters="\0"),
    )
    return st.lists(piece, max_size=max_pieces).map("".join)


@st.composite
def spans_of(draw: st.DrawFn, text: str, max_size: int = 8, labels: tuple[str, ...] = LABELS) -> list[Span]:
    """Spans as in the product: inside the text, not empty, without white space at the ends; they may overlap."""
    if not text:
        return []
    offset = st.integers(0, len(text))
    found = []
    for a, b, label in draw(st.lists(st.tuples(offset, offset, st.sampled_from(labels)), max_size=max_size)):
        try:
            found.append(checked(text, Span(min(a, b), max(a, b), label)))
        except SpanError:
            continue
    return found


@st.composite
def texts_with_spans(draw: st.DrawFn, max_size: int = 8) -> tuple[str, list[Span]]:
    text = draw(texts())
    return text, draw(spans_of(text, max_size))


def apart(spans: Iterable[Span]) -> list[Span]:
    """The spans in order, without those that overlap an earlier one; they may touch."""
    kept: list[Span] = []
    for span in sorted(spans):
        if not kept or span.start >= kept[-1].end:
            kept.append(span)
    return kept


def texts_with_apart_spans() -> st.SearchStrategy[tuple[str, list[Span]]]:
    return texts_with_spans(12).map(lambda made: (made[0], apart(made[1])))


def cases(file: str) -> dict[str, Any]:
    """A table of test cases for Python and JavaScript."""
    loaded: dict[str, Any] = json.loads((CASES / file).read_text("utf-8"))
    return loaded
