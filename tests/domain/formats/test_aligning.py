import pytest
from hypothesis import given

from annotations.domain.formats.aligning import align, blank, rebuilt
from annotations.domain.tokens import Token, tokenize
from tests.domain.strategies import texts


@given(texts())
def test_tokens_are_found_where_they_were(text: str) -> None:
    tokens = tokenize(text)
    found = align(text, [text[token.start : token.end] for token in tokens])
    assert (found.tokens, found.missing, found.changed) == (tokens, None, [])
    assert blank(text, found.at)


@pytest.mark.parametrize(
    ("text", "word", "end"),
    [
        ("(A)", "-LRB-A-RRB-", 3),
        ("[A]", "-lsb-A-rsb-", 3),
        ("“A”", "``A''", 3),
        ('"A"', "``A''", 3),
        ("''A", "``A", 3),
        ("it’s", "it's", 4),
        ("1/2", "1\\/2", 3),
        ("a…", "a...", 2),
        ("a–b", "a--b", 3),
        ("New\n York", "New York", 9),
        ("NewYork", "New York", 7),
        ("-LRB-", "-LRB-", 5),
    ],
)
def test_tokens_written_in_another_way(text: str, word: str, end: int) -> None:
    found = align(text + " b", [word, "b"])
    assert found.missing is None
    assert found.tokens == [Token(0, end), Token(end + 1, end + 2)]


def test_the_first_word_that_does_not_follow() -> None:
    found = align("a b c", ["a", "c", "b"])
    assert (found.tokens, found.missing, found.at) == ([Token(0, 1)], 1, 1)
    assert not blank("a b c", found.at)


def test_characters_that_nobody_sees_are_free() -> None:
    assert align("\ufeffa\x01\u200db", ["a", "b"]).tokens == [Token(1, 2), Token(4, 5)]
    assert align("a\x01b", ["a", "\x01", "b"]).tokens == [Token(0, 1), Token(1, 2), Token(2, 3)]


def test_a_text_of_tokens() -> None:
    assert rebuilt([["Dr.", "Neri"], ["Via"]]) == ("Dr. Neri\nVia", [Token(0, 3), Token(4, 8), Token(9, 12)])
    assert rebuilt([]) == ("", [])
