"""Dates in many formats: shifted with intervals, format and precision kept, or reduced to the year."""

import re
from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotations.release.rules.redaction.ages import generalized_age, latest_year, told_in
from annotations.release.rules.redaction.calendars import _GROUPS
from annotations.release.rules.redaction.dates import names_day, shifted, year_of, years
from annotations.release.rules.redaction.operators import region_of, short_zip

DATES = st.dates(date(1930, 1, 1), date(2090, 12, 31))
DAYS = st.integers(-800, 800).filter(bool)
NAMES = {language: _GROUPS[f"{language} months"] for language in ("en", "es", "it")}
FORMATS = {
    "en": ("{m:02}/{d:02}/{y}", "{y}-{m:02}-{d:02}", "{m:02}-{d:02}-{y}", "{name} {d}, {y}", "{y}{m:02}{d:02}"),
    "es": ("{d:02}/{m:02}/{y}", "{d:02}.{m:02}.{y}", "{d} de {name} de {y}", "{d}-{name}-{y}", "{y}/{m:02}/{d:02} 9 h"),
    "it": ("{d:02}/{m:02}/{y}", "{d} {name} {y}", "{d:02}.{m:02}.{y} 12.30", "{y}-{m:02}-{d:02}T10:30:00Z"),
}
WRITTEN = st.sampled_from([(language, form) for language, forms in FORMATS.items() for form in forms])


def written(day: date, language: str, form: str) -> str:
    return form.format(d=day.day, m=day.month, y=day.year, name=NAMES[language][day.month - 1])


@given(DATES, DAYS, WRITTEN)
def test_a_full_date_moves_by_the_days_in_its_own_format(day: date, days: int, how: tuple[str, str]) -> None:
    moved = written(day + timedelta(days=days), *how)
    assert shifted(written(day, *how), days, how[0]) == moved and shifted(moved, -days, how[0]) == written(day, *how)


@given(DATES, st.integers(0, 27), DAYS)
def test_the_interval_of_a_range_is_kept_over_months_and_years(first: date, length: int, days: int) -> None:
    """Ranges share a month before they move, and perhaps not afterwards."""
    second = first + timedelta(days=length)
    if second.month != first.month:
        return
    moved = shifted(f"{first.day:02}-{second.day:02}/{first:%m/%Y}", days, "es")
    found = re.fullmatch(r"(\d\d)(?:/(\d\d))?(?:/(\d{4}))?-(\d\d)/(\d\d)/(\d{4})", moved or "")
    assert found is not None
    day, month, year, *last = found.groups()
    start, end = date(int(year or last[2]), int(month or last[1]), int(day)), date(*map(int, reversed(last)))
    assert (start, end) == (first + timedelta(days=days), second + timedelta(days=days))


@given(st.integers(1, 12), st.integers(1, 28), DAYS)
def test_a_date_without_a_year_moves_back_to_itself(month: int, day: int, days: int) -> None:
    text = f"{day:02}/{month:02}"
    moved = shifted(text, days, "es")
    assert moved is not None and shifted(moved, -days, "es") == text


