"""Listed place names are locations only where the words around them say so."""

import pytest

from tests.backends.rules.helpers import marked

FOUND = [
    "Viajó a {COUNTRY|Perú} hace tres meses",
    "Reside entre {CITY|Madrid} y {CITY|Toledo}",
    "natural de {CITY|Cuenca}, acude sola",
    "trabaja en una fábrica de {CITY|Vigo}",
    "Si trasferisce a {CITY|Torino} dal fratello",
    "soggiorno in {COUNTRY|Kenya} e {COUNTRY|Tanzania}",
    "He was seen at a {CITY|Houston} clinic",
    "She is a {CITY|Chicago} native",
    "(Siemens, {COUNTRY|Alemania})",  # a manufacturer's country
    "28046 {CITY|Madrid}. {COUNTRY|España}. E-mail: {EMAIL|a@example.com}",
]
LEFT = [
    "Boston naming 52/60, Vienna category 3",  # a noun follows
    "MoCA (Montreal) 22/30",  # a score follows the bracket
    "Schwab and England 80%",
    "protocolo de Seattle, C2M4 de Praga",
    "cera di Siena, gesso di Parigi",  # materials
    "café de Colombia, coles de Bruselas",
    "In the Framingham and Rotterdam studies, risk was lower",
    "Hong Kong strain, Brisbane lineage",
    "Estudio conforme a Helsinki y Strobe",
]


@pytest.mark.parametrize("row", FOUND)
def test_locations(row: str) -> None:
    zipped = row.replace("28046 ", "{ZIP|28046} ")
    assert marked(zipped) == zipped


@pytest.mark.parametrize("row", LEFT)
def test_no_locations(row: str) -> None:
    assert marked(row) == row
