import pytest

from tests.backends.rules.helpers import marked

FOUND = [
    "Data: {DATE|12/03/2021}", "Seen {DATE|03/14/2018} in clinic",  # day, month, year; month first
    "{DATE|2021-03-12} TC torace", "esame del {DATE|19.03.1951}, negativo",  # ISO; dots
    "Ingreso: {DATE|7-10-2020}.", "Alta {DATE|20/07/22}",  # hyphens, short; two-digit year
    "nata il {DATE|29/02/2020}", "dall'{DATE|11/03/2020}:",  # a leap day that was; after an elided article
    "ingresó el {DATE|12 de marzo de 2018}", "il {DATE|1° luglio 2014}",  # Spanish words; ordinal sign
    "l'{DATE|8 giugno 1943}", "On {DATE|June 8, 2021} she",  # month, day, year
    "on the {DATE|8th of June, 2021}", "{DATE|3 February 2020}", "{DATE|28 de diciembre de 2022}",
    "del {DATE|12 al 15 de mayo de 2003}", "dal {DATE|12 al 15 ottobre}", "{DATE|14 y 15 mayo}",  # a range; two days
    "{DATE|4 novembre}, in reparto", "alta el {DATE|12-mar-2019}",  # no year; short month between hyphens
    "RM {DATE|novembre 2018}", "en {DATE|enero de 2004}",  # month and year
    "a {DATE|principios de julio de 2007}",  # part of a month
    "revisión en {DATE|febrero}",  # month alone after a preposition
    "spending since {DATE|July}.", "Back in ({DATE|mid-April}, funeral)",
    "echo {DATE|11/2017}", "febbre dal {DATE|27/02}",  # month and year in figures; day and month, said to be a date
    "Labs {DATE|3/12}: Na 138",  # month first, said to be one
    "Hemocultivos {DATE|03/02} negativos", "reported on {DATE|9/30} at home",  # month written with a zero
    "nata {DATE|3.2.'55} a casa",
    "ricoverata dal {DATE|12.3.24} al {DATE|19.3.24}.", "all'{DATE|Epifania} e el {DATE|día de Reyes}",
    "il {DATE|26/03} e il {DATE|27/03}", "nel {DATE|2011}",  # a list; year after a preposition
    "colecistectomía ({DATE|1998})", "triennio {DATE|2011-2013}",  # year in brackets; years
    "accesso {DATE|sabato 29 febbraio 2020}", "prevista {DATE|sabato 28}.",  # weekday and date; weekday and day
    "control el {DATE|martes 27} en consulta", "Wt up since {DATE|Friday}, ankles swollen",  # weekday alone
    "el {DATE|viernes}.", "ham over {DATE|Christmas}", "dieta en {DATE|Navidad}",  # feast
    "Desde el {DATE|día 7} deambula", "La noche del {DATE|4 al 5} agitado",  # a day of the stay
    # Roman months, joined months, two figures of a year.
    "Ingreso el {DATE|12-III-2021}, alta el {DATE|5/XI/98} y revisión el {DATE|3.IV.22}. {DATE|5 XI 1998}",
    "visit {DATE|12Dec19}, DOB {DATE|12DEC1919}, {DATE|2019-Dec-12}, {DATE|Dec-12-2019}, {DATE|12.Dec.19}",
    "Born in {DATE|April of 87}. Surgery in {DATE|Feb '09} and {DATE|3/4}. Seen {DATE|Mar-98} with cough",
    # Days and years in words.
    "the {DATE|third of March 2019}, {DATE|twenty-first of May, nineteen ninety-eight}, {DATE|March the 19th}.",
    "On {DATE|March third} and {DATE|March nineteen, twenty nineteen}; {DATE|3rd of March two thousand and nineteen}",
    "el {DATE|tres de marzo de dos mil diecinueve}, el día {DATE|primero de mayo}, el {DATE|DOS DE ABRIL}",
    "{DATE|treinta y uno de enero de mil novecientos noventa y ocho}, {DATE|doce del mes de enero del año dos mil}",
    "il {DATE|tre marzo duemiladiciannove}, il {DATE|primo maggio}, l'{DATE|otto giugno millenovecentonovantotto}",
    "moved in {DATE|Aug. 2010}", "in {DATE|April}, then home",
]  # fmt: skip
LEFT = [
    "31/02/2020", "29/02/2021", "45/13/2020",  # no such day; no leap year; neither order
    "PA 130/85, FC 98", "TA 100/60 mmHg", "versione 1.2.15 del software",  # blood pressure; version
    "dolor 2/10", "Apgar 9/10", "fuerza 4/5 en pierna", "2/6 holosystolic murmur",  # score
    "sacubitril/valsartan 49/51 bid", "Score visivo 12/25.", "amoxi-clav 875/125 c/8h",  # dose
    "leucocitos 2000/mm3", "se transfunden 2000 ml", "hace 10 días",  # count; volume; a length of time
    "de lunes a viernes de 9 a 14 h", "Bebe vino los domingos", "She may march on",  # opening hours; a habit; verbs
    "mar 3 set 4", "anni 2 set di prove", "COVID-19", "L4-L5, C3-C4",  # short months that are words; levels
    "SpO2 99. FR 22",
    "she may first rest; May second opinion be given; the third may be late; the first of the May tests",
    "moved in Sept.", "5/X/3", "grado 2-III", "SEPT9 gene", "32Dec19",
]  # fmt: skip


@pytest.mark.parametrize("row", [*FOUND, *LEFT])
def test_dates(row: str) -> None:
    assert marked(row) == row


@pytest.mark.parametrize(
    ("row", "label_set"),
    [
        ("Operado en {FECHAS|1995} y el {FECHAS|año 2000}", "meddocan"),  # the word belongs to the span in MEDDOCAN
        ("DOB: {BIRTH_DATE_TIME|07/19/1944}, seen 03/14/2018", "redactor-33"),  # dates of birth alone
    ],
)
def test_dates_of_other_sets(row: str, label_set: str) -> None:
    assert marked(row, label_set) == row