SHIFTED = [
    ("12/03/2021", "es", 20, "01/04/2021"), ("12/03/2021", "en", 20, "12/23/2021"),
    ("25/12/2021", "en", 20, "14/01/2022"),  # no month 25
    ("12/25/2021", "it", 20, "01/14/2022"), ("12.3.21", "it", 20, "1.4.21"), ("31.12.99", "it", 1, "01.01.00"),
    ("12/03/'21", "es", 20, "01/04/'21"), ("12/03 /2021", "es", 20, "01/04 /2021"),
    ("12\u00a0marzo\u00a02021", "it", 20, "1\u00a0aprile\u00a02021"),  # as typeset
    ("12\u201103\u20112021", "es", 20, "01\u201104\u20112021"),
    ("2021-03-12T10:30:00Z", "en", 20, "2021-04-01T10:30:00Z"),
    ("2021-03-12 10:30:00.5+01:00", "en", 20, "2021-04-01 10:30:00.5+01:00"), ("20210312", "en", 20, "20210401"),
    ("3 de marzo de 2021", "es", 30, "2 de abril de 2021"), ("03 de marzo de 2021", "es", 30, "02 de abril de 2021"),
    ("3 DE MARZO DE 2021", "es", 30, "2 DE ABRIL DE 2021"), ("marzo de 2021", "es", 20, "abril de 2021"),
    ("Marzo 2021", "it", 20, "Aprile 2021"),
    ("marzo 2021", "it", 16, "marzo 2021"),  # from the 15th to the 31st
    ("marzo 2021", "it", 17, "aprile 2021"), ("mar 2021", "es", 20, "abr 2021"), ("Jan. 2021", "en", 20, "Feb. 2021"),
    ("ENE-99", "es", 20, "FEB-99"), ("setiembre 2020", "es", 30, "octubre 2020"), ("2013", "en", 20, "2013"),
    ("2013", "en", 183, "2014"), ("año 2000", "es", -200, "año 1999"), ("2010-2012", "en", 366, "2011-2013"),
    ("2010-13", "en", 366, "2011-14"), ("'99", "en", 366, "'00"), ("3/12", "es", 5, "8/12"), ("3/12", "en", 20, "4/1"),
    ("29/02", "es", 1, "01/03"), ("3/2021", "en", 20, "4/2021"), ("2021-03", "en", 20, "2021-04"),
    ("5/99", "en", 20, "6/99"), ("March 12th, 2021", "en", 20, "April 1st, 2021"),
    ("the 1st and 2nd of March", "en", 11, "the 12th and 13th of March"), ("1° luglio 2014", "it", 2, "3 luglio 2014"),
    ("1º de mayo", "es", 365, "1º de mayo"), ("5º de mayo", "es", 2, "7º de mayo"),
    ("12MAR2021", "en", 20, "1APR2021"), ("12-mar-21", "es", 20, "1-abr-21"),
    ("12-14/03/2021", "es", 5, "17-19/03/2021"), ("30-31/03/2021", "es", 1, "31/03-01/04/2021"),
    ("12/30-31/2020", "en", 1, "12/31/2020-01/01/2021"),
    ("12, 13 y 14 de marzo de 2021", "es", 18, "30, 31 de marzo y 1 de abril de 2021"),
    ("30 al 31 de diciembre de 2020", "es", 1, "31 de diciembre de 2020 al 1 de enero de 2021"),
    ("March 30-31, 2021", "en", 1, "March 31-April 1, 2021"),
    ("December 30-31, 2020", "en", 1, "December 31, 2020-January 1, 2021"),
    ("febrero y abril de 2009", "es", 31, "marzo y mayo de 2009"),
    ("octubre y noviembre de 2009", "es", 31, "noviembre y diciembre de 2009"),
    ("noviembre-diciembre de 2009", "es", 31, "diciembre de 2009-enero de 2010"),
    ("28/12-02/01/2021", "es", 20, "17/01-22/01/2021"), ("12/03/2021-14/03/2021", "es", 20, "01/04/2021-03/04/2021"),
    ("9/12/2010 - 9/15/2010", "en", 20, "10/2/2010 - 10/5/2010"), ("06/07-06/09", "en", 20, "06/27-06/29"),
    ("lunes 12/03/2021", "es", 1, "martes 13/03/2021"), ("Tuesday", "en", 3, "Friday"), ("TUE", "en", 3, "FRI"),
    ("sabado", "es", -3, "miercoles"), ("sábado", "es", -3, "miércoles"),
    ("mar 12/03/2021", "it", 1, "mer 13/03/2021"), ("Tues 3/12/21 at 5 pm", "en", 20, "Mon 4/1/21 at 5 pm"),
    ("15 de junio a las 10:30 h", "es", 20, "5 de julio a las 10:30 h"),
    ("12/03/2021 ore 10.30", "it", 20, "01/04/2021 ore 10.30"), ("late March 2013", "en", 30, "late April 2013"),
    ("del 12 marzo 2021", "it", 1, "del 13 marzo 2021"), ("29/02/2020", "es", 366, "01/03/2021"),
    ("12 gennaio 2021", "en", 20, "1 febbraio 2021"),  # the month has its language, whatever the note's
]  # fmt: skip


@pytest.mark.parametrize(("text", "language", "days", "expected"), SHIFTED)
def test_each_format_is_kept(text: str, language: str, days: int, expected: str | None) -> None:
    assert shifted(text, days, language) == expected


