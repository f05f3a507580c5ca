from pathlib import Path

import pytest

from models_runtime.backends import rules
from models_runtime.backends.rules.backend import LANGUAGES
from models_runtime.backends.rules.gazetteers import open_given
from tests.backends.rules.helpers import found, marked, read

FOUND = [
    "Il MMG Dott. {DOCTOR|Fusco} prescrive",
    "(Dott.ssa {DOCTOR|G. Ruggeri}), O2",
    "dr.ssa {DOCTOR|Colombino}, ore 11.10",
    "dal prof. {DOCTOR|Girolamo Bettin}, sentito",
    "Dra. {DOCTOR|Carmen Huerta} col",
    "Dr. {DOCTOR|Carlos Veiga de la Jara}. Servicio de Urgencias",  # particles
    "Discussed w Dr. {DOCTOR|R}. Plan",  # one letter
    "Dr. {DOCTOR|Alberto Miján de la Torre}",
    "Dr. {DOCTOR|Rossi} TC torace",  # capitals that follow are no part
    "Sig.ra {PATIENT|Carla Venditti}, in isolamento",
    "sig. {PATIENT|Efisio Cossu}",
    "Don {PATIENT|Teófilo} llama",
    "Mr. {PATIENT|Whitcombe} is well",
    "Mrs. {PATIENT|O'Brien-Hale} is well",  # apostrophe and hyphen
    "Paciente: {PATIENT|Rosa María Cabrera Linde}",
    "Apellidos: {PATIENT|Rivera Bueno}.",
    "Name: {PATIENT|Whitcombe, Harold J.}",  # surname first
    "Cognome e nome: {PATIENT|BELLOTTI ARNALDO}",
    "Médico:  {DOCTOR|Ignacio Navarro Cuéllar} NºCol",
    "Médico: {DOCTOR|Gastón Demaría Martínez}NºCol",  # glued to the next field
    "Remitido por: Dra. {DOCTOR|María Merino Viveros}",
    "Médico: {DOCTOR|Julio Barrena Soto}. Motivo",  # a month in a field or after a title is a name
    "seen by Dr. {DOCTOR|June Hartley} today",
    "Nombre: {PATIENT|Julio}.",
    "Médico: {DOCTOR|Fermín  Olmedo Ibarra}  NºCol: 1",  # a blank too many, in a field
    "Apellidos: {PATIENT|SAntos JIménez}.",  # shift held too long
    "Médico: {DOCTOR|Luz Peña}Correo",
    "Attending: {DOCTOR|Priya Raghunathan}, MD",
    "Autori: {DOCTOR|Stefano Brignone}; {DOCTOR|Laura Zanetti}; {DOCTOR|Khaled Mansour}",
    "{DOCTOR|Nicola Damiani} (1), {DOCTOR|Federica Lo Presti} (1), {DOCTOR|Ettore Renzi} (2)\n",  # a line of names
    "Fdo. {DOCTOR|J. Otero Paz}",
    "F.to {DOCTOR|Annalisa Pintus}",
    "seen by {DOCTOR|Aaron Vukovich}, DO",
    "{DOCTOR|I. Quattrini}\n",  # a line that signs
    "su hija {PATIENT|Pilar} llama",
    "Wife {PATIENT|Lorraine} manages",
    "la moglie, sig.ra {PATIENT|Carla}, chiama",
    "her sister {PATIENT|Ngozi} had",
    "{PATIENT|Sauro LOMBARDINI}, nato ieri",  # before a birth
    "MIR {DOCTOR|Nerea Iglesias}",
    "(Enf. {DOCTOR|Begoña})",
    "colleghi {PATIENT|Gavino Zedda} e altri",  # a known given name
]
LEFT = [
    "Attending: {DATE|June 2020}, then none",  # a month, not a name
    "morbo di Parkinson",
    "Enfermedad de Wilson",
    "síndrome de Down",
    "Wilson disease",
    "test de Romberg negativo",
    "Parkinson disease, Bell palsy",
    "sonda Foley, Holter 24 h",
    "virus de Epstein-Barr",
    "líneas B de Kerley",
    "Informe clínico del paciente: Acude a la consulta",  # a sentence after the field
    "Informe clínico del paciente: Gestante que acude",
    "JUICIO CLÍNICO: ICC descompensada",  # no name field
    "VIH positivo (ELISA y Western Blot)",
    "ANA y LKM negativos",
    "vitamina D. Tras la ingesta",  # no D. = Don
    "Stocco, Primo Referendario",  # no cousin
    "la mamma IgG positiva",
    "Dr. de guardia",
    "pt. verified name",
    "La paciente refiere",
]


@pytest.mark.parametrize("row", FOUND)
def test_names(row: str) -> None:
    assert marked(row) == row


@pytest.mark.parametrize("row", LEFT)
def test_no_names(row: str) -> None:
    assert marked(row) == row


@pytest.mark.parametrize(
    "row",
    [
        "Paciente: {PATIENT|Rosa Cabrera}\nLa señora {PATIENT|Cabrera} sigue bien. {PATIENT|Rosa} camina.",  # her words
        "Dr. {DOCTOR|Velasco} viene. Informa {DOCTOR|Velasco}. {DOCTOR|VELASCO}.",  # in capitals too
        "dott.ssa {DOCTOR|Fantinel} scrive\nfirma di {DOCTOR|M.L. Fantinel}",  # with the initials before
        "Patient: {PATIENT|Agnes Parkinson}\nMs. {PATIENT|Parkinson} has Parkinson disease.",  # not in her disease
        "Sig. {PATIENT|Bianchi}. Bianchini no, e globuli bianchi.",  # whole words
        "Sra. {PATIENT|Blanco Rey}. El suero es blanco. Blanco al tacto.",  # an everyday word in this note
        "{HOSPITAL|Ospedale San Rocco}. Torna al {HOSPITAL|San Rocco} domani.",
        "Date: {DATE|2/17/2022}. Lines: R IJ ({DATE|2/14}), strength 4/5.",  # a day near the note's date
    ],
)
def test_names_found_once_are_found_everywhere(row: str) -> None:
    assert marked(row) == row


def test_a_patient_named_as_a_disease_is_still_a_patient() -> None:
    row = "Patient: {PATIENT|Agnes Parkinson}\nDx: Parkinson disease"
    text, spans = read(row)
    assert found(text) == spans


def test_meddocan_tells_patients_relatives_and_staff_apart() -> None:
    row = (
        "Nombre: {NOMBRE_SUJETO_ASISTENCIA|Rosa}.\nMédico: {NOMBRE_PERSONAL_SANITARIO|Juan Gil Mora} NºCol: "
        "{ID_TITULACION_PERSONAL_SANITARIO|28 28 70973}."
    )
    assert marked(row, "meddocan") == row


@pytest.mark.parametrize("language", LANGUAGES)
def test_an_open_list_has_a_source_and_each_name_once(language: str) -> None:
    folder = Path(rules.__file__).parent
    listed = (folder / "data" / f"open_given_{language}.txt").read_text(encoding="utf-8").splitlines()
    assert listed == sorted(set(listed)) and all(len(name) > 2 and " " not in name for name in listed)
    assert f"`open_given_{language}.txt`" in (folder / "NOTICE.md").read_text(encoding="utf-8")
    assert {"lady", "man", "parkinson"}.isdisjoint(open_given(language)), "words of notes are no names"
