"""The ensemble: contract, and counting of votes."""

import re

import pytest

from annotations.text.combining import Method, VotingModel
from annotations.text.spans import Span
from models_runtime.backends import Backend
from models_runtime.backends.ensemble import EnsembleBackend
from models_runtime.backends.rules import RulesBackend
from tests.backends.contract import PLAIN, BackendContract


class Finds:
    """Finds a word, with a label."""

    name, revision, label_set = "marks", "1", "meddocan"

    def __init__(self, word: str, label: str) -> None:
        self.word, self.labels = word, (label,)

    def predict(self, texts):
        found = [(text, text.find(self.word)) for text in texts]
        return [[Span(at, at + len(self.word), self.labels[0], 0.8, "mark")] if at >= 0 else [] for text, at in found]

    def stream(self, texts):
        return (self.predict([text])[0] for text in texts)


def ensemble(*backends: Backend, method: Method = Method.MAJORITY, **options: object) -> EnsembleBackend:
    members = options.pop("members", None) or [VotingModel(f"m{at}") for at in range(len(backends))]
    return EnsembleBackend(members, backends, method=method, label_set="meddocan", **options)


class Digits:
    """Finds all numbers. Fast, so that the contract takes little time."""

    name, revision, label_set, labels = "digits", "1", "meddocan", ("FECHAS",)

    def predict(self, texts):
        return [
            [Span(*found.span(), "FECHAS", None, "digits") for found in re.finditer("[0-9]+", text)] for text in texts
        ]

    def stream(self, texts):
        return (self.predict([text])[0] for text in texts)


class TestEnsembleContract(BackendContract):
    @pytest.fixture
    def backend(self) -> Backend:
        return ensemble(RulesBackend("meddocan"), Digits(), method=Method.UNION)


def test_members_vote() -> None:
    two_of_three = ensemble(Finds("Madrid", "TERRITORIO"), Finds("Madrid", "TERRITORIO"), Finds("Julián", "FECHAS"))
    (span,) = two_of_three.predict([PLAIN])[0]
    assert (PLAIN[span.start : span.end], span.label) == ("Madrid", "TERRITORIO")
    assert (span.confidence, span.source) == (round(1.6 / 3, 4), "majority:m0+m1")
    assert two_of_three.labels == ("FECHAS", "TERRITORIO")


def test_votes_are_counted_after_labels_were_merged() -> None:
    backends = (Finds("Madrid", "CIUDAD"), Finds("Madrid", "TERRITORIO"))
    (split,) = ensemble(*backends).predict([PLAIN])[0]  # the members agree on the span, not on the label
    assert (split.label, split.source) == ("CIUDAD", "majority:m0")
    merged = ensemble(*backends, codes={"CIUDAD": "TERRITORIO"})
    (both,) = merged.predict([PLAIN])[0]
    assert (both.label, both.source) == ("TERRITORIO", "majority:m0+m1")
    assert merged.labels == ("TERRITORIO",)


def test_the_revision_changes_with_members_and_method() -> None:
    one, two, other = Finds("Madrid", "X"), Finds("Julián", "X"), Finds("Madrid", "X")
    other.revision = "2"
    heavy, weighted = {"members": [VotingModel("m0", 2), VotingModel("m1")]}, {"method": Method.WEIGHTED}
    made = [ensemble(one, two), ensemble(other, two), ensemble(one, other), ensemble(one, two, two)]
    for options in (
        {"method": Method.UNION},
        {"members": [VotingModel("a"), VotingModel("b")]},
        weighted,
        weighted | heavy,
    ):
        made.append(ensemble(one, two, **options))
    revisions = [each.revision for each in made]
    assert len(set(revisions)) == len(revisions) and max(map(len, revisions)) <= 120
    # Weights only count in a weighted vote.
    assert ensemble(one, two, **heavy).revision == ensemble(one, two).revision == revisions[0]
