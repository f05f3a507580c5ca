import pytest

from tests.backends.rules.helpers import marked

FOUND = [
    "{STREET|via Deledda n. 9}, resta",
    "{STREET|Corso Garibaldi 112}, {CITY|Novara}",
    "{STREET|piazza del Carmine n. 41}",
    "{STREET|via delle Acacie 27/B}, {ZIP|04100} {CITY|Latina}",
    "{STREET|Vicolo del Mulino 3}, {CITY|Susegana} il",  # a town that no list has, after a street
    "Domicilio: {STREET|C/ del Olmo 7, 3º B}, {ZIP|49001} {CITY|Zamora}",
    "Domicilio: {STREET|Calle Losada Martí 23, 5 B}..",
    "{STREET|Avda. de la Palmera 203, bloque 2}, {CITY|Dos Hermanas} ({ZIP|41702}), {LOCATION_OTHER|Andalucía}",
    "{STREET|Calle del Dr. Esquerdo, 46}, {ZIP|28007} {CITY|Madrid}",  # a street named after a doctor
    "{STREET|Plaza del Hospital Civil, s/n}",  # and one after a hospital
    "{STREET|Ctra. de Colmenar, km. 9,100}. {ZIP|28034} {CITY|Madrid}",
    "{STREET|Cartagena, 340-350} - {ZIP|08025} {CITY|Barcelona}",  # a street without its type
    "{STREET|Paseo de la Castellana, 261}, {ZIP|28046} {CITY|Madrid} ({COUNTRY|España})",
    "{STREET|22 Birch Lane, Suite 3}, {CITY|Dunmore}, {STATE|OH} {ZIP|44107-2210}",
    "lives at {STREET|9 Elm Court}",
    "nato a {CITY|Nuoro} ieri",
    "nata a {CITY|Borgosesto}, coniugata",  # a town that no list has
    "natural de {CITY|Cuenca}",
    "natural de {COUNTRY|Marruecos}",
    "residente in {CITY|Oliena}, contumace",
    "visiting from {CITY|Erie}, {STATE|PA}, today",
    "back from {CITY|Lagos}, {COUNTRY|Nigeria}",
    "sbarcato a {CITY|Civitavecchia}",
    "vive en {CITY|Terrassa}",
    "{CITY|Conegliano} ({CITY|TV})",
    "CP: {ZIP|28016}.",
    "zona norte ({ZIP|41702}) y",
    "{STREET|Av. Rivadavia 120}, código postal {ZIP|1426} ({COUNTRY|Argentina})",
    "C.P. {ZIP|40140-276}, {COUNTRY|Costa Rica}",
    "País: {COUNTRY|España}.",
    "Localidad/ Provincia: {CITY|Madrid}.",
    "trasferito a {CITY|Como} ieri",  # an everyday word after a word of place
    "Marlow, {ZIP|SL7 9QX}",
    "viaggio negli {COUNTRY|USA}",
]
LEFT = [
    "Como antecedentes, HTA",  # everyday words that are towns
    "Massa di 3 cm",
    "per via orale, per via EV",  # a route of administration
    "vía intravenosa cada 8 h",
    "5 mg c/8h",
    "consulta c/o ambulatorio",
    "il corso della malattia",
    "Rosa de Bengala positivo",
    "criterios de Roma III",
    "fiebre de Malta",
    "paziente che usa ossigeno",  # a verb
    "Leucocitos 12000, normal",
    "10000 UI de heparina",
    "AV OD 0,3",  # visual acuity, no avenue
    "plaza libre en planta",
]


@pytest.mark.parametrize("row", FOUND)
def test_places(row: str) -> None:
    assert marked(row) == row


@pytest.mark.parametrize("row", LEFT)
def test_no_places(row: str) -> None:
    assert marked(row) == row
