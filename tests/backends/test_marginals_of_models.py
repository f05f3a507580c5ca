"""Masking thresholds with real models: probabilities that add up, and masks that only grow as the threshold falls."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("torch")

from annotations.domain.combining.voting import Member, Method
from annotations.domain.scoring.operating import THRESHOLDS
from annotations.domain.spans import Span
from annotations.domain.tokens import covered, tokenize
from annotations.domain.whitespace import trim
from models_runtime.backends.bilstm_crf import training as bilstm
from models_runtime.backends.bilstm_crf.backend import BiLstmCrfBackend
from models_runtime.backends.crf import CrfBackend
from models_runtime.backends.crf import training as crf
from models_runtime.backends.ensemble import EnsembleBackend
from models_runtime.backends.learner import TrainingTask
from models_runtime.backends.marginals import ABOVE, Marginals, ThresholdBackend, is_added, spans_above
from models_runtime.backends.stacked import training as stacked
from models_runtime.backends.stacked.backend import StackedBackend
from models_runtime.backends.token_classification import TokenClassificationBackend
from models_runtime.backends.token_classification import training as transformer
from models_runtime.backends.token_classification.trained import TransformerBackend
from tests.backends.contract import HOSTILE
from tests.backends.made import made_notes
from tests.backends.made_vectors import as_word2vec_text, made_vectors
from tests.backends.made_weights import tiny_bert

pytestmark = pytest.mark.usefixtures("small_networks")
NOTES = made_notes(8)
LONG = {"one long word", "one long number", "lines of nothing"}
TEXTS = [*(text for text, _ in NOTES[:2]), *(text for name, text in HOSTILE.items() if name not in LONG)]
# Of the tagger: tags without a prefix, a single one, and a label that is ignored.
TAGS = ["O", "B-PER", "I-PER", "S-CITY", "DAY", "ORG"]
LABELS = {"PER": "NOMBRE_SUJETO_ASISTENCIA", "CITY": "TERRITORIO", "DAY": "FECHAS", "ORG": None}
SOURCE = f"m{ABOVE}0.1"
MODELS = ("crf", "bilstm", "stacked", "stacked without a CRF", "transformer", "tagger", "ensemble")


class Models:
    """Hardly trained models, which are unsure of most tokens; each is made when it is first needed."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._made = folder, {}

    def __getitem__(self, name):
        if name not in self._made:
            self._made[name] = getattr(self, name.split()[0])(name)
        return self._made[name]

    def crf(self, name):
        crf.train(NOTES, self._folder / "crf.zip", label_set="meddocan", iterations=3)
        return CrfBackend(str(self._folder / "crf.zip"))

    def bilstm(self, name):
        path = self._folder / "bilstm.zip"
        bilstm.learn(TrainingTask(NOTES, "meddocan", "quick", 2, grouping=2), path)
        return BiLstmCrfBackend(str(path))

    def stacked(self, name):
        path, words = self._folder / f"{len(name)}.zip", self._folder / "words.vec"
        forms = {text[token.start : token.end].lower() for text, _ in NOTES for token in tokenize(text)}
        as_word2vec_text(words, made_vectors(sorted(forms)))
        shape = {"hidden": 24, "batch": 4, "vocabulary": 3, "crf": name == "stacked"}
        parts = {"embeddings": [["words", "words.vec", str(words)]], "embeddings_folder": str(self._folder)}
        stacked.learn(TrainingTask(NOTES, "meddocan", iterations=4, settings=shape, **parts), path)
        return StackedBackend(str(path), str(self._folder))

    def transformer(self, name):
        path = self._folder / "transformer.zip"
        base = tiny_bert(self._folder / "bert", [text for text, _ in NOTES])
        transformer.learn(TrainingTask(NOTES, "meddocan", "fresh", 3, base=str(base)), path)
        return TransformerBackend(str(path))

    def tagger(self, name):
        folder = tiny_bert(self._folder / "tagger", [text for text, _ in NOTES], TAGS)
        return TokenClassificationBackend(str(folder), "meddocan", LABELS)

    def ensemble(self, name):
        members = [Member("crf", 1.0), Member("bilstm", 2.0), Member("transformer", 0.5)]
        backends = [self[member.name] for member in members]
        return EnsembleBackend(members, backends, method=Method.WEIGHTED, label_set="meddocan")


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    return Models(tmp_path_factory.mktemp("models"))


def characters(spans):
    return {at for span in spans for at in range(span.start, span.end)}


