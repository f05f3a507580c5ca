"""The backend `known` passes the tests of every backend, with and without patients."""

import pytest

from annotations.release.rules.known.matcher import Denied, Profile, find
from annotations.release.rules.known.person import MasterPerson
from annotations.release.rules.redaction.policy import IdentifierType
from models_runtime.backends import Backend
from models_runtime.backends.base import OfPatients
from models_runtime.backends.known import KnownBackend
from tests.backends.contract import HOSTILE, PLAIN, BackendContract, key
from tests.timing import grows_in_proportion

LABELS = {kind: kind.upper().replace(" ", "") for kind in IdentifierType}
PERSON = MasterPerson(
    given=("Julián",), family=("Otero",), second_family=("Paz",), birth_dates=("2020-03-05",), phones=("923 555 100",),
    streets=("Calle Mayor 3",), zips=("28013",), cities=("Madrid",), emails=("a@b.it",), records=("12345678",),
)  # fmt: skip
DENIED = Denied([("San Rocco", "HOSPITAL"), ("Rossi", "NAME"), ("via roma", "STREET")])


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
        ("Julián Otero Paz", "NAME", 1.0, "known.exact"),
        ("San Rocco", "HOSPITAL", 1.0, "known.denied"),
        ("C/ Mayor 3", "STREET", 1.0, "known.form"),
        ("28013", "ZIP", 1.0, "known.exact"),
        ("Madrid", "CITY", 1.0, "known.exact"),
        ("923 555 100", "PHONE", 1.0, "known.exact"),
        ("05/03/2020", "DATE", 1.0, "known.form"),
    ]


def test_hostile_text_of_a_patient():
    found = backend_of(PERSON).predict_notes([("P-1", text) for text in HOSTILE.values()])
    for text, spans in zip(HOSTILE.values(), found, strict=True):
        assert key(spans) == sorted(key(spans))
        assert all(text[span.start : span.end].strip() == text[span.start : span.end] != "" for span in spans)


@pytest.mark.parametrize(
    "piece", ["Otero ", "O. ", "9 2 3 ", "C/ Mayor ", "5 marzo ", "de la ", "a@", "J.O.", "Julian\n"]
)
def test_a_long_text_of_a_patient_takes_time_in_proportion(piece):
    backend = backend_of(PERSON)

    def predict(times):
        backend.predict_notes([("P-1", piece * times)])

    predict(100)
    assert grows_in_proportion(lambda: predict(500), lambda: predict(2000))
