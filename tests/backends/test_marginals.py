"""Spans at a masking threshold: neighbors, labels, confidence, ensembles, and what stays as it is."""

import numpy as np
import pytest

from annotations.domain.combining.voting import Member, Method
from annotations.domain.spans import Span
from annotations.domain.tokens import tokenize
from models_runtime.backends.base import BackendError
from models_runtime.backends.ensemble import EnsembleBackend
from models_runtime.backends.marginals import Marginals, ThresholdBackend, is_added, revision_without, spans_above

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


def test_a_text_without_tokens_has_no_spans():
    assert spans_above(" \n", ([], Marginals.of_tags([], ("O", "B-NAME"), [])), 0.05, "") == []


def test_probabilities_of_b_and_i_of_a_label_are_added_up():
    read = Marginals.of_tags(tokenize("Anna"), ("O", "B-NAME", "I-NAME", "B-CITY"), [[0.5, 0.2, 0.2, 0.1]])
    assert read.labels == LABELS
    assert read.shares.round(6).tolist() == [[0.1, 0.4]]
    assert read.marked.round(6).tolist() == [0.5]


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
    members = [Member(backend.name, weight) for backend, weight in zip(backends, weights, strict=True)]
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
    assert spans[1].confidence == pytest.approx(0.1)
    assert next(read.stream([text])) == spans
    assert ThresholdBackend(ensemble(one, two), 0.1).predict([text])[0] == spans[:1]
    heavier = ensemble(one, two, method=Method.WEIGHTED, weights=(3.0, 1.0))
    assert ThresholdBackend(heavier, 0.1).predict([text])[0][1].confidence == pytest.approx(0.15)


def test_a_member_without_probabilities_is_an_error():
    member = Given("two", [])
    member.predict_marginals = None
    backends = [Given("one", []), type("Plain", (), {"predict": member.predict, "revision": "1", "labels": LABELS})()]
    whole = EnsembleBackend([Member("one"), Member("two")], backends, method=Method.UNION, label_set="i2b2-2014")
    with pytest.raises(BackendError, match="gives no probabilities"):
        ThresholdBackend(whole, 0.05).predict(["Anna"])


def test_the_revision_names_the_threshold():
    read = ThresholdBackend(Given("one", []), 0.05)
    assert read.revision == "1-one-above-0.05"
    assert revision_without(read.revision) == "1-one"
    assert not hasattr(read, "device")
    with pytest.raises(TypeError, match="gives no probabilities"):
        ThresholdBackend(type("Plain", (), {"name": "plain"})(), 0.05)