@pytest.mark.parametrize("name", MODELS)
def test_probabilities_of_all_labels_and_of_none_add_up_to_one(models, name, monkeypatch):
    backend, given_rows = models[name], []
    of_tags = Marginals.of_tags

    def spied(tokens, names, rows):
        found = of_tags(tokens, names, rows)
        given_rows.append((np.asarray(rows).reshape(len(tokens), len(names)), list(names), found))
        return found

    monkeypatch.setattr(Marginals, "of_tags", spied)
    read = backend.predict_marginals(TEXTS)
    assert len(given_rows) >= len(TEXTS) and max(len(rows) for rows, _, _ in given_rows) > 20
    for rows, names, found in given_rows:
        assert rows.sum(axis=1) == pytest.approx(np.ones(len(rows)), abs=1e-3)
        assert found.marked == pytest.approx(1 - rows[:, names.index("O")], abs=1e-3)
    alone = backend.predict(TEXTS)
    for text, (spans, marginals), plain in zip(TEXTS, read, alone, strict=True):
        assert spans == plain
        assert set(marginals.tokens) <= set(tokenize(text))
        assert marginals.shares.shape == (len(marginals.tokens), len(marginals.labels))
        assert ((marginals.shares >= 0) & (marginals.shares <= 1)).all() and (marginals.marked <= 1).all()
        if name == "ensemble":
            continue
        for span in spans:  # A tag is not likelier than its label, which has two of them.
            tokens = slice(*covered(marginals.tokens, span.start, span.end))
            assert span.confidence <= marginals.shares[tokens, marginals.labels.index(span.label)].min() + 1e-3


def test_an_ensemble_has_the_weighted_mean_of_its_members(models):
    text = TEXTS[0]
    ((_, mean),) = models["ensemble"].predict_marginals([text])
    assert list(mean.tokens) == tokenize(text)
    parts = [models[name].predict_marginals([text])[0][1] for name in ("crf", "bilstm", "transformer")]
    assert all(list(part.tokens) == tokenize(text) for part in parts)
    marked = (1.0 * parts[0].marked + 2.0 * parts[1].marked + 0.5 * parts[2].marked) / 3.5
    assert mean.marked == pytest.approx(marked, abs=1e-6)


@pytest.mark.parametrize("name", MODELS)
def test_a_lower_threshold_never_masks_less(models, name):
    backend = models[name]
    read, grown = backend.predict_marginals(TEXTS), 0
    for text, marked in zip(TEXTS, read, strict=True):
        spans, marginals = marked
        assert spans_above(text, marked, 1.0, SOURCE) == sorted(spans)
        at_each = [spans_above(text, marked, threshold, SOURCE) for threshold in sorted(THRESHOLDS, reverse=True)]
        for higher, lower in pairwise([spans, *at_each]):
            assert characters(higher) <= characters(lower)
            grown += characters(higher) < characters(lower)
        for threshold, found in zip(sorted(THRESHOLDS, reverse=True), at_each, strict=True):
            assert [span for span in found if not is_added(span.source)] == sorted(spans)
            masked = characters(found)
            for token, share in zip(marginals.tokens, marginals.marked, strict=True):
                assert share <= threshold or masked >= set(range(token.start, token.end)) - spaces(text)
    assert grown > 8, "the thresholds mask more and more, or this test shows nothing"
    at = ThresholdBackend(backend, THRESHOLDS[0])
    assert at.predict(TEXTS[:2]) == [spans_above(text, marked, at.threshold, f"{backend.name} above {at.threshold:g}")
                                     for text, marked in zip(TEXTS[:2], read[:2], strict=True)]  # fmt: skip


def spaces(text):
    """The places that a trimmed span never ends on."""
    return {at for at in range(len(text)) if trim(text, at, at + 1)[0] == trim(text, at, at + 1)[1]}


WORDS = st.sampled_from(["Anna", "Rossi", "di", "12", "/", "(", "Torino", "e\u0301", "👩‍⚕️", "a"])
GAPS = st.sampled_from(["", " ", "  ", "\n", "\r\n", "\t", "\u200b", "\xa0"])
PROBABILITY = st.floats(0, 1, allow_nan=False)


@st.composite
def marked_texts(draw):
    """A text, spans of a best path on its tokens, and probabilities of three labels."""
    text = "".join(word + gap for word, gap in draw(st.lists(st.tuples(WORDS, GAPS), max_size=12)))
    tokens = tokenize(text)
    rows = draw(st.lists(st.tuples(*[PROBABILITY] * 4), min_size=len(tokens), max_size=len(tokens)))
    shares = np.array(rows).reshape(len(tokens), 4)
    shares = shares / np.maximum(shares.sum(axis=1, keepdims=True), 1)
    spans = [Span(token.start, token.end, "A", 0.5, "m") for token in tokens if draw(st.integers(0, 4)) == 0]
    return text, (spans, Marginals(tokens, ("A", "B", "C"), shares[:, :3]))


@given(marked_texts(), st.floats(0.001, 0.999), st.floats(0.001, 0.999))
def test_masks_grow_and_confidences_are_the_lowest_probability_of_the_label(made, one, two):
    text, (spans, marginals) = made
    low, high = sorted((one, two))
    below, above = (spans_above(text, (spans, marginals), at, SOURCE) for at in (low, high))
    assert characters(spans) <= characters(above) <= characters(below)
    assert spans_above(text, (spans, marginals), 1.0, SOURCE) == spans
    assert all(before.end <= after.start for before, after in pairwise(below))
    for span in below:
        if not is_added(span.source):
            continue
        assert trim(text, span.start, span.end) == (span.start, span.end)
        inside = slice(*covered(marginals.tokens, span.start, span.end))
        own = marginals.shares[inside, marginals.labels.index(span.label)]
        assert span.confidence == round(float(own.min()), 4)
        assert (marginals.marked[inside] > low).all()
        assert (own == marginals.shares[inside].max(axis=1)).all()
