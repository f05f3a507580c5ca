"""The rules backend: contract in every supported label set; hostile repetition takes linear time."""

import json
from pathlib import Path

import pytest

from models_runtime.backends import Backend, BackendError, load
from models_runtime.backends.rules import RulesBackend
from models_runtime.backends.rules.backend import CONFIDENCES, RULES
from tests.backends.contract import PLAIN, BackendContract, key
from tests.timing import takes_at_most

PATH = "models_runtime.backends.rules.RulesBackend"
LABEL_SETS = ["i2b2-2014", "meddocan", "it-4", "omissis", "hipaa-18", "redactor-33"]


class TestRules(BackendContract):
    most = 120_000

    @pytest.fixture
    def backend(self) -> Backend:
        return load(PATH, label_set="meddocan")


@pytest.mark.parametrize("label_set", LABEL_SETS)
def test_every_shipped_label_set(label_set: str) -> None:
    backend = RulesBackend(label_set)
    spans = backend.predict([PLAIN])[0]
    assert spans and {span.label for span in spans} <= set(backend.labels)
    assert all(span.source in {rule.id for rule in RULES} for span in spans)
    file = Path(__file__).parents[2] / "fixtures" / "label_sets" / f"{label_set}.json"
    groups = json.loads(file.read_text(encoding="utf-8"))["categories"]
    assert set(backend.labels) <= {label.get("code") or label["name"] for group in groups for label in group["labels"]}


def test_loading() -> None:
    assert load(PATH, label_set="meddocan") is load(PATH, label_set="meddocan")
    assert load(PATH, label_set="meddocan").revision != load(PATH).revision
    assert load(PATH, languages=["en"]).revision != load(PATH).revision
    assert RulesBackend().revision == RulesBackend().revision


@pytest.mark.parametrize(
    ("path", "params"),
    [
        ("models_runtime.backends.nothing.Backend", {}),  # no such module
        ("models_runtime.backends.rules.Nothing", {}),  # no such class
        ("nodots", {}), (PATH, {"label_set": "unheard-of"}), (PATH, {"languages": ["xx"]}), (PATH, {"languages": []}),
        (PATH, {"color": "blue"}),  # no such parameter
        (PATH, {"label_set": object()}),  # not JSON
    ],
)  # fmt: skip
def test_loading_errors_are_permanent(path: str, params: dict) -> None:
    with pytest.raises(BackendError) as caught:
        load(path, **params)
    assert caught.value.permanent


def test_rule_ids_are_unique_and_only_they_have_confidences() -> None:
    ids = [rule.id for rule in RULES]
    assert len(ids) == len(set(ids))
    known = json.loads(CONFIDENCES.read_text(encoding="utf-8"))
    assert known.keys() <= set(ids) and all(0 < confidence <= 1 for confidence in known.values())


def test_rules_of_other_languages_are_not_used() -> None:
    text = "Seen at Mercy Hospital, Dunmore, OH 44107."
    for language, is_found in (("es", False), ("en", True)):
        spans = RulesBackend(languages=[language]).predict([text])[0]
        assert ("Mercy Hospital" in {text[span.start : span.end] for span in spans}) is is_found
    one, two = (RulesBackend(languages=[each]).predict(["Dr. Rossi, 12/03/2020"])[0] for each in ("it", "en"))
    assert key(one) == key(two), "rules of all languages are independent of the language"


REPEATED = [
    "a", "A", "1", " ", "\n", ".", "@", "(", "+", "/", "'", "-", "º", "Ñ", "A ", "Aa ", "Aa", "AA ", "A. ", "A.",
    "a.", "1 ", "1.", "1,", "1/", "1-", "12/", "12/1", "1/1/", "1 2 ", "(1", "a@", "a@a.", "@a.", "a.a@", "+1 ",
    "1-1-1-", "http://", "http://a.", "www.", "www.a", "1.1.1.1", "tel 1 ", "Dr. ", "Dr ", "Dr. A ", "Dra. Aa ",
    "Dr. Aa, ", "Sr. D. ", "Maria ", "Maria de la ", "Maria Aa ", "Maria, ", "Calle ", "Calle de ", "Calle Aa ",
    "Calle Aa 1, ", "C/", "C/ Aa", "via Aa 1 ", "Aa 1 28001 ", "28001 Aa ", "28001", "Hospital ", "Hospital de ",
    "Hospital Aa ", 'Hospital "', "Aa Hospital ", "of the Hospital ", "Centro de Salud ", "años ", "1 años ",
    "de 1 años ", "paciente de ", "paciente a a a ", "hija ", "hija Aa ", "hija, ", "enero ", "1 de ", "1 de enero ",
    "1 al 2 ", "1, 2, ", "1 y 2 de ", "en 2000 ", "2000-", "lunes 1 ", "NHC ", "NHC: 1", "NASS 1 ", "n. 1 ",
    "caso n. ", "ID: ", "Domicilio: ", "Domicilio: Calle ", "Nombre: Aa ", "nato a ", "nato a Aa ", "Aa, nato a ",
    "Aa Aa, nata ", "from Aa ", "Aa, OH ", "Aa (BG) ", "(BG", "MD ", "Aa MD ", "morbo di ", "síndrome de Aa ",
    "Aa disease ", "srl ", "Aa srl ", "S.p.A. ", "di de la ", "d'", "D'A", "l'Aa ", "Autori: Aa Aa, ",
    "Aa Aa, Aa Aa\n", "Maria Aa, Maria Aa; ", "J. Aa\n", "A. A. ", "Fdo. ", "Fdo. Aa / ", "nombre: ", "nombre: a",
    "paciente: calle", "dr. ", "dr. a ", "sra. a ", "maria ", "maria de la ", "calle a 1 ", "ab1234", "a1", "1a",
    "hospital ", "vive en a ", "hija ", "a. ", "burgos ", "1 a lane ", "AAAAAA00A00A000A", "IT00 0000 ", "ES00",
    "X0000000", "12.345.678", "123-45-", "0000 0000 ", "Rosa'", "Xulio'Ellen-",
    "A.Th. ", "Aa-\n", "1\n", "5/XI/98 ", "12Dec", "a at a dot a dot ", "mr. aa aa. ",
]  # fmt: skip


@pytest.mark.parametrize("share", [4, pytest.param(1, marks=pytest.mark.nightly)])
def test_hostile_repetition_is_linear(share: int) -> None:
    """10,000 characters of a piece, then a mismatch that would make ambiguous patterns backtrack.

    Backtracking from each character would take 50,000,000 steps, which is far more than a third of a second.
    """
    backend = load(PATH)
    for piece in REPEATED[::share]:
        text = (piece * (10_000 // len(piece) + 1))[:10_000] + "!\n"
        assert takes_at_most(0.3, lambda: backend.predict([text])), piece  # noqa: B023 - it is called at once


@pytest.mark.parametrize("share", [40, pytest.param(1, marks=pytest.mark.nightly)])
def test_every_pair_of_hostile_pieces_is_fast(share: int) -> None:
    """One pair of so many."""
    backend = load(PATH)
    texts = [(one + two) * 12 for one in REPEATED for two in REPEATED][::share]
    for text in texts:
        assert takes_at_most(1, lambda: backend.predict([text])), f"slow on a text of {len(text)} characters"  # noqa: B023
