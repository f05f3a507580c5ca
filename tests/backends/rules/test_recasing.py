"""Notes in lower case: names, places and addresses are found, and ordinary words are left."""

import pytest

from models_runtime.backends.rules.recasing import recased
from tests.backends.rules.helpers import marked

FIELDS = [
    "nombre: {PATIENT|maría garcía lópez}",
    "nombre y apellidos: {PATIENT|iker aramburu zabala}",
    "apellidos: {PATIENT|sola mayor}",
    "remitido por: dra. {DOCTOR|nerea goñi arrieta}",
    "domicilio: {STREET|calle mayor 3}",
    "localidad: {CITY|talavera de la reina}",
    "país: {COUNTRY|españa}",
    "cognome: {PATIENT|esposito}",
    "comune: {CITY|busto arsizio}",
    "attending: {DOCTOR|susan clark}",
    "dni {IDNUM|44817203f}",
]
PROSE = [
    "dr. {DOCTOR|zubiaur} valora al paciente.",
    "sra. {PATIENT|gutiérrez} con dolor.",
    "acude {PATIENT|maría pérez} por tos.",
    "hablo con su hija {PATIENT|carmen}.",
    "pte {PATIENT|rodríguez} estable.",
    "mr. {PATIENT|anthony greco}, bed 4.",
    "vive en {CITY|zaragoza} con su madre.",
    "nato a {CITY|catania}",
    "from {STATE|ohio}, retired.",
    "trasladado al {HOSPITAL|hospital clínico san carlos} ayer.",
]
LEFT = [
    "paciente: acude por dolor abdominal",
    "médico: avisado",
    "superficie lisa, rama paterna, terapia assunta, tomas de alimento",
    "leucocitos 17850 neutrofilos 86%, rosa de bengala negativo",
    "vancouver b1, ann arbor iiia, los angeles grado b",
    "ms unlikely. mark improvement since last visit. may shower. hope to wean.",
]


@pytest.mark.parametrize("row", [*FIELDS, *PROSE, *LEFT])
def test_lower_case(row: str) -> None:
    assert marked(row) == row


def test_a_field_in_lower_case_in_another_note() -> None:
    row = "INFORME CLÍNICO\nnombre: {PATIENT|aurora león blanco}\nPaciente con tos.\nla madre come aurora boreal"
    assert marked(row) == row


def test_prose_in_lower_case_keeps_its_case_where_the_note_has_capitals() -> None:
    text = "Paciente con tos de Burgos.\nhabla el dr. garcía de burgos\nSin Fiebre. Alta."
    assert recased(text) == text


def test_offsets_stay() -> None:
    text = "nombre: ßeta ŉala ǰun garcía\ncorreo: maria.perez@salud.example\nnhc 12345"
    assert len(recased(text)) == len(text)
    assert "maria.perez@salud.example" in recased(text)
