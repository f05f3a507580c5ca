"""Strategies for difficult texts and for spans in them, for the property tests."""

import json
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from annotations.domain.spans import Span, SpanError, checked

CASES = Path(__file__).parent.parent / "cases"
LABELS = ("NAME", "DATE", "ID-1")

BREAKS = ["\n", "\r", "\r\n", "\n\n", "\r\r\n"]
WHITE = [" ", "\t", "\x0b", "\x0c", "\x85", "\xa0", "\u2003", "\u2028", "\u2029", "\u200b", "\ufeff", "\u3000"]
WORDS = [
    "Mario",
    "Rossi",
    "12",
    "24/07/2015",
    "GambiaHome",
    "e\u0301",
    "Ω",
    "مُحمد",
    "דוד",
    "张伟",
    "\u0928\u093e\u092e",
]
ODD = [
    "\u0301",
    "😀",
    "👨\u200d👩\u200d👧",
    "👍🏽",
    "🇮🇹",
    "\u202e",
    "\u202c",
    "\x1c",
    "\x1f",
    "\x01",
    "\u2060",
    "\U0010ffff",
]
SYNTAX = [
    "#",
    "# ",
    "T1",
    "-DOCSTART-",
    "O",
    "B-NAME",
    ";",
    "|",
    "'",
    '"',
    "<b>",
    "&amp;",
    "\\n",
    "[",
    "%s",
    "{}",
    "T1\tNAME 0 1\t",
]


def texts(max_pieces: int = 24) -> st.SearchStrategy[str]:
    """Texts with all known difficulties, but without NUL and unpaired surrogates, which can't be imported."""
    piece = st.one_of(
        st.sampled_from(BREAKS),
        st.sampled_from(WHITE),
        st.sampled_from(WORDS),
        st.sampled_from(ODD),
        st.sampled_from(SYNTAX),
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


@st.composite
def texts_with_apart_spans(draw: st.DrawFn) -> tuple[str, list[Span]]:
    """Spans that don't overlap; they may touch."""
    text, spans = draw(texts_with_spans(12))
    apart: list[Span] = []
    for span in sorted(spans):
        if not apart or span.start >= apart[-1].end:
            apart.append(span)
    return text, apart


def cases(file: str) -> dict[str, Any]:
    """A table of test cases for Python and JavaScript."""
    loaded: dict[str, Any] = json.loads((CASES / file).read_text("utf-8"))
    return loaded
