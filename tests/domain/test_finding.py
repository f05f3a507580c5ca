"""Text search in notes: case, accents, whole words; offsets are those of the original text."""

import unicodedata
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotations.domain.finding import Covered, Sought, around, find, finder

LETTERS = "aAeéÉE\u0301\u0308nñiİıIßsSkK\u212a 12-.*[(\\\n\r\t\u00a0\u200b\U0001f600"


def found(sought: str, text: str, **how: bool) -> list[str]:
    wanted = Sought(sought, **how)
    return [text[start:end] for start, end in find(text, finder(wanted), word=wanted.word)]


@pytest.mark.parametrize(
    "sought, text, how, expected",
    [
        ("rossi", "Mario ROSSI, Rossini", {}, ["ROSSI", "Rossi"]),  # case doesn't matter, and parts of words match
        ("Rossi", "ROSSI Rossi", {"case": True}, ["Rossi"]),
        ("rossi", "Rossi Rossini 2Rossi Rossi2 Rossi.", {"word": True}, ["Rossi", "Rossi"]),
        ("12", "12 112 12a 1,12", {"word": True}, ["12", "12"]),
        ("jose", "José", {}, []),
        ("jose", "José JOSÉ Jose\u0301 jose", {"accents": False}, ["José", "JOSÉ", "Jose\u0301", "jose"]),
        ("josé", "jose", {"accents": False}, ["jose"]),
        ("josé", "Jose\u0301 JOSÉ jose", {}, ["Jose\u0301", "JOSÉ"]),  # both encodings of é are equal
        ("Jose\u0301", "José", {}, ["José"]),
        ("cafe", "cafe\u0301 cafe", {}, ["cafe"]),  # a letter without its accent mark doesn't match
        ("mario rossi", "Mario\r\n  Rossi", {}, ["Mario\r\n  Rossi"]),  # a name over a line break
        ("a.b", "axb a.b", {}, ["a.b"]),  # not a regular expression
        ("[", "a[b", {}, ["["]),
        ("\U0001f600", "x\U0001f600x", {}, ["\U0001f600"]),
        ("محمد", "السيد محمد علي", {}, ["محمد"]),
        ("עברית", "שלום עברית", {"word": True}, ["עברית"]),
        ("aa", "aaaa", {}, ["aa", "aa"]),  # matches don't overlap
        ("  rossi\n", "Rossi", {}, ["Rossi"]),
    ],
)
def test_table(sought, text, how, expected):
    assert found(sought, text, **how) == expected


@pytest.mark.parametrize("nothing", ["", "  ", "\n\u200b"])
def test_an_empty_search_text(nothing):
    with pytest.raises(ValueError, match="empty"):
        finder(Sought(nothing))


@given(st.text(LETTERS, max_size=12), st.text(LETTERS, min_size=1, max_size=4), st.text(LETTERS, max_size=12))
def test_a_piece_of_a_text_is_found_where_it_is(before, piece, after):
    """Without regard to accents there is always a match, possibly one that starts before the piece."""
    text = before + piece + after
    if not piece.strip("\u200b\n\r\t\u00a0 "):
        return
    wanted = Sought(piece, accents=False)
    matches = list(find(text, finder(wanted)))
    bare = unicodedata.normalize("NFC", piece)
    assert all(0 <= start < end <= len(text) for start, end in matches)
    assert all(end <= start for (_, end), (start, _) in pairwise(matches))
    if not unicodedata.combining(bare.strip()[0]):
        assert matches


def test_covered():
    spans = Covered([(5, 9), (0, 3), (9, 12), (2, 4)])
    assert spans.wholly(0, 4) and spans.wholly(5, 12) and spans.wholly(6, 8)
    assert not spans.wholly(3, 6) and not spans.wholly(11, 13) and not spans.wholly(20, 21)
    assert spans.partly(3, 5) and spans.partly(11, 20)
    assert not spans.partly(4, 5) and not spans.partly(12, 13)
    assert not Covered([]).wholly(0, 1) and not Covered([]).partly(0, 1)


def test_the_words_around():
    text = "Il paziente Mario\r\nRossi, nato il 12 marzo a Torino."
    start = text.index("Rossi")
    assert list(around(text, (start, start + 5), width=12)) == ["… Mario ", "Rossi", ", nato il …"]
    assert list(around("Rossi", (0, 5))) == ["", "Rossi", ""]
