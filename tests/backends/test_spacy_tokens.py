"""spaCy's tokenizer for the tokens of notes: offsets, white space, long runs, languages."""

import pytest
import spacy
from hypothesis import given
from hypothesis import strategies as st

from annotations.domain.tokens import TokenizerError
from annotations.domain.whitespace import WHITE_SPACE
from models_runtime.backends.spacy_tokens import tokenizer_of
from tests.timing import takes_at_most

ITALIAN = tokenizer_of("it")


def words(text: str, language: str = "it") -> list[str]:
    return [text[token.start : token.end] for token in tokenizer_of(language)(text)]


def test_tokens_as_in_catelli_2021_table_4_19() -> None:
    text = "Paziente di 47aa, 12.02.2020, Unità di terapia intensiva.\n GambiaHome"
    assert words(text) == [
        *("Paziente", "di", "47aa", ",", "12.02.2020", ",", "Unità", "di", "terapia", "intensiva", ".", "GambiaHome"),
    ]


def test_each_language_has_its_own_rule() -> None:
    assert words("l'ospedale", "it") == ["l'", "ospedale"]
    assert words("don't", "en") == ["do", "n't"]
    assert words("don't", "it") != ["do", "n't"]


def test_a_region_and_an_empty_code() -> None:
    assert words("don't", "en-US") == ["do", "n't"]
    assert words("Anna Neri", "") == ["Anna", "Neri"]


@pytest.mark.parametrize("code", ["zz", "../it", "x" * 500])
def test_an_unknown_language_is_refused(code: str) -> None:
    with pytest.raises(TokenizerError, match="spaCy has no tokenizer for the language"):
        tokenizer_of(code)


@given(st.text(alphabet=st.sampled_from("ab1é. ,'-/()@\n\r\t\u200b\ufeff\u2028\U0001f9d1"), max_size=60))
def test_tokens_are_in_order_inside_the_text_and_never_white(text: str) -> None:
    at = 0
    for token in ITALIAN(text):
        assert at <= token.start < token.end <= len(text)
        assert text[token.start] not in WHITE_SPACE and text[token.end - 1] not in WHITE_SPACE
        assert not text[at : token.start].strip("".join(WHITE_SPACE))
        at = token.end
    assert not text[at:].strip("".join(WHITE_SPACE))


@pytest.mark.parametrize("run", ["." * 50_000, "_-" * 25_000, "a" * 200_000])
def test_long_runs_are_cut(run: str) -> None:
    """Uncut, spaCy's time grows with the square of a run's length."""
    text = f"Anna {run} Neri"
    assert takes_at_most(10, lambda: ITALIAN(text))
    tokens = ITALIAN(text)
    assert (tokens[0].end, tokens[-1].start) == (4, len(run) + 6)
    assert max(token.end - token.start for token in tokens) <= 201


def test_words_of_earlier_texts_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    made = spacy.blank("it")
    monkeypatch.setattr(spacy, "blank", lambda code: made)
    tokenizer = tokenizer_of("it")
    tokenizer("Anna")
    known = len(made.vocab.strings)
    tokenizer(" ".join(f"nome{number}" for number in range(1000)))
    assert len(made.vocab.strings) == known
