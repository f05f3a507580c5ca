import hashlib
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotations.text.characters import WHITE_SPACE, is_digit, is_word
from annotations.text.segments import CONTEXT, around, sentences
from annotations.text.spans import Token, estimated, split_at, tokenize
from tests.text.strategies import cases, texts, texts_with_spans
from tests.text.twins import snap
from tests.timing import takes_at_most

TABLE = cases("tokens.json")


def kind(code_point: int) -> str:
    if chr(code_point) in WHITE_SPACE:
        return " "
    return "W" if is_word(code_point) else "D" if is_digit(code_point) else "O"


@pytest.mark.parametrize("case", TABLE["tokenize"], ids=lambda case: case["what"])
def test_case(case: dict) -> None:
    assert tokenize(case["text"]) == [Token(*bounds) for bounds in case["tokens"]]


@pytest.mark.parametrize("case", TABLE["split"], ids=lambda case: case["what"])
def test_split_case(case: dict) -> None:
    tokens = [Token(*bounds) for bounds in case["tokens"]]
    assert split_at(tokens, case["at"]) == [Token(*bounds) for bounds in case["out"]]


@pytest.mark.parametrize("case", TABLE["snap"], ids=lambda case: case["what"])
def test_snap_case(case: dict) -> None:
    assert snap(tokenize(case["text"]), *case["range"]) == (None if case["out"] is None else tuple(case["out"]))


def test_every_code_point_has_the_kind_that_javascript_gives_it() -> None:
    assert hashlib.sha256("".join(map(kind, range(0x110000))).encode()).hexdigest() == TABLE["kinds_sha256"]


@pytest.mark.nightly
def test_the_frozen_tables_agree_with_python_where_python_knows_the_character() -> None:
    for code_point in range(0x110000):
        category = unicodedata.category(chr(code_point))
        if category != "Cn":
            assert is_word(code_point) == (category[0] in "LM"), hex(code_point)
            assert is_digit(code_point) == (category == "Nd"), hex(code_point)


def naive(text: str) -> list[Token]:
    """The tokens by the rule, character by character."""
    tokens: list[Token] = []
    for at, ch in enumerate(text):
        this = kind(ord(ch))
        if this == " ":
            continue
        before = tokens[-1] if tokens and tokens[-1].end == at else None
        if before is not None and this != "O" and kind(ord(text[at - 1])) == this:
            tokens[-1] = Token(before.start, at + 1)
        else:
            tokens.append(Token(at, at + 1))
    return tokens


@given(texts())
def test_tokens_follow_the_rule(text: str) -> None:
    for each in (text, "".join(f"a{white}" for white in sorted(WHITE_SPACE))):
        assert tokenize(each) == naive(each)


@given(texts(), st.lists(st.integers(-3, 80)))
def test_split_covers_the_same_text_and_crosses_no_boundary(text: str, boundaries: list[int]) -> None:
    tokens = tokenize(text)
    parts = split_at(tokens, boundaries)
    covered = [at for token in parts for at in range(token.start, token.end)]
    assert covered == [at for token in tokens for at in range(token.start, token.end)]
    assert not any(token.start < edge < token.end for token in parts for edge in boundaries)
    assert {token.start for token in parts} <= {token.start for token in tokens} | set(boundaries)


@given(texts(), st.integers(0, 80), st.integers(0, 20))
def test_snap_gives_the_hull_of_the_selected_tokens(text: str, start: int, length: int) -> None:
    tokens = tokenize(text)
    end = start + max(length, 1)
    touched = [token for token in tokens if token.start < end and start < token.end]
    expected = (touched[0].start, touched[-1].end) if touched else None
    assert snap(tokens, start, start + length) == expected


def test_speed() -> None:
    text = "Paciente varón de 53 años, NHC: 2569870; ingresa el 17/06/2016 por dolor.\n" * 1000
    # The aim is two megabytes per second. Half of it is enough here, because other tests run at the same time.
    assert takes_at_most(len(text.encode()) / 1_000_000, lambda: tokenize(text))


def test_the_estimate_is_near_and_not_too_low() -> None:
    """For all demo notes together. Batches are sized by this estimate."""
    texts = [file.read_text() for file in sorted(Path("fixtures/demo/notes").rglob("*.txt"))]
    exact, guess = sum(len(tokenize(text)) for text in texts), sum(estimated(len(text)) for text in texts)
    assert texts and exact <= guess <= 1.2 * exact
    assert estimated(0) == 1


# ── Sentences by one simple rule, with offsets in the original text ──────────────────────────────────────────────────


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
    text, spans = case
    past = 0
    for start, end in sentences(text):
        assert past <= start < end <= len(text) and not text[past:start].strip()
        past = end
    assert not text[past:].strip()
    # The context of a span contains the span.
    for span in spans:
        low, high = around(text, span.start, span.end)
        assert max(0, span.start - CONTEXT) <= low <= span.start
        assert span.end <= high <= min(len(text), span.end + CONTEXT)
    text = "Prima frase. Visto Mario Rossi ieri. Terza."
    assert text[slice(*around(text, 19, 30))] == "Visto Mario Rossi ieri."
    assert around("x" * 1000, 500, 501) == (340, 661)