UNDECIPHERABLE = [
    ("31/02/2021", "es"), ("29/02/2021", "es"), ("32/13/2021", "en"), ("0/0/2021", "en"),
    ("Hospital 12 de Octubre", "es"), ("Easter 2021", "en"),
    ("marzo 12", "es"),  # a day or a year
    ("Mar-12", "en"), ("24000/2018", "es"), ("20 años", "es"), ("yesterday", "en"), ("", "en"),
    ("10:30", "en"),  # a time alone
    ("01/01/1000", "es"),  # moved before the year 1000
    ("²/3/2021", "en"),
    ("2021 " * 50, "en"),  # too long for a date
]  # fmt: skip


@pytest.mark.parametrize(("text", "language"), UNDECIPHERABLE)
def test_what_is_not_understood_completely_is_undecipherable(text: str, language: str) -> None:
    assert shifted(text, -400, language) is None


YEARS = [
    ("12/03/2021", "es", "2021"), ("12/03/21", "es", "'21"), ("2021-03-12 10:30", "en", "2021"),
    ("lunes 3 de marzo de 2021", "es", "2021"), ("año 2000", "es", "año 2000"), ("2010-2012", "en", "2010-2012"),
    ("early 2013", "en", "2013"), ("Diciembre de 2006 y enero de 2007", "es", "2006-2007"),
    ("summer of 2013", "en", "2013"), ("12 de Octubre", "es", None), ("lunes", "es", None), ("3/12", "es", None),
    ("31/02/2021", "es", None), ("Easter", "en", None), ("room 2013-2", "en", None), ("the 1990's", "en", None),
]  # fmt: skip


@pytest.mark.parametrize(("text", "language", "expected"), YEARS)
def test_only_the_years_of_a_date_remain(text: str, language: str, expected: str | None) -> None:
    assert year_of(text, language) == expected


def test_years_and_days() -> None:
    # Two digits stand for 1940 to 2039.
    found = [years(text, "es") for text in ("12/03/39", "12/03/40", "2010-2012", "Easter")]
    assert found == [[2039], [1940], [2010, 2012], []]
    # Months and years name no day, and what is undecipherable may.
    named = [names_day(text, "es") for text in ("marzo de 2021", "2021", "lunes", "12 de marzo", "Easter 2021")]
    assert named == [False, False, False, True, True]


@given(st.text(alphabet="0123456789/-. ,ademrzopil'’:T", max_size=40), DAYS)
def test_no_text_breaks_it(text: str, days: int) -> None:
    for language in ("en", "es", "it", ""):
        shifted(text, days, language)
        year_of(text, language)


# ── Ages over 89, aggregated ─────────────────────────────────────────────────────────────────────────────────────────


AGES = [
    ("89 años", "89 años"), ("90 años", "90+ años"), ("92-year-old", "90+-year-old"), ("102", "90+"),
    ("95 y.o.", "90+ y.o."), ("in his 90s", "in his 90+"), ("85-95", "85-90+"), ("92 y 88 años", "90+ y 88 años"),
    ("18 months", "18 months"), ("100 meses", "100 meses"), ("40 días", "40 días"), ("1,5 años", "1,5 años"),
    ("ninety-two", "over 89"), ("one hundred and two", "over 89"), ("noventa y dos años", "más de 89 años"),
    ("novantadue anni", "oltre 89 anni"), ("diez años", "diez años"), ("trentadue anni", "trentadue anni"),
    ("forty-five", "forty-five"), ("90+", "90+"), ("95 + years", "90+ years"), ("0.500", "0.500"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), AGES)
def test_ages_over_89_are_aggregated_and_others_stay(text: str, expected: str) -> None:
    assert generalized_age(text) == expected


# A year; months, or male; and others
NO_AGES = ["1928", "92 M", "elderly", "lattante", "recién nacido", "1100 months", "Ann, 45 years", "",
           "1,200 months", "1.200 mesi", "1 200 months", "4,700 weeks"]  # fmt: skip


@pytest.mark.parametrize("text", NO_AGES)
def test_what_is_no_age_that_can_be_read_is_none(text: str) -> None:
    assert generalized_age(text) is None


