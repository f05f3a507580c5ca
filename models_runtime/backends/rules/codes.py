"""Numbers that are recognized by their form and check digit."""

import re
from calendar import monthrange
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

from stdnum import luhn as luhn_sum
from stdnum.es import cif as spanish_cif
from stdnum.es import dni as spanish_dni
from stdnum.es import nie as spanish_nie
from stdnum.gb import nhs as british_nhs
from stdnum.iso7064 import mod_97_10
from stdnum.it import codicefiscale

from models_runtime.backends.rules.gazetteers import RuleKind
from models_runtime.backends.rules.phrases import before
from models_runtime.backends.rules.rule import DIGITS, Finder, Found, declared, strong

# Checks of numbers with a check digit, and of dates. Each function takes the number as written, with separators.
#
# The check sums are those of python-stdnum. Some of its `is_valid` functions check more than form and check digit
# (lengths of IBANs by country, provinces in VAT numbers, numbers known to be invented). Here only the check sum counts,
# because such numbers are identifiers too.


_KEEP: Final = re.compile(r"[^0-9A-Za-z]")


def plain(number: str) -> str:
    """The letters and digits of a number, in capitals."""
    return _KEEP.sub("", number).upper()


def real_date(day: int, month: int, year: int | None = None) -> bool:
    """Whether the date exists; without a year, whether it exists in some year."""
    if not 1 <= month <= 12 or day < 1:
        return False
    return day <= (29 if year is None and month == 2 else monthrange(year or 2001, month)[1])


def looks_like_codice_fiscale(number: str) -> bool:
    """Whether form and birth date fit an Italian tax code. The check letter may be wrong: notes have misread codes."""
    code = plain(number)
    if len(code) != 16 or not code[15].isalpha():
        return False
    return codicefiscale.is_valid(code[:15] + codicefiscale.calc_check_digit(code[:15]))


def luhn(number: str) -> bool:
    """Luhn's check digit, as in payment cards (ISO/IEC 7812-1)."""
    digits = plain(number)
    return digits.isdigit() and len(digits) > 1 and luhn_sum.is_valid(digits)


def partita_iva(number: str) -> bool:
    """Italian VAT number: 11 digits, the last one Luhn's check digit."""
    code = plain(number).removeprefix("IT")
    return len(code) == 11 and code.isdigit() and code != "0" * 11 and luhn(code)


def tessera_sanitaria(number: str) -> bool:
    """Italian health card: 20 digits that begin with 80 (health) and 380 (Italy)."""
    code = plain(number)
    return len(code) == 20 and code.isdigit() and code.startswith("80380")


def dni(number: str) -> bool:
    """Spanish DNI (8 digits and a check letter, modulo 23) or NIE (X, Y or Z in place of the first digit)."""
    code = plain(number)
    return spanish_dni.is_valid(code) or spanish_nie.is_valid(code)


def cif(number: str) -> bool:
    """Spanish tax number of a legal person: a letter, 7 digits, and a check digit or letter."""
    return spanish_cif.is_valid(plain(number))


def nass(number: str) -> bool:
    """Spanish social security number: province (2 digits), number (8), and the first ten digits modulo 97 (2)."""
    code = plain(number)
    if not re.fullmatch(r"[0-9]{11,12}", code) or not 1 <= int(code[:2]) <= 66:
        return False
    province, serial, check = code[:2], code[2:-2], int(code[-2:])
    whole = int(province + serial) if int(serial) >= 10_000_000 else int(province) * 10_000_000 + int(serial)
    return whole % 97 == check


def iban(number: str) -> bool:
    """International bank account number: the rearranged digits modulo 97 are 1 (ISO 13616)."""
    code = plain(number)
    if not re.fullmatch(r"[A-Z]{2}[0-9]{2}[0-9A-Z]{11,30}", code):
        return False
    return mod_97_10.is_valid(code[4:] + code[:4])


def nhs(number: str) -> bool:
    """British NHS number: 10 digits, the last one a check digit modulo 11 with weights 10 to 2."""
    return british_nhs.is_valid(plain(number))


def ssn(number: str) -> bool:
    """US social security number: area not 000, 666 or 9xx; group not 00; serial not 0000."""
    code = plain(number)
    if not re.fullmatch(r"[0-9]{9}", code):
        return False
    return code[:3] not in ("000", "666") and code[0] != "9" and code[3:5] != "00" and code[5:] != "0000"


def ipv4(number: str) -> bool:
    """IPv4 address: four numbers from 0 to 255."""
    parts = number.split(".")
    return len(parts) == 4 and all(part.isdigit() and int(part) < 256 for part in parts)


_CHECKS: Final[Mapping[str, Callable[[str], bool]]] = {
    check.__name__: check
    for check in (looks_like_codice_fiscale, dni, cif, ssn, nass, nhs, tessera_sanitaria, partita_iva, iban, luhn)
}


def _valid(kind: RuleKind, expression: str, check: str, after: str = "") -> Finder:
    """A code at the trigger, a whole token that passes its check. `after` must match the end of the text before it."""
    code = re.compile(rf"(?<![0-9A-Za-z.\-/])(?:{expression})(?![0-9A-Za-z])")
    context, passes = re.compile(after), _CHECKS[check]

    def find(text: str, start: int, end: int) -> Iterable[Found]:
        match = code.match(text, start)
        if match is None or not context.search(before(text, start, 30)):
            return ()
        return [(*match.span(), kind)] if passes(match[0]) else ()

    return find


_LETTERS: Final = re.compile(r"(?<![A-Za-z])[A-Za-z]{3}[ ]?[A-Za-z]{3}[ ]?\Z")
_REST: Final = re.compile(r"[0-9]{2}[ ]?[A-Za-z][0-9]{2}[ ]?[A-Za-z][0-9]{3}[A-Za-z](?![0-9A-Za-z])")


def _tax_code(text: str, start: int, end: int) -> Iterator[Found]:
    """A tax code in small letters or in groups, `RSS MRA 80A01 H501U`, by the digits of the year in it."""
    rest = _REST.match(text, start)
    letters = _LETTERS.search(text[max(0, start - 9) : start]) if rest else None
    if rest and letters and looks_like_codice_fiscale(letters[0] + rest[0]):
        yield start - len(letters[0]), rest.end(), RuleKind.NATIONAL


RULES: Final = (
    *declared("checked", _valid, strong=True),
    strong("id.national.cf.it", _tax_code, 85, (DIGITS[2],), language="it"),
)
