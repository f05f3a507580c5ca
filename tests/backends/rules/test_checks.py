import pytest

from models_runtime.backends.rules import checks

GOOD = [
    (checks.looks_like_codice_fiscale, "RSSMRA80A01H501U"),
    (checks.looks_like_codice_fiscale, "rss mra 80a01 h501u"),  # small, with blanks
    (checks.looks_like_codice_fiscale, "RSSMRA80A41H501Y"),  # a woman's day is 40 more
    (checks.looks_like_codice_fiscale, "RSSMRA80B29H501X"),
    (checks.looks_like_codice_fiscale, "RSSMRALNALMHRLMX"),  # omocodia: letters for digits
    (checks.looks_like_codice_fiscale, "RSSMRA80A01H501X"),  # only the letter is wrong
    (checks.partita_iva, "12345678903"),
    (checks.partita_iva, "IT12345678903"),
    (checks.tessera_sanitaria, "80380001234567890123"),
    (checks.dni, "12345678Z"),
    (checks.dni, "12.345.678-Z"),
    (checks.dni, "X1234567L"),
    (checks.cif, "A58818501"),
    (checks.cif, "Q2826000H"),  # a check letter
    (checks.nass, "281234567840"),
    (checks.iban, "GB82 WEST 1234 5698 7654 32"),
    (checks.iban, "ES9121000418450200051332"),
    (checks.nhs, "943 476 5919"),
    (checks.ssn, "219-09-9999"),
    (checks.luhn, "4539 1488 0343 6467"),
    (checks.ipv4, "192.0.2.17"),
]
BAD = [
    (checks.looks_like_codice_fiscale, "RSSMRA80A32H501U"),  # no day 32
    (checks.looks_like_codice_fiscale, "RSSMRA80B30H501U"),  # no 30 February
    (checks.looks_like_codice_fiscale, "RSSMRA80F01H501U"),  # F is no month
    (checks.partita_iva, "12345678901"),
    (checks.partita_iva, "00000000000"),
    (checks.tessera_sanitaria, "80380"),
    (checks.dni, "12345678A"),
    (checks.dni, "X12345678"),
    (checks.cif, "A58818502"),
    (checks.nass, "281234567841"),
    (checks.nass, "991234567840"),  # no such province
    (checks.iban, "GB82 WEST 1234 5698 7654 33"),
    (checks.nhs, "943 476 5918"),
    (checks.ssn, "666-12-3456"),
    (checks.ssn, "900-12-3456"),
    (checks.ssn, "219-00-9999"),
    (checks.ssn, "219-09-0000"),
    (checks.luhn, "4539 1488 0343 6468"),
    (checks.luhn, ""),
    (checks.ipv4, "192.0.2.256"),
    (checks.ipv4, "1.2.3"),
]


@pytest.mark.parametrize(("check", "number"), GOOD)
def test_right_numbers(check, number: str) -> None:
    assert check(number)


@pytest.mark.parametrize(("check", "number"), BAD)
def test_wrong_numbers(check, number: str) -> None:
    assert not check(number)


@pytest.mark.parametrize(
    ("day", "month", "year", "real"),
    [
        (29, 2, 2020, True),
        (29, 2, 2021, False),
        (29, 2, 1900, False),  # a century
        (29, 2, 2000, True),  # a fourth century
        (29, 2, None, True),  # some year has it
        (30, 2, None, False),
        (31, 4, 2020, False),
        (0, 1, 2020, False),
        (1, 13, 2020, False),
    ],
)
def test_days_of_the_calendar(day: int, month: int, year: int | None, real: bool) -> None:
    assert checks.real_date(day, month, year) is real
