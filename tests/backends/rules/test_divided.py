"""Identifiers that a line end or a tab divides, and texts in languages that the rules don't know."""

import pytest

from models_runtime.backends.rules.reading import is_foreign
from tests.backends.rules.helpers import marked

DIVIDED = [
    "Seen by Dr. {DOCTOR|Anna Petrie-\nLund} today. MRN {MEDICALRECORD|4471-\n0099} on file.",
    "Dr.\n{DOCTOR|Petrie} called; seen with {PATIENT|Sarah\nConnor} in the ward.",
    "Dr. {DOCTOR|Jan van\n  der Berg} came.",
    "She is at {PHONE|617 555\n0199} or {PHONE|617\n555-0199}. Phone {PHONE|07700\n900123}.",
    "Mail {EMAIL|a.moss-\nlund@clinic.org} or {EMAIL|anna.moss@\nclinic.org} or {EMAIL|b@clinic\n.org}",
    "Admitted on {DATE|12\nMarch 2019} and {DATE|March\n14, 2020}, then {DATE|12/03/\n2019}.",
    "Dr.\t{DOCTOR|Petrie} and {PATIENT|Sarah\tConnor}; MRN:\t{MEDICALRECORD|4471-0099}; tel\t{PHONE|312-714-8142}",
    "Dr. {DOCTOR|Petrie-\r\nLund} came; {PATIENT|Rosa Petrie-\n\tLund} too.",
]
WHOLE = [
    "Seen by {DOCTOR|Sarah Petrie}\nReports pain.", "Dr. {DOCTOR|Petrie}\nStable overnight.",
    "Given 12\nmg of it. Hb 120\n130 140", "Dose 3-\n\nNext: none",
]  # fmt: skip


@pytest.mark.parametrize("row", [*DIVIDED, *WHOLE])
def test_divided_identifiers(row: str) -> None:
    assert marked(row) == row


FOREIGN = [
    "Le patient est vu le {DATE|12/03/1950}. Douleurs avec Mme {PATIENT|Durand} et cas. Tel {PHONE|06 12 34 56 78}.",
    "Der Patient wird mit Herrn {PATIENT|Weber} auf der Station betreut und ist nicht fit. Mail {EMAIL|a@b.de}",
    "Paciente não foi visto pelo Dr. {DOCTOR|Souza} em São Paulo. A alta foi em {DATE|03/04/2020}.",
]  # fmt: skip
# What is found by its shape alone in such a text.
ABROAD = [
    "M. {PATIENT|Durand} et Mme {PATIENT|Jeanne de la Tour}, docteur {DOCTOR|Pierre MARTIN}. Le patient M. se plaint",
    "Frau Dr. med. {PATIENT|Anna von Müller}, Prof. Dr. {DOCTOR|Hans Klein}, Schwester {DOCTOR|Ute}; M. Crohn",
    "{STREET|12 bis, rue Victor Hugo}, {ZIP|75011} {CITY|Paris}; {STREET|5 avenue de la République}, en mars",
    "wohnt {STREET|Hauptstraße 5}, {ZIP|10115} {CITY|Berlin}; {STREET|Berliner Str. 12a}, der Weg 5",
    "{STREET|Kerkstraat 12}, {ZIP|1012 AB} {CITY|Amsterdam}; {STREET|Rua das Flores, 12}, {ZIP|1000-001} {CITY|Lisboa}",
    "vu le {DATE|12 mars 2019}, le {DATE|1er mai}; am {DATE|3. März 2020}; {DATE|4 mei}; a {DATE|5 de março de 2021}",
    "Nom : {PATIENT|DURAND}\nPrénom : {PATIENT|Jeanne}\nName des Patienten: {PATIENT|Weber, Hans}\nin 2019 Operation",
]
KNOWN = [
    "Visto il paziente in reparto per dolore", "The patient was seen with des Plaines in mind", "Visto por el Dr. Gil",
    "", "120/80", "Madame Butterfly et al. were in the ward with her",
]  # fmt: skip


@pytest.mark.parametrize("row", ABROAD)
def test_shapes_of_names_and_addresses_in_other_languages(row: str) -> None:
    assert marked(row, abroad=True) == row


@pytest.mark.parametrize("row", FOREIGN)
def test_other_languages_get_what_needs_no_words(row: str) -> None:
    assert marked(row) == row


@pytest.mark.parametrize("text", KNOWN)
def test_languages_of_the_rules(text: str) -> None:
    assert not is_foreign(text)
