"""Sentences by one simple rule, with offsets in the original text."""

import pytest
from hypothesis import given

from annotations.domain.sentences import CONTEXT, around, sentences
from tests.domain.strategies import texts_with_spans

CASES = [
    ("", []),
    (" \n\r\n ", []),
    ("Una riga\naltra riga", ["Una riga", "altra riga"]),
    ("Visto il dott. Bianchi. Dimesso.", ["Visto il dott. Bianchi.", "Dimesso."]),
    ("M. Rossi va. Torna? Sì!", ["M. Rossi va.", "Torna?", "Sì!"]),
    ("Peso 3.5 kg. alle ore 10. Poi", ["Peso 3.5 kg. alle ore 10.", "Poi"]),
    ("1. Anamnesi\r\n2. Esame.", ["1. Anamnesi", "2. Esame."]),
    ("Fine.\nminuscola dopo.", ["Fine.", "minuscola dopo."]),
    ("Dice «basta.» Poi (tace.) Infine", ["Dice «basta.»", "Poi (tace.)", "Infine"]),
]


@pytest.mark.parametrize("text, expected", CASES)
def test_cases(text: str, expected: list[str]) -> None:
    assert [text[start:end] for start, end in sentences(text)] == expected


@given(texts_with_spans())
def test_sentences_contain_every_visible_character_once(case: tuple[str, list]) -> None:
    text, _ = case
    past, kept = 0, []
    for start, end in sentences(text):
        assert past <= start < end <= len(text)
        assert not text[past:start].strip()
        kept.append(text[start:end])
        past = end
    assert not text[past:].strip()


@given(texts_with_spans())
def test_the_context_of_a_span_contains_the_span(case: tuple[str, list]) -> None:
    text, spans = case
    for span in spans:
        low, high = around(text, span.start, span.end)
        assert 0 <= low <= span.start and span.end <= high <= len(text)
        assert span.start - low <= CONTEXT and high - span.end <= CONTEXT


def test_the_context_is_the_sentence() -> None:
    text = "Prima frase. Visto Mario Rossi ieri. Terza."
    low, high = around(text, 19, 30)
    assert text[low:high] == "Visto Mario Rossi ieri."
    assert around("x" * 1000, 500, 501) == (340, 661)
