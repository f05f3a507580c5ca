"""Folded text, and the way back to the text's own offsets."""

import unicodedata
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotations.text import search
from tests.text.strategies import texts

FOLDED = [
    ("ADAM Wilson", "adam wilson"), ("Peña", "pena"), ("Pen\u0303a", "pena"),
    ("Gar\u00adcía", "garcia"),  # a soft hyphen
    ("Łukasz Ødegård", "lukasz odegard"), ("Weiß", "weiss"), ("ﬁne", "fine"), ("İnci", "inci"), ("O’Neill", "o'neill"),
    ("Ga\u200erc\u2066ía\ufe0f\U000e0041", "garcia"),  # other characters without width
    ("Аguilеra", "aguilera"), ("Νavarro", "navarro"), ("ВЕРА", "bepa"), ("вера", "bepa"),  # Cyrillic and Greek
    ("ⱥƀᴀ 𝐀", "aba a"), ("٩1५", "915"), ("Ωμ漢", "ωm漢"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), FOLDED)
def test_case_accents_and_invisible_characters_go(text: str, expected: str) -> None:
    assert search.folded(text) == expected


@given(texts())
def test_folding_character_by_character_gives_the_same_length(text: str) -> None:
    whole = search.folded(text)
    assert len(whole) == sum(len(search.folded(character)) for character in text)
    assert search.all_words(whole) == search.WORD.findall(whole)
    assert set(search.plain_words(whole)) >= {word for word in search.all_words(whole) if word.isascii()}
    assert search.words("C/ Peña_12b") == ("c", "pena", "12", "b")


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_a_long_text_folds_as_its_short_parts(text: str) -> None:
    assert search.folded("x" * 200 + text) == "x" * 200 + search.folded(text[:100]) + search.folded(text[100:])


@given(texts(), st.data())
def test_a_stretch_of_the_folded_text_comes_from_its_place(text: str, data: st.DataObject) -> None:
    whole = search.FoldableText(text)
    if not whole.text:
        return
    start = data.draw(st.integers(0, len(whole.text) - 1))
    end = data.draw(st.integers(start + 1, len(whole.text)))
    first, last = whole.original_bounds(start, end)
    assert 0 <= first < last <= len(text) and len(search.folded(text[:first])) <= start
    assert end <= len(search.folded(text[:last]))


def test_bounds_are_those_of_the_text_where_folding_changes_lengths() -> None:
    text = "ß Weiß Pen\u0303a\u0301 end"
    whole = search.FoldableText(text)
    for word, original in (("weiss", "Weiß"), ("pena", "Pen\u0303a\u0301"), ("end", "end")):
        at = whole.text.index(word)
        start, end = whole.original_bounds(at, at + len(word))
        assert text[start:end] == original


# ── Text search in notes ─────────────────────────────────────────────────────────────────────────────────────────────


LETTERS = "aAeéÉE\u0301\u0308nñiİıIßsSkK\u212a 12-.*[(\\\n\r\t\u00a0\u200b\U0001f600"


def found(sought: str, text: str, **how: bool) -> list[str]:
    wanted = search.Sought(sought, **how)
    return [text[start:end] for start, end in search.find(text, search.finder(wanted), word=wanted.word)]


SEARCHES = [
    ("rossi", "Mario ROSSI, Rossini", {}, ["ROSSI", "Rossi"]),  # case doesn't matter, and parts of words match
    ("Rossi", "ROSSI Rossi", {"case": True}, ["Rossi"]),
    ("rossi", "Rossi Rossini 2Rossi Rossi2 Rossi.", {"word": True}, ["Rossi", "Rossi"]),
    ("12", "12 112 12a 1,12", {"word": True}, ["12", "12"]), ("jose", "José", {}, []),
    ("jose", "José JOSÉ Jose\u0301 jose", {"accents": False}, ["José", "JOSÉ", "Jose\u0301", "jose"]),
    ("josé", "jose", {"accents": False}, ["jose"]),
    ("josé", "Jose\u0301 JOSÉ jose", {}, ["Jose\u0301", "JOSÉ"]),  # both encodings of é are equal
    ("Jose\u0301", "José", {}, ["José"]),
    ("cafe", "cafe\u0301 cafe", {}, ["cafe"]),  # a letter without its accent mark doesn't match
    ("mario rossi", "Mario\r\n  Rossi", {}, ["Mario\r\n  Rossi"]),  # a name over a line break
    ("a.b", "axb a.b", {}, ["a.b"]),  # not a regular expression
    ("[", "a[b", {}, ["["]), ("\U0001f600", "x\U0001f600x", {}, ["\U0001f600"]),
    ("محمد", "السيد محمد علي", {}, ["محمد"]), ("עברית", "שלום עברית", {"word": True}, ["עברית"]),
    ("aa", "aaaa", {}, ["aa", "aa"]),  # matches don't overlap
    ("  rossi\n", "Rossi", {}, ["Rossi"]),
]  # fmt: skip


