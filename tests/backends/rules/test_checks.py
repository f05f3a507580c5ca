import pytest

from models_runtime.backends.rules import codes

GOOD = {
    # With blanks, a woman's day, which is 40 more, letters for digits, and a wrong letter.
    codes.looks_like_codice_fiscale: ["RSSMRA80A01H501U", "rss mra 80a01 h501u", "RSSMRA80A41H501Y",
                                       "RSSMRA80B29H501X", "RSSMRALNALMHRLMX", "RSSMRA80A01H501X"],
    codes.partita_iva: ["12345678903", "IT12345678903"], codes.tessera_sanitaria: ["80380001234567890123"],
    codes.dni: ["12345678Z", "12.345.678-Z", "X1234567L"], codes.cif: ["A58818501", "Q2826000H"],
    codes.nass: ["281234567840"], codes.iban: ["GB82 WEST 1234 5698 7654 32", "ES9121000418450200051332"],
    codes.nhs: ["943 476 5919"], codes.ssn: ["219-09-9999"], codes.luhn: ["4539 1488 0343 6467"],
    codes.ipv4: ["192.0.2.17"],
}  # fmt: skip
BAD = {
    codes.looks_like_codice_fiscale: ["RSSMRA80A32H501U", "RSSMRA80B30H501U", "RSSMRA80F01H501U"],  # no such days
    codes.partita_iva: ["12345678901", "00000000000"], codes.tessera_sanitaria: ["80380"],
    codes.dni: ["12345678A", "X12345678"], codes.cif: ["A58818502"],
    codes.nass: ["281234567841", "991234567840"],  # a wrong check digit, and no such province
    codes.iban: ["GB82 WEST 1234 5698 7654 33"], codes.nhs: ["943 476 5918"],
    codes.ssn: ["666-12-3456", "900-12-3456", "219-00-9999", "219-09-0000"],
    codes.luhn: ["4539 1488 0343 6468", ""], codes.ipv4: ["192.0.2.256", "1.2.3"],
}  # fmt: skip


@pytest.mark.parametrize(("numbers", "right"), [(GOOD, True), (BAD, False)])
def test_numbers(numbers, right: bool) -> None:
    for check, rows in numbers.items():
        assert [number for number in rows if bool(check(number)) is not right] == [], check


@pytest.mark.parametrize("day", [(29, 2, 2020), (29, 2, 2000), (29, 2, None)])  # the last one in some year
def test_days_of_the_calendar(day: tuple[int, int, int | None]) -> None:
    assert codes.real_date(*day)
    for wrong in ((29, 2, 2021), (29, 2, 1900), (30, 2, None), (31, 4, 2020), (0, 1, 2020), (1, 13, 2020)):
        assert not codes.real_date(*wrong)
