"""Text that the rules were not made for: no spans in clinical prose, and given names alone."""

import pytest

from tests.backends.rules.helpers import marked

LEFT = [
    "Computed Tomography (CT) and Aménorrhée (SA)",
    "class II of the New York Heart Association",
    "Ann Arbor stage IIB lymphoma",
    "Los Angeles grade B esophagitis",
    "esofagitis grado A de Los Angeles",
    "Cipro for the infection, sospensione di Cipro",
    "Codes 70553 and 72148; sample of 20348 controls",
    "Magnetic Resonance Imaging was normal",
    "pz. Dopo 5 mesi di terapia",
    "dolore 6-7/10 al ginocchio",
    "lesione del 1/3 inferiore del retto",
    "adenocarcinoma G2 (WHO 2010)",
    "La donna tre mesi più tardi sta meglio",
    "FAMILY HISTORY: no cancer",
    "Rosa de Bengala negativo. Hope is a strength.",
    "fracture of Stewart and Milford type B",  # a name of the English open list only, without a verb
    "Son denies pain in Normal saline",
    "Old lady Smith's hip, as they say",  # a surname that an open list has as a given name
    "HOSPITAL COURSE BY SYSTEM: stable",
    "Survival at 5 years was 82%, supervivencia a 5 años del 74 %",
    "The 2-year-old prosthesis showed no loosening",
    "presented with three weeks of worsening dyspnea",
    "Of these, 1932 had an event",
    "Gold D. Borg 4; Balthazar D. Child A",
    "Pt. Voided 300. Pz. Apiretico. Dr. Avvisato.",
    "Marcus Gunn pupil, Charles Bonnet probable, Sister Mary Joseph nodule",
    "tornillos de Herbert, aneurysm at the circle of Willis, Polígono de Willis normal",
    "Hamilton 22, Beck 31",
    "American College of Gastroenterology guidance",
    "University of Wisconsin solution",
    "Dosis de 50000 UI semanales en 41 centros. Se incluyeron 10455. Análisis intermedio.",
    "Enjoys Bridge and crosswords. Cardiac Rehabilitation referral placed.",
    "Medicare Part D covers drugs; Camino de Santiago a pie",
]
FOUND = [
    "{PATIENT|Anna} è una donna di {AGE|47} anni",
    "{PATIENT|Osvaldo}, anni {AGE|52}, iperteso",
    "Ayer {PATIENT|Adelaida} caminó sin ayuda",
    "I spoke with {PATIENT|Clarissa} about discharge",
    "Le explico a {PATIENT|Ainara} el resultado",  # names of open lists
    "{PATIENT|Uberto}, anni {AGE|52}, iperteso",
    "{PATIENT|Mozelle} denies chest pain",
    "Acude D. {PATIENT|Anselmo Bravo} por tos",
    "El estado de {PATIENT|Casilda} es estable",
]


@pytest.mark.parametrize("row", [*LEFT, *FOUND])
def test_unseen_text(row: str) -> None:
    assert marked(row) == row
