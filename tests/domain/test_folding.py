"""Folded text, and the way back to the text's own offsets."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotations.domain.folding import WORD, Folded, all_words, folded, plain_words, words
from tests.domain.strategies import texts


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ADAM Wilson", "adam wilson"),
        ("Peña", "pena"),
        ("Pen\u0303a", "pena"),
        ("Gar\u00adcía", "garcia"),  # a soft hyphen
        ("Łukasz Ødegård", "lukasz odegard"),
        ("Weiß", "weiss"),
        ("ﬁne", "fine"),
        ("İnci", "inci"),
        ("O’Neill", "o'neill"),
    ],
)
def test_case_accents_and_invisible_characters_go(text: str, expected: str) -> None:
    assert folded(text) == expected


def test_words_are_runs_of_letters_or_of_digits() -> None:
    assert words("C/ Peña_12b") == ("c", "pena", "12", "b")


@given(texts())
def test_folding_character_by_character_gives_the_same_length(text: str) -> None:
    assert len(folded(text)) == sum(len(folded(character)) for character in text)


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_a_long_text_folds_as_its_short_parts(text: str) -> None:
    assert folded("x" * 200 + text) == "x" * 200 + folded(text[:100]) + folded(text[100:])


@given(texts())
def test_words_of_a_folded_text(text: str) -> None:
    whole = folded(text)
    assert all_words(whole) == WORD.findall(whole)
    assert set(plain_words(whole)) >= {word for word in all_words(whole) if word.isascii()}


@given(texts(), st.data())
def test_a_stretch_of_the_folded_text_comes_from_its_place(text: str, data: st.DataObject) -> None:
    whole = Folded(text)
    if not whole.text:
        return
    start = data.draw(st.integers(0, len(whole.text) - 1))
    end = data.draw(st.integers(start + 1, len(whole.text)))
    first, last = whole.original_bounds(start, end)
    assert 0 <= first < last <= len(text)
    assert len(folded(text[:first])) <= start
    assert end <= len(folded(text[:last]))


def test_bounds_are_those_of_the_text_where_folding_changes_lengths() -> None:
    text = "ß Weiß Pen\u0303a\u0301 end"
    whole = Folded(text)
    for word, original in (("weiss", "Weiß"), ("pena", "Pen\u0303a\u0301"), ("end", "end")):
        at = whole.text.index(word)
        start, end = whole.original_bounds(at, at + len(word))
        assert text[start:end] == original
