"""Pipelines trained elsewhere: contract, parts of texts, label maps, scores; tokens of notes by spaCy's tokenizer."""

from pathlib import Path

import pytest
import spacy
from hypothesis import given
from hypothesis import strategies as st
from spacy.tokens import Doc, Span, SpanGroup

from annotations.text.characters import WHITE_SPACE
from annotations.text.spans import TokenizerError
from models_runtime.backends import BackendError
from models_runtime.backends.spacy_pipeline import MOST, PipelineBackend, _entities, _parts, tokenizer_of
from tests.backends.contract import HOSTILE, BackendContract
from tests.backends.made import made_pipeline
from tests.timing import takes_at_most

MAP = {"PER": "PATIENT", "LOC": "CITY", "MISC": None}


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_pipeline(tmp_path_factory.mktemp("pipelines") / "small")


@pytest.fixture(scope="module")
def loaded(path: Path) -> PipelineBackend:
    return PipelineBackend(str(path), labels=MAP, label_set="i2b2-2014")


class TestPipelineContract(BackendContract):
    words = "Paziente Rita Neri, di Madrid e Torino.\n"


def test_labels_are_mapped_and_labels_mapped_to_none_are_left_out(loaded: PipelineBackend, path: Path) -> None:
    (found,) = loaded.predict(["Rita Neri, di Madrid, con Covid.\n"])
    shown = [(span.start, span.end, span.label, span.confidence) for span in found]
    assert shown == [(0, 9, "PATIENT", None), (14, 20, "CITY", None)] and loaded.labels == ("CITY", "PATIENT")
    other, same = (
        PipelineBackend(str(path), labels=labels, label_set="i2b2-2014") for labels in (MAP | {"PER": "DOCTOR"}, MAP)
    )
    assert other.revision != loaded.revision == same.revision


def test_a_label_that_the_map_lacks_and_a_missing_pipeline_are_errors(path: Path, tmp_path: Path) -> None:
    for place, words in ((path, "“LOC”"), (tmp_path / "none", "pipeline “none” can't be loaded")):
        with pytest.raises(BackendError, match=words) as caught:
            PipelineBackend(str(place), labels={"PER": "PATIENT"}, label_set="i2b2-2014").predict(["A Madrid."])
        assert caught.value.permanent


@pytest.mark.parametrize("text", [*HOSTILE.values(), "a b\n" * 30_000, "=" * 5_000, "x" * (MOST * 2 + 7)])
def test_the_parts_cover_a_whole_text(text: str) -> None:
    parts = list(_parts(text))
    assert "".join(text[start:end] for start, end in parts) == text
    assert all(0 < end - start <= MOST for start, end in parts) or parts == [(0, 0)]


def test_spans_of_a_span_categorizer_come_with_their_scores() -> None:
    doc = Doc(spacy.blank("it").vocab, words=["Rita", "Neri"], spaces=[True, False])
    doc.spans["sc"] = SpanGroup(doc, spans=[Span(doc, 0, 2, "PER")], attrs={"scores": [0.75]})
    assert list(_entities(doc)) == [(0, 9, "PER", 0.75)]


ITALIAN = tokenizer_of("it")


def words(text: str, language: str = "it") -> list[str]:
    return [text[token.start : token.end] for token in tokenizer_of(language)(text)]


def test_tokens_as_in_catelli_2021_table_4_19() -> None:
    text = "Paziente di 47aa, 12.02.2020, Unità di terapia intensiva.\n GambiaHome"
    assert words(text) == [
        *("Paziente", "di", "47aa", ",", "12.02.2020", ",", "Unità", "di", "terapia", "intensiva", ".", "GambiaHome")
    ]


def test_each_language_has_its_own_rule() -> None:
    assert words("l'ospedale", "it") == ["l'", "ospedale"] and words("don't", "it") != ["do", "n't"]
    for code in ("en", "en-US"):
        assert words("don't", code) == ["do", "n't"]
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
