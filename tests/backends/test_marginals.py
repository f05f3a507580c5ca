"""Spans at a masking threshold: neighbors, labels, confidence, ensembles, and what stays as it is."""

from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("torch")

from annotations.text.combining import Method, VotingModel
from annotations.text.spans import Span, covered, tokenize, trim
from models_runtime.backends.base import BackendError
from models_runtime.backends.bilstm_crf import training as bilstm
from models_runtime.backends.bilstm_crf.backend import BiLstmCrfBackend
from models_runtime.backends.crf import CrfBackend
from models_runtime.backends.crf import training as crf
from models_runtime.backends.ensemble import EnsembleBackend
from models_runtime.backends.learner import TrainingTask
from models_runtime.backends.marginals import (
    ABOVE,
    Marginals,
    ThresholdBackend,
    is_added,
    revision_without,
    spans_above,
)
from models_runtime.backends.token_classification import TokenClassificationBackend
from models_runtime.backends.token_classification import training as transformer
from models_runtime.backends.token_classification.backend import TransformerBackend
from tests.backends.contract import HOSTILE
from tests.backends.made import made_notes
from tests.backends.made_vectors import as_word2vec_text, made_vectors
from tests.backends.made_weights import tiny_bert

LABELS = ("CITY", "NAME")


def marginals(text, **shares):
    """Probabilities of CITY and NAME at the named tokens of a text; 0 at the others."""
    tokens = tokenize(text)
    rows = [shares.get(text[token.start : token.end], (0.0, 0.0)) for token in tokens]
    return Marginals(tokens, LABELS, np.array(rows).reshape(len(tokens), 2))


def found(text, spans, threshold, **shares):
    return [
        (text[span.start : span.end], span.label, span.confidence)
        for span in spans_above(text, (spans, marginals(text, **shares)), threshold, "m above")
    ]


BEST = Span(0, 4, "NAME", 0.9, "m")


@pytest.mark.parametrize(
    ("text", "shares", "added"),
    [
        # Neighbors with the same label are one span; its confidence is the lowest probability of the label.
        ("Anna vide Luca Rossi", {"Luca": (0, 0.3), "Rossi": (0.02, 0.1)}, [("Luca Rossi", "NAME", 0.1)]),
        # The sum over the labels counts, and the most probable label names the span.
        ("Anna vide Torino", {"Torino": (0.04, 0.03)}, [("Torino", "CITY", 0.04)]),
        # Of equally probable labels, the first by name.
        ("Anna vide Torino", {"Torino": (0.04, 0.04)}, [("Torino", "CITY", 0.04)]),
        # Neighbors with different labels are two spans.
        ("Anna vide Luca Bari", {"Luca": (0, 0.3), "Bari": (0.3, 0)}, [("Luca", "NAME", 0.3), ("Bari", "CITY", 0.3)]),
        # A span never continues over a line break.
        ("Anna vide Ugo\nDi", {"Ugo": (0, 0.3), "Di": (0, 0.2)}, [("Ugo", "NAME", 0.3), ("Di", "NAME", 0.2)]),
        # Beside a span of the best path, it is a span of its own.
        ("Anna Rossi", {"Rossi": (0, 0.2)}, [("Rossi", "NAME", 0.2)]),
        # Exactly the threshold is not above it.
        ("Anna vide Luca", {"Luca": (0, 0.05)}, []),
        # A token of a span of the best path is never added, whatever its probabilities.
        ("Anna vide", {"Anna": (0.9, 0.1)}, []),
        # A probability that can't be computed adds nothing.
        ("Anna vide", {"vide": (float("nan"), float("nan"))}, []),
    ],
)  # fmt: skip
def test_tokens_above_the_threshold_are_suggested_beside_the_best_path(text, shares, added):
    assert found(text, [BEST], 0.05, **shares) == [("Anna", "NAME", 0.9), *added]


def test_probabilities_of_b_and_i_of_a_label_are_added_up():
    read = Marginals.of_tags(tokenize("Anna"), ("O", "B-NAME", "I-NAME", "B-CITY"), [[0.5, 0.2, 0.2, 0.1]])
    assert read.labels == LABELS and read.shares.round(6).tolist() == [[0.1, 0.4]]
    assert read.marked.round(6).tolist() == [0.5]
    assert spans_above(" \n", ([], Marginals.of_tags([], ("O", "B-NAME"), [])), 0.05, "") == []


class Given:
    """A backend with fixed probabilities."""

    label_set, labels = "i2b2-2014", LABELS

    def __init__(self, name, spans, **shares):
        self.name, self.revision, self._spans, self._shares = name, f"1-{name}", spans, shares

    def predict(self, texts):
        return [list(self._spans) for _ in texts]

    def predict_marginals(self, texts):
        return [(list(self._spans), marginals(text, **self._shares)) for text in texts]


