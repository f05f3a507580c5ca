"""Listed place names are locations unless the words around them say otherwise."""

import pytest

from tests.backends.rules.helpers import marked

FOUND = [
    "She lives in\n{CITY|Boston} with her son",  # lines are broken anywhere
    "Si trasferisce a\n{CITY|Torino} dal fratello",
    "Procedente\nde {CITY|Oviedo}",
    "Vive en  {CITY|Madrid}.",
    "Lugar de nacimiento: {CITY|Sevilla}",  # fields
    "País de origen: {COUNTRY|Ecuador}",
    "Comune di residenza: {CITY|Torino}",
    "Cittadinanza: {COUNTRY|Marocco}",
    "Born: {CITY|Chicago}, {DATE|1948}",
    "Recent travel: {COUNTRY|Brazil}, three weeks ago",
    "Camionero: {CITY|Madrid}, {CITY|Valencia}, {CITY|Barcelona}",
    "Viajes: {COUNTRY|Brasil} ({DATE|2018}), {COUNTRY|Perú} ({DATE|2019})",
    "Tos.\n- {CITY|Boston}",  # items and cells
    "Ciudad | {CITY|Madrid}",
    "{CITY|Madrid}: vive sola",
    "Cittadino dell'{COUNTRY|Ucraina}",  # elisions
    "Tornato nell'{STATE|Ohio}",
    "Tornato nell’{STATE|Ohio}",
    "Partito per l'{COUNTRY|Argentina}",
    "Nazionale d'{COUNTRY|Italia}",
    "Es de {CITY|Madrid}",  # towns that scales are named after
    "È di {CITY|Roma} e vive sola",
    "Uomo di {CITY|Napoli}",
    "Studente di {CITY|Padova}",
    "She left {CITY|Boston} last year",
    "The {CITY|Boston} police brought him",
    "Former {CITY|Chicago} firefighter",
    "{CITY|Barcelona} es su ciudad natal",
    "{CITY|Sevilla} {DATE|12 de enero de 2018}",
    "{CITY|Napoli} lì {DATE|3 marzo 2020}",
    "{CITY|Paris}-based lawyer",
    "{CITY|Sydney} to {CITY|London} flight",
    "{CITY|Madrid}-Barcelona por carretera",
    "{CITY|Philadelphia} PA",
    "{CITY|Chicago} and {CITY|Detroit}",
    "Daughter flew in yesterday from {CITY|Denver}",
    "He came from {CITY|Boston} last week with a stroke",  # no scale of Boston
    "Turista de {COUNTRY|Alemania} ingresada",  # names that mean nothing else
    "Ha visitato {COUNTRY|Egitto}",
    "Recorrió {COUNTRY|Grecia}, sin fiebre",
    "{COUNTRY|Vietnam} War veteran",
    "Travelled through {COUNTRY|Mexico} and {COUNTRY|Guatemala}",
    "He went across {STATE|Texas} by bus",
    "{COUNTRY|Italia}, {COUNTRY|Francia} y {COUNTRY|Suiza} antes de ingresar",
    "{STATE|Alabama} and {STATE|Tennessee} before moving",
    "Regione {LOCATION_OTHER|Lombardia}",
    "Viaggio. {COUNTRY|Nigeria}. Febbre.",
    "Estancia: {COUNTRY|Perú} 2 meses",
    "Breña Alta, Isla de {CITY|La Palma}",
]
LEFT = [
    "Boston naming 52/60, Vienna category 3",  # a noun follows
    "MoCA (Montreal) 22/30",  # a score follows the bracket
    "Schwab and England 80%",
    "protocolo de Seattle, C2M4 de Praga",
    "cera di Siena, gesso di Parigi",  # materials
    "café de Colombia, coles de Bruselas",
    "Virginia ham, Brazil nuts, Idaho potatoes",
    "Antígeno Australia negativo, Rosso Congo negativo",
    "In the Framingham and Rotterdam studies, risk was lower",
    "Hong Kong strain, Brisbane lineage",
    "Estudio conforme a Helsinki y Strobe",
    "Downes 3. Rochester. Yale. San Antonio: datos presentados",  # lists of scales
    "Newcastle-Ottawa 7, Newcastle Ottawa 7",
    "Rochester and Philadelphia criteria, Brighton nivel 1",
    "Criterios: Roma. Escala:\nBoston 8",
    "Hgb C Harlem excluded",
    "Crema barriera, Potenza muscolare",  # everyday words
    "Kansas protocols for hypothermia",
]


@pytest.mark.parametrize("row", FOUND)
def test_locations(row: str) -> None:
    assert marked(row) == row


@pytest.mark.parametrize("row", LEFT)
def test_no_locations(row: str) -> None:
    assert marked(row) == row
