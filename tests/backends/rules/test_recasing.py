"""Notes in lower case: names are found, ordinary words are left, and time grows in proportion to length."""

import pytest

from models_runtime.backends.rules import RulesBackend
from models_runtime.backends.rules.gazetteers import listed
from models_runtime.backends.rules.recasing import recased
from tests.backends.rules.helpers import marked
from tests.timing import grows_in_proportion, takes_at_most

FIELDS = [
    "INFORME CLÍNICO\nnombre: {PATIENT|aurora león blanco}\nPaciente con tos.\nla madre come aurora boreal",
    "nombre: {PATIENT|maría garcía lópez}", "nombre y apellidos: {PATIENT|iker aramburu zabala}",
    "apellidos: {PATIENT|sola mayor}", "remitido por: dra. {DOCTOR|nerea goñi arrieta}",
    "domicilio: {STREET|calle mayor 3}", "localidad: {CITY|talavera de la reina}", "país: {COUNTRY|españa}",
    "cognome: {PATIENT|esposito}", "comune: {CITY|busto arsizio}", "attending: {DOCTOR|susan clark}",
    "dni {IDNUM|44817203f}", "{STREET|22 birch lane, suite 3}, {CITY|dunmore}, {STATE|oh} {ZIP|44107}",
    "dott. {DOCTOR|a. perotti}, cip: {HEALTHPLAN|an0541887730}", "nombre: {PATIENT|etxegoien zubizarreta}",
    "nombre del paciente: {PATIENT|etxegoien}", "patient name: {PATIENT|wozniak, katarzyna}",
    "surname: {PATIENT|etxegoien}", "apellidos, nombre: {PATIENT|garcía lópez, ubaldo}",
    "nombre: {PATIENT|maría garcía}, alérgica a penicilina", "paciente: {PATIENT|etxegoien, maría}",
    "paciente: sra. {PATIENT|etxegoien}", "medico: {DOCTOR|a. perotti}", "provincia: {CITY|cuenca}",
    "domicilio: {STREET|sierra nevada 4}",
]  # fmt: skip
PROSE = [
    "dr. {DOCTOR|zubiaur} valora al paciente.", "sra. {PATIENT|gutiérrez} con dolor.",
    "acude {PATIENT|maría pérez} por tos.", "hablo con su hija {PATIENT|carmen}.", "pte {PATIENT|rodríguez} estable.",
    "mr. {PATIENT|anthony greco}, bed 4.", "vive en {CITY|zaragoza} con su madre.", "nato a {CITY|catania}",
    "from {STATE|ohio}, retired.", "trasladado al {HOSPITAL|hospital clínico san carlos} ayer.",
    "friend {PATIENT|mary ellis} visits", "acude {PATIENT|maría etxegoien}", "{PATIENT|carmen etxea}",
]  # fmt: skip
LEFT = [
    "paciente: acude por dolor abdominal", "médico: avisado",
    "superficie lisa, rama paterna, terapia assunta, tomas de alimento",
    "leucocitos 17850 neutrofilos 86%, rosa de bengala negativo", "vancouver b1, ann arbor iiia, los angeles grado b",
    "ms unlikely. mark improvement since last visit. may shower. hope to wean.", "a guinea pig was used",
    "prof. sanitario",
]  # fmt: skip
NO_NAMES = [
    "name: metoprolol 25 mg", "nombre: paracetamol 1 g", "nombre comercial: augmentine",
    "medico: omeprazol suspendido", "responsable: escherichia coli", "surgeon: laparoscopic approach",
    "nurse: wound dressed", "physician: unavailable", "firma: ilegible", "autores: varios",
    "paciente: diabética conocida", "paciente: muy dolorido", "paciente: señora mayor", "paziente: febbrile",
    "patient: sleepy", "pac: fibrilación auricular", "pt: elongated", "pt: inr alto", "pt: gait training",
    "provincia: afectada", "comune: cefalea", "localidad: dolor abdominal", "address: diet and exercise",
]  # fmt: skip


@pytest.mark.parametrize("row", [*FIELDS, *PROSE, *LEFT])
def test_lower_case(row: str) -> None:
    assert marked(row) == row
    assert marked(f"{row}\r\n") == f"{row}\r\n"


@pytest.mark.parametrize("row", NO_NAMES)
def test_fields_without_a_name(row: str) -> None:
    assert marked(row) == row
    assert marked(f"Stable Today.\n{row}") == f"Stable Today.\n{row}"


def test_prose_in_lower_case_keeps_its_case_where_the_note_has_capitals_and_offsets_stay() -> None:
    text = "Paciente con tos de Burgos.\nhabla el dr. garcía de burgos\nSin Fiebre. Alta."
    assert recased(text) == text
    text = "nombre: ßeta ŉala ǰun garcía\ncorreo: maria.perez@salud.example\nnhc 12345"
    assert len(recased(text)) == len(text) and "maria.perez@salud.example" in recased(text)


PIECES = [
    "a", "1", "1a", "a1", "ab1234", "a-", "1-", "a ", "1 ", ".", ",", ", ", " ", ":", "é", "@", "a@", "www.", "c/", "_",
    "calle", "calle ", "1 a ", "1 a lane ", "dr. ", "sra. a ", "maría ", "maría etxea ", "garcía, ", "de la ",
    "hospital ", "hospital de ", "vive en ", "burgos ", "a. ", "pt ", "hija ", "y ", "los angeles b1 ", "nombre: ",
]  # fmt: skip
# The pieces that `make test` tries: letters and digits in turn, a word, a title and a field.
FEW = {"1a", "a ", "a@", "calle ", "dr. ", "de la ", "nombre: "}
LEADS = ["", "a", "nombre: ", "nombre: x ", "paciente: ", "dirección: ", "comune: ", "dr. ", "calle "]
ENDS = ["", "éé", "@", " 28001", ".x"]


@pytest.mark.parametrize(
    "piece", [piece if piece in FEW else pytest.param(piece, marks=pytest.mark.nightly) for piece in PIECES]
)
def test_hostile_lower_case_grows_in_proportion(piece: str) -> None:
    """Text of one repeated piece, after a field, a title or nothing, with an end that makes patterns backtrack."""
    recased("nombre: maría")

    def changed(length: int) -> None:
        for lead in LEADS:
            for end in ENDS:
                recased(lead + (piece * length)[:length] + end)

    assert grows_in_proportion(lambda: changed(300), lambda: changed(1_200))


@pytest.mark.parametrize("group", ["sure_name_fields", "name_fields", "sure_place_fields", "place_fields"])
def test_hostile_fields_are_fast(group: str) -> None:
    texts = [f"{field}: {piece * 400}" for field in listed(group) for piece in ("a", "1a", "calle", "a ")]
    assert takes_at_most(1, lambda: [recased(text) for text in texts])


@pytest.mark.parametrize(
    "text",
    ["nombre: " + "a" * 10_000, "nombre: x " + "b" * 10_000, "a" + "1" * 8_000 + "éé", "paciente: " + "calle" * 1_200],
)
def test_hostile_notes_in_lower_case_are_fast(text: str) -> None:
    backend = RulesBackend()
    backend.predict(["nombre: maría"])
    assert takes_at_most(0.5, lambda: backend.predict([text]))
