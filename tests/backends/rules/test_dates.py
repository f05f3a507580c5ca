import pytest

from tests.backends.rules.helpers import marked

FOUND = [
    "Data: {DATE|12/03/2021}",  # day, month, year
    "Seen {DATE|03/14/2018} in clinic",  # month first
    "{DATE|2021-03-12} TC torace",  # ISO
    "esame del {DATE|19.03.1951}, negativo",  # dots
    "Ingreso: {DATE|7-10-2020}.",  # hyphens, short
    "Alta {DATE|20/07/22}",  # two-digit year
    "nata il {DATE|29/02/2020}",  # a leap day that was
    "dall'{DATE|11/03/2020}:",  # after an elided article
    "ingresó el {DATE|12 de marzo de 2018}",  # Spanish words
    "il {DATE|1° luglio 2014}",  # ordinal sign
    "l'{DATE|8 giugno 1943}",
    "On {DATE|June 8, 2021} she",  # month, day, year
    "on the {DATE|8th of June, 2021}",
    "{DATE|3 February 2020}",
    "{DATE|28 de diciembre de 2022}",
    "del {DATE|12 al 15 de mayo de 2003}",  # a range
    "dal {DATE|12 al 15 ottobre}",
    "{DATE|14 y 15 mayo}",  # two days
    "{DATE|4 novembre}, in reparto",  # no year
    "alta el {DATE|12-mar-2019}",  # short month between hyphens
    "RM {DATE|novembre 2018}",  # month and year
    "en {DATE|enero de 2004}",
    "a {DATE|principios de julio de 2007}",  # part of a month
    "revisión en {DATE|febrero}",  # month alone after a preposition
    "spending since {DATE|July}.",
    "Back in ({DATE|mid-April}, funeral)",
    "echo {DATE|11/2017}",  # month and year in figures
    "febbre dal {DATE|27/02}",  # day and month, said to be a date
    "Labs {DATE|3/12}: Na 138",  # month first, said to be one
    "Hemocultivos {DATE|03/02} negativos",  # month written with a zero
    "reported on {DATE|9/30} at home",
    "il {DATE|26/03} e il {DATE|27/03}",  # a list
    "nel {DATE|2011}",  # year after a preposition
    "colecistectomía ({DATE|1998})",  # year in brackets
    "triennio {DATE|2011-2013}",  # years
    "accesso {DATE|sabato 29 febbraio 2020}",  # weekday and date
    "prevista {DATE|sabato 28}.",  # weekday and day
    "control el {DATE|martes 27} en consulta",
    "Wt up since {DATE|Friday}, ankles swollen",  # weekday alone
    "el {DATE|viernes}.",
    "ham over {DATE|Christmas}",  # feast
    "dieta en {DATE|Navidad}",
    "Desde el {DATE|día 7} deambula",  # a day of the stay
    "La noche del {DATE|4 al 5} agitado",
]
LEFT = [
    "31/02/2020",  # no such day
    "29/02/2021",  # no leap year
    "45/13/2020",  # neither order
    "PA 130/85, FC 98",  # blood pressure
    "TA 100/60 mmHg",
    "versione 1.2.15 del software",  # version
    "dolor 2/10",  # score
    "Apgar 9/10",
    "fuerza 4/5 en pierna",
    "2/6 holosystolic murmur",
    "sacubitril/valsartan 49/51 bid",  # dose
    "Score visivo 12/25.",
    "amoxi-clav 875/125 c/8h",
    "leucocitos 2000/mm3",  # count
    "se transfunden 2000 ml",  # volume
    "hace 10 días",  # a length of time
    "de lunes a viernes de 9 a 14 h",  # opening hours
    "Bebe vino los domingos",  # a habit
    "She may march on",  # verbs
    "mar 3 set 4",  # short months that are words
    "anni 2 set di prove",
    "COVID-19",
    "L4-L5, C3-C4",  # levels
    "SpO2 99. FR 22",
]


@pytest.mark.parametrize("row", FOUND)
def test_dates(row: str) -> None:
    assert marked(row) == row


@pytest.mark.parametrize("row", LEFT)
def test_no_dates(row: str) -> None:
    assert marked(row) == row


@pytest.mark.parametrize(
    "row",
    [
        "Operado en {FECHAS|1995} y el {FECHAS|año 2000}",  # the word belongs to the span in MEDDOCAN
        "Fecha de nacimiento: {FECHAS|03/03/1946}.",
    ],
)
def test_meddocan_dates(row: str) -> None:
    assert marked(row, "meddocan") == row


def test_a_set_that_knows_dates_of_birth_alone() -> None:
    row = "DOB: {BIRTH_DATE_TIME|07/19/1944}, seen 03/14/2018"
    assert marked(row, "redactor-33") == row