def ensemble(*backends, method=Method.MAJORITY, weights=(1.0, 1.0)):
    members = [VotingModel(backend.name, weight) for backend, weight in zip(backends, weights, strict=True)]
    return EnsembleBackend(members, backends, method=method, label_set="i2b2-2014")


def test_an_ensemble_reads_the_mean_of_its_members():
    text = "Anna vide Luca"
    one, two = Given("one", [BEST], Luca=(0, 0.2)), Given("two", [BEST], Luca=(0, 0.0))
    read = ThresholdBackend(ensemble(one, two), 0.05)
    (spans,) = read.predict([text])
    assert [(span.start, span.label, is_added(span.source)) for span in spans] == [
        (0, "NAME", False),
        (10, "NAME", True),
    ]
    assert spans[1].confidence == pytest.approx(0.1) and next(read.stream([text])) == spans
    assert ThresholdBackend(ensemble(one, two), 0.1).predict([text])[0] == spans[:1]
    heavier = ensemble(one, two, method=Method.WEIGHTED, weights=(3.0, 1.0))
    assert ThresholdBackend(heavier, 0.1).predict([text])[0][1].confidence == pytest.approx(0.15)


def test_a_member_without_probabilities_is_an_error():
    plain = SimpleNamespace(name="plain", predict=Given("two", []).predict, revision="1", labels=LABELS)
    members = [VotingModel("one"), VotingModel("two")]
    whole = EnsembleBackend(members, [Given("one", []), plain], method=Method.UNION, label_set="i2b2-2014")
    with pytest.raises(BackendError, match="gives no probabilities"):
        ThresholdBackend(whole, 0.05).predict(["Anna"])
    with pytest.raises(TypeError, match="gives no probabilities"):
        ThresholdBackend(plain, 0.05)


def test_the_revision_names_the_threshold():
    read = ThresholdBackend(Given("one", []), 0.05)
    assert (read.revision, revision_without(read.revision)) == ("1-one-above-0.05", "1-one")
    assert not hasattr(read, "device")


pytestmark = pytest.mark.usefixtures("small_networks")
NOTES = made_notes(5)
LONG = {"one long word", "one long number", "lines of nothing", "crlf", "cr alone"}
TEXTS = [*(text for text, _ in NOTES[:2]), *(text for name, text in HOSTILE.items() if name not in LONG)]
# Of the tagger: tags without a prefix, a single one, and a label that is ignored.
TAGS = ["O", "B-PER", "I-PER", "S-CITY", "DAY", "ORG"]
MAPPED = {"PER": "NOMBRE_SUJETO_ASISTENCIA", "CITY": "TERRITORIO", "DAY": "FECHAS", "ORG": None}
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
        crf.learn(TrainingTask(NOTES, "meddocan", iterations=3), self._folder / "crf.zip")
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
        bilstm.learn_stacked(TrainingTask(NOTES, "meddocan", iterations=4, settings=shape, **parts), path)
        return BiLstmCrfBackend(str(path), str(self._folder))

    def transformer(self, name):
        path = self._folder / "transformer.zip"
        base = tiny_bert(self._folder / "bert", [text for text, _ in NOTES])
        transformer.learn(TrainingTask(NOTES, "meddocan", "fresh", 3, base=str(base)), path)
        return TransformerBackend(str(path))

    def tagger(self, name):
        folder = tiny_bert(self._folder / "tagger", [text for text, _ in NOTES], TAGS)
        return TokenClassificationBackend(str(folder), "meddocan", MAPPED)

    def ensemble(self, name):
        members = [VotingModel("crf", 1.0), VotingModel("bilstm", 2.0), VotingModel("transformer", 0.5)]
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
    for text, (spans, marginals), plain in zip(TEXTS, read, backend.predict(TEXTS), strict=True):
        shares = marginals.shares
        assert spans == plain and set(marginals.tokens) <= set(tokenize(text))
        assert shares.shape == (len(marginals.tokens), len(marginals.labels))
        assert ((shares >= 0) & (shares <= 1)).all() and (marginals.marked <= 1).all()
        for span in spans if name != "ensemble" else ():  # A tag is not likelier than its label, which has two of them.
            tokens = slice(*covered(marginals.tokens, span.start, span.end))
            assert span.confidence <= shares[tokens, marginals.labels.index(span.label)].min() + 1e-3


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
        assert span.confidence == round(float(own.min()), 4) and (marginals.marked[inside] > low).all()
        assert (own == marginals.shares[inside].max(axis=1)).all()