@pytest.mark.parametrize("sought, text, how, expected", SEARCHES)
def test_table(sought, text, how, expected):
    assert found(sought, text, **how) == expected


@given(st.text(LETTERS, max_size=12), st.text(LETTERS, min_size=1, max_size=4), st.text(LETTERS, max_size=12))
def test_a_piece_of_a_text_is_found_where_it_is(before, piece, after):
    """Without regard to accents there is always a match, possibly one that starts before the piece."""
    text = before + piece + after
    if not piece.strip("\u200b\n\r\t\u00a0 "):
        return
    matches = list(search.find(text, search.finder(search.Sought(piece, accents=False))))
    bare = unicodedata.normalize("NFC", piece)
    assert all(0 <= start < end <= len(text) for start, end in matches)
    assert all(end <= start for (_, end), (start, _) in pairwise(matches))
    if not unicodedata.combining(bare.strip()[0]):
        assert matches


def test_covered():
    spans = search.CoveredParts([(5, 9), (0, 3), (9, 12), (2, 4)])
    wholly = [spans.wholly(*bounds) for bounds in ((0, 4), (5, 12), (6, 8), (3, 6), (11, 13), (20, 21))]
    partly = [spans.partly(*bounds) for bounds in ((3, 5), (11, 20), (4, 5), (12, 13))]
    assert (wholly, partly) == ([True] * 3 + [False] * 3, [True, True, False, False])
    assert not search.CoveredParts([]).wholly(0, 1) and not search.CoveredParts([]).partly(0, 1)
    for nothing in ("", "  ", "\n\u200b"):
        with pytest.raises(ValueError, match="empty"):
            search.finder(search.Sought(nothing))


def test_the_words_around():
    text = "Il paziente Mario\r\nRossi, nato il 12 marzo a Torino."
    start = text.index("Rossi")
    assert list(search.around(text, (start, start + 5), width=12)) == ["… Mario ", "Rossi", ", nato il …"]
    assert list(search.around("Rossi", (0, 5))) == ["", "Rossi", ""]


# ── Signatures, by which a search passes over notes ──────────────────────────────────────────────────────────────────


def may_match(texts: list[str], wanted: search.Sought) -> list[bool]:
    """Whether each text has all grams of a search text, as a search decides."""
    size = len(texts) + -len(texts) % 8
    shift, table = search.signatures(texts, size)
    rows = [(hashed >> shift) * size // 8 for hashed in search.grams(wanted)]
    return [all(table[row + at // 8] >> at % 8 & 1 for row in rows) for at in range(len(texts))]


HOW = st.fixed_dictionaries({"case": st.booleans(), "accents": st.booleans(), "word": st.booleans()})


@given(
    st.text(LETTERS + "ßſςΣσﬁǅΐ한नि\u0345\u00ad", min_size=1, max_size=9), st.text(LETTERS, max_size=40), HOW, st.data()
)
def test_a_text_with_a_match_is_not_passed_over(piece, rest, how, data):
    spelled = data.draw(st.sampled_from([str, str.upper, str.lower, str.title, nfc, nfd, str.casefold]))
    text = rest + spelled(piece) + rest
    if piece.strip() and found(piece, text, **how):
        assert may_match([text], search.Sought(piece, **how)) == [True]


def nfc(text: str) -> str:
    return unicodedata.normalize("NFC", text)


def nfd(text: str) -> str:
    return unicodedata.normalize("NFD", text)


@pytest.mark.parametrize("accents", [True, False])
def test_no_spelling_of_a_letter_is_passed_over(accents):
    letters = [one for one in map(chr, range(0x80, 0x2000)) if one.lower() != one or nfd(one) != one]
    for letter in letters:
        wanted = search.Sought(f"ab{letter}cd", accents=accents)
        spellings = {
            letter, letter.lower(), letter.upper(), letter.title(), letter.casefold(), nfd(letter), nfd(letter)[0],
        }  # fmt: skip
        texts = [f"AB{spelling}cD" for spelling in spellings]
        matching = [text for text in texts if next(search.find(text, search.finder(wanted)), None)]
        assert all(may_match(matching, wanted)), letter


def test_texts_without_the_search_text_are_passed_over():
    texts = ["Mario Rossi, 54 anni", "MARIO\nRÓSSI", "Ross i", "ro-ssi " * 500, "", "r"]
    assert may_match(texts, search.Sought("rossi")) == [True, True, False, False, False, False]
    assert may_match(texts, search.Sought("xy rossi zw")) == [True, True, False, False, False, False]
    assert not search.grams(search.Sought("ab cd")), "too short: every text may match"
    many = [f"Patient {number * 7919 % 100_003:05} was seen in clinic" for number in range(1000)]
    assert sum(may_match(many, search.Sought(many[500][8:13]))) < 20