TOLD = [
    ("A 94-year-old, aged 95, in her 90s", ["94-year-old", "aged 95", "in her 90s"]),
    ("Age: 94; 101 y/o; 92 yo M; 1,200 months old", ["Age: 94", "101 y/o", "92 yo", "1,200 months"]),
    ("age: 1 200 months", ["1 200 months"]), ("Age: 94 120/80", ["Age: 94"]),
    ("mujer de 94 años, edad: 95", ["94 años", "edad: 95"]),
    ("età 99, 96 anni, novantenne", ["età 99", "96 anni", "novantenne"]),
    ("una 94enne, 95 aa, uomo di anni 96, negli anni 90, novantaquattro anni",
     ["94enne", "95 aa", "di anni 96", "novantaquattro anni"]),
    ("un ultranovantenne, 94yoM", ["94yoM", "ultranovantenne"]),
    ("a nonagenarian, ninety-four years old", ["nonagenarian", "ninety-four years old"]),
    ("varón de 94 a. con tos; 95a, 96 a, acude; 97 a con", ["94 a.", "95a", "96 a", "97 a"]),
    ("94 ans, 95 Jahre, 96-jährige, 97 anos", ["94 ans", "95 Jahre", "96-jährige", "97 anos"]),
    ("She is ninety-four. Tiene noventa y cinco. Ha novantasei.", ["ninety-four", "noventa y cinco", "novantasei"]),
    ("in her late nineties; one hundred and two years old; ciento dos años; centodue anni",
     ["her late nineties", "one hundred and two years old", "ciento dos años", "centodue anni"]),
    ("94 a 98 lpm, 94 a. m., sala 94A, B94a, 94a-95, ninety percent, ninety-four days, noventa y cuatro kg", []),
    ("los noventa, años noventa, anni novanta, noventa por ciento, per cento, cien por cien, 89 a.", []),
    ("90+ years, aged 90 or older, 45-year-old, age 91 months, 900 months, 95%, 120/80, 200 years old", []),
    ("Born in 1919, seen in 2019", ["1919"]), ("DOB 12 Dec 1919; 3/4/2015", ["1919"]),
    ("nata nel 1920, 2021", ["1920"]),
    ("She turned 94 on her 95th birthday. Age/sex: 96/F. A man of 97, Age (years): 98, 99\nyears, her ninetieth year",
     ["turned 94", "95th birthday", "96/F", "man of 97", "Age (years): 98", "99\nyears", "ninetieth year"]),
    ("cumplió 94; mujer de 95, 96/V; ha compiuto 97; 98° compleanno; supercentenaria",
     ["cumplió 94", "mujer de 95", "96/V", "compiuto 97", "98° compleanno", "supercentenaria"]),
    ("YOB 1918, classe 1919, née en 1920. 2021", ["1918", "1919", "1920"]),
    ("paciente de 94 kg, woman of 95 cm, 96/98, turned 91 months, 97 years ago, aged 99 days", []),
    ("Born in 1930, seen in 2019; since 1919", []), ("born in 1919", []),
]  # fmt: skip


@pytest.mark.parametrize(("text", "found"), TOLD)
def test_what_tells_an_age_over_89(text: str, found: list[str]) -> None:
    assert [text[start:end] for start, end in told_in(text, latest_year(text))] == found


# ── Places, generalized ──────────────────────────────────────────────────────────────────────────────────────────────


PLACES = [
    ("BOSTON", "en", "Massachusetts"), ("Boston, MA", "en", "Massachusetts"), ("ma", "en", "Massachusetts"),
    ("Madrid", "es", "Comunidad de Madrid"), ("Vizcaya", "es", "País Vasco"), ("Lerida", "es", "Cataluña"),
    ("Forlì", "it", "Emilia-Romagna"), ("Boston", "it", "Massachusetts"), ("Toledo", "es", "Castilla-La Mancha"),
    ("Toledo", "en", "Ohio"),
    ("Toledo", "it", None),  # two countries have it, and none of them is the note's
    ("Boston, Toledo", "en", None),  # two states
    ("Nowhere", "en", None), ("", "en", None),
]  # fmt: skip


@pytest.mark.parametrize(("text", "language", "expected"), PLACES)
def test_a_place_becomes_its_region(text: str, language: str, expected: str | None) -> None:
    assert region_of(text, language) == expected


ZIPS = [
    ("02139", "en", "021"), ("02139-4307", "en", "021"), ("02139-4307", "es", "021"), ("03601", "en", "000"),
    ("28029", "es", None), ("28029", "", None), ("0213", "en", None), ("02139x", "en", None),
]  # fmt: skip


@pytest.mark.parametrize(("text", "language", "expected"), ZIPS)
def test_a_zip_code_becomes_three_digits(text: str, language: str, expected: str | None) -> None:
    assert short_zip(text, language) == expected
