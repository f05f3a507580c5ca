"""Checks of numbers that carry a check digit, and of dates. Each takes the number as written, separators and all."""

import re
from calendar import monthrange
from typing import Final

_KEEP: Final = re.compile(r"[^0-9A-Za-z]")
_LETTERS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_DNI: Final = "TRWAGMYFPDXBNJZSQVHLCKE"
_CF_ODD: Final = (1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23)
# Digits that stand as letters where two persons would share a code.
_OMOCODIA: Final = str.maketrans("LMNPQRSTUV", "0123456789")
_CF_MONTHS: Final = "ABCDEHLMPRST"
_CF: Final = re.compile(r"[A-Z]{6}[0-9LMNPQRSTUV]{2}[ABCDEHLMPRST][0-9LMNPQRSTUV]{2}[A-Z][0-9LMNPQRSTUV]{3}[A-Z]")


def plain(number: str) -> str:
    """The letters and digits alone, in capitals."""
    return _KEEP.sub("", number).upper()


def real_date(day: int, month: int, year: int | None = None) -> bool:
    """Whether the calendar has this day; without a year, whether some year has it."""
    if not 1 <= month <= 12 or day < 1:
        return False
    return day <= (29 if year is None and month == 2 else monthrange(year or 2001, month)[1])


def codice_fiscale(number: str) -> bool:
    """Italian tax code: form, a birth day that exists, and the check letter (Decree of 23 December 1976).

    Women's days are raised by 40; digits may have turned into letters (omocodia).
    """
    code = plain(number)
    if not _CF.fullmatch(code):
        return False
    total = sum(_CF_ODD[_value(ch)] if at % 2 == 0 else _value(ch) for at, ch in enumerate(code[:15]))
    day = int(code[9:11].translate(_OMOCODIA))
    if not real_date(day - 40 if day > 40 else day, _CF_MONTHS.index(code[8]) + 1):
        return False
    return _LETTERS[total % 26] == code[15]


def looks_like_codice_fiscale(number: str) -> bool:
    """The form and a birth day that exists, whatever the check letter says: notes hold misread and invented codes."""
    code = plain(number)
    if not _CF.fullmatch(code):
        return False
    day = int(code[9:11].translate(_OMOCODIA))
    return real_date(day - 40 if day > 40 else day, _CF_MONTHS.index(code[8]) + 1)


def _value(ch: str) -> int:
    return int(ch) if ch.isdigit() else _LETTERS.index(ch)


def luhn(number: str) -> bool:
    """Luhn's check digit (ISO/IEC 7812-1): payment cards."""
    digits = [int(ch) for ch in plain(number) if ch.isdigit()]
    doubled = [digit * 2 - 9 * (digit > 4) for digit in digits[-2::-2]]
    return len(digits) > 1 and (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0


def partita_iva(number: str) -> bool:
    """Italian VAT number: 11 digits with Luhn's check digit."""
    code = plain(number).removeprefix("IT")
    return len(code) == 11 and code.isdigit() and code != "0" * 11 and luhn(code)


def tessera_sanitaria(number: str) -> bool:
    """Italian health card: 20 digits that begin with 80 (health), 380 (Italy)."""
    code = plain(number)
    return len(code) == 20 and code.isdigit() and code.startswith("80380")


def dni(number: str) -> bool:
    """Spanish DNI: 8 digits and a letter by mod 23; or NIE, where X, Y or Z stands for the first digit."""
    code = plain(number)
    if not re.fullmatch(r"[0-9XYZ][0-9]{7}[A-Z]", code):
        return False
    return _DNI[int(code[:-1].translate(str.maketrans("XYZ", "012"))) % 23] == code[-1]


def cif(number: str) -> bool:
    """Spanish tax number of a legal person: a letter, 7 digits, and a check digit or letter."""
    code = plain(number)
    if not re.fullmatch(r"[ABCDEFGHJNPQRSUVW][0-9]{7}[0-9A-J]", code):
        return False
    digits = [int(ch) for ch in code[1:8]]
    total = sum(digits[1::2]) + sum(sum(divmod(2 * digit, 10)) for digit in digits[0::2])
    check = -total % 10
    return code[8] in (str(check), "JABCDEFGHI"[check])


def nass(number: str) -> bool:
    """Spanish social security number: province (2), number (8), check (2) = the first ten digits mod 97."""
    code = plain(number)
    if not re.fullmatch(r"[0-9]{11,12}", code) or not 1 <= int(code[:2]) <= 66:
        return False
    province, serial, check = code[:2], code[2:-2], int(code[-2:])
    whole = int(province + serial) if int(serial) >= 10_000_000 else int(province) * 10_000_000 + int(serial)
    return whole % 97 == check


def iban(number: str) -> bool:
    """International bank account number: mod 97 of the rearranged digits is 1 (ISO 13616)."""
    code = plain(number)
    if not re.fullmatch(r"[A-Z]{2}[0-9]{2}[0-9A-Z]{11,30}", code):
        return False
    return int("".join(str(int(ch, 36)) for ch in code[4:] + code[:4])) % 97 == 1


def nhs(number: str) -> bool:
    """British NHS number: 10 digits, the last by mod 11 with weights 10 to 2."""
    code = plain(number)
    if not re.fullmatch(r"[0-9]{10}", code):
        return False
    check = 11 - sum(int(ch) * (10 - at) for at, ch in enumerate(code[:9])) % 11
    return check % 11 == int(code[9]) and check != 10


def ssn(number: str) -> bool:
    """US social security number: area not 000, 666 or 9xx, group not 00, serial not 0000."""
    code = plain(number)
    if not re.fullmatch(r"[0-9]{9}", code):
        return False
    return code[:3] not in ("000", "666") and code[0] != "9" and code[3:5] != "00" and code[5:] != "0000"


def npi(number: str) -> bool:
    """US national provider identifier: 10 digits, Luhn over 80840 and the number."""
    code = plain(number)
    return len(code) == 10 and code.isdigit() and luhn("80840" + code)


def ipv4(number: str) -> bool:
    """Four numbers from 0 to 255."""
    parts = number.split(".")
    return len(parts) == 4 and all(part.isdigit() and int(part) < 256 for part in parts)
