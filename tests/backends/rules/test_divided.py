"""Identifiers that a line end or a tab divides, and texts in languages that the rules don't know."""

import pytest

from models_runtime.backends.rules.foreign import is_foreign
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
    "Le patient est vu le {DATE|12/03/1950}. Les douleurs sont avec Mme Durand et des cas. Tel {PHONE|06 12 34 56 78}.",
    "Der Patient wird mit Herrn Weber auf der Station betreut und ist nicht fit. Mail {EMAIL|a@b.de}",
    "Paciente não foi visto pelo Dr. Souza em São Paulo. A alta foi em {DATE|03/04/2020}.",
]  # fmt: skip
KNOWN = [
    "Visto il paziente in reparto per dolore", "The patient was seen with des Plaines in mind", "Visto por el Dr. Gil",
    "", "120/80", "Madame Butterfly et al. were in the ward with her",
]  # fmt: skip


@pytest.mark.parametrize("row", FOREIGN)
def test_other_languages_get_what_needs_no_words(row: str) -> None:
    assert marked(row) == row


@pytest.mark.parametrize("text", KNOWN)
def test_languages_of_the_rules(text: str) -> None:
    assert not is_foreign(text)
