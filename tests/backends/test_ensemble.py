"""The ensemble: contract, and counting of votes."""

import re
import subprocess
from pathlib import Path

import pytest

from annotations.release.rules.known.matcher import DenyList, Profile, find
from annotations.release.rules.known.person import MasterPerson
from annotations.release.rules.redaction.policy import IdentifierType
from annotations.text.combining import Method, VotingModel
from annotations.text.spans import Span
from models_runtime.backends import Backend, children
from models_runtime.backends.base import BackendError, OfPatients, OneByOne
from models_runtime.backends.ensemble import EnsembleBackend
from models_runtime.backends.known import KnownBackend
from models_runtime.backends.rules import RulesBackend
from tests.backends.contract import PLAIN, BackendContract
from tests.timing import grows_in_proportion


class Finds(OneByOne):
    """Finds a word, with a label."""

    name, revision, label_set = "marks", "1", "meddocan"

    def __init__(self, word: str, label: str) -> None:
        self.word, self.labels = word, (label,)

    def predict(self, texts):
        found = [(text, text.find(self.word)) for text in texts]
        return [[Span(at, at + len(self.word), self.labels[0], 0.8, "mark")] if at >= 0 else [] for text, at in found]


def ensemble(*backends: Backend, method: Method = Method.MAJORITY, **options: object) -> EnsembleBackend:
    members = options.pop("members", None) or [VotingModel(f"m{at}") for at in range(len(backends))]
    return EnsembleBackend(members, backends, method=method, label_set="meddocan", **options)


class Digits(OneByOne):
    """Finds all numbers. Fast, so that the contract takes little time."""

    name, revision, label_set, labels = "digits", "1", "meddocan", ("FECHAS",)

    def predict(self, texts):
        return [[Span(*it.span(), "FECHAS", None, "digits") for it in re.finditer("[0-9]+", text)] for text in texts]


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
    assert (both.label, both.source) == ("TERRITORIO", "majority:m0+m1") and merged.labels == ("TERRITORIO",)


def test_the_revision_changes_with_members_and_method() -> None:
    one, two, other = Finds("Madrid", "X"), Finds("Julián", "X"), Finds("Madrid", "X")
    other.revision = "2"
    heavy, weighted = {"members": [VotingModel("m0", 2), VotingModel("m1")]}, {"method": Method.WEIGHTED}
    made = [ensemble(one, two), ensemble(other, two), ensemble(one, other), ensemble(one, two, two)]
    for options in (
        {"method": Method.UNION}, {"members": [VotingModel("a"), VotingModel("b")]}, weighted, weighted | heavy,
    ):  # fmt: skip
        made.append(ensemble(one, two, **options))
    revisions = [each.revision for each in made]
    assert len(set(revisions)) == len(revisions) and max(map(len, revisions)) <= 120
    # Weights only count in a weighted vote.
    assert ensemble(one, two, **heavy).revision == ensemble(one, two).revision == revisions[0]


# The backend `known` passes the tests of every backend, with and without patients.


LABELS = {kind: kind.upper().replace(" ", "") for kind in IdentifierType}
PERSON = MasterPerson(
    given=("Julián",), family=("Otero",), second_family=("Paz",), birth_dates=("2020-03-05",), phones=("923 555 100",),
    streets=("Calle Mayor 3",), zips=("28013",), cities=("Madrid",), emails=("a@b.it",), records=("12345678",),
)  # fmt: skip
DENIED = DenyList([("San Rocco", "HOSPITAL"), ("Rossi", "NAME"), ("via roma", "STREET")])


def backend_of(person):
    profile = Profile(person)
    return KnownBackend(
        label_set="i2b2-2014", labels=LABELS, denied=["HOSPITAL"], content="0",
        find=lambda notes: [find(text, profile if patient else None, DENIED) for patient, text in notes],
    )  # fmt: skip


class TestContract(BackendContract):
    most = 200_000

    @pytest.fixture
    def backend(self) -> Backend:
        return backend_of(PERSON)


def test_it_is_asked_with_patients():
    backend = backend_of(PERSON)
    assert isinstance(backend, OfPatients)
    (spans,) = backend.predict_notes([("P-1", PLAIN)])
    assert [(PLAIN[span.start : span.end], span.label, span.confidence, span.source) for span in spans] == [
        ("Julián Otero Paz", "NAME", 1.0, "known.exact"), ("San Rocco", "HOSPITAL", 1.0, "known.denied"),
        ("C/ Mayor 3", "STREET", 1.0, "known.form"), ("28013", "ZIP", 1.0, "known.exact"),
        ("Madrid", "CITY", 1.0, "known.exact"), ("923 555 100", "PHONE", 1.0, "known.exact"),
        ("05/03/2020", "DATE", 1.0, "known.form"),
    ]  # fmt: skip


@pytest.mark.parametrize("piece", ["Otero ", "O. ", "9 2 3 ", "C/ Mayor ", "5 marzo ", "de la ", "a@", "J.O.", "Ana\n"])
def test_a_long_text_of_a_patient_takes_time_in_proportion(piece):
    backend = backend_of(PERSON)

    def predict(times):
        backend.predict_notes([("P-1", piece * times)])

    predict(100)
    assert grows_in_proportion(lambda: predict(500), lambda: predict(2000))


# The child process that trains models and opens uploaded files.


pytestmark = pytest.mark.usefixtures("cold_learners")


def test_a_child_gets_no_secrets_but_its_gpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, str] = {}

    class Watched(subprocess.Popen):  # type: ignore[type-arg]  # the type of its streams doesn't matter here
        def __init__(self, *words, env, **more):
            seen.update(env)
            super().__init__(*words, env=env, **more)

    for name in ("DATABASE_URL", "DEIDREVIEW_SECRET_KEY", "DEIDREVIEW_LLM_WARD_KEY"):
        monkeypatch.setenv(name, "a-secret")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
    monkeypatch.setattr(subprocess, "Popen", Watched)
    with pytest.raises(BackendError, match="not a deidreview model"):
        children.check({"deidreview-crf": "models_runtime.backends.crf.training.LEARNER"}, tmp_path / "nothing.zip")
    assert seen["CUDA_VISIBLE_DEVICES"] == "1" and "a-secret" not in seen.values()
