"""Numbers that are recognized by their form and check digit."""

import re
from calendar import monthrange
from collections.abc import Callable, Iterable
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
from models_runtime.backends.rules.rule import CODE_TRIGGER, Finder, Found, strong

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


def _valid(kind: RuleKind, expression: str, check: Callable[[str], bool], *, after: str = "") -> Finder:
    """A code at the trigger, a whole token that passes its check. `after` must match the end of the text before it."""
    code = re.compile(rf"(?<![0-9A-Za-z.\-/])(?:{expression})(?![0-9A-Za-z])")
    context = re.compile(after) if after else None

    def find(text: str, start: int, end: int) -> Iterable[Found]:
        match = code.match(text, start)
        if match is None or (context and not context.search(before(text, start, 30))):
            return ()
        return [(*match.span(), kind)] if check(match[0]) else ()

    return find


_TAX_LETTER: Final = "[0-9LMNPQRSTUVlmnpqrstuv]"
_TAX_CODE: Final = (
    rf"[A-Za-z]{{6}}[ ]?{_TAX_LETTER}{{2}}[A-Za-z]{_TAX_LETTER}{{2}}[ ]?[A-Za-z]{_TAX_LETTER}{{3}}[A-Za-z]"
)

RULES: Final = (
    # A wrong check letter is accepted: notes have misread and invented codes, and no word has this form.
    strong("id.national.cf", _valid(RuleKind.NATIONAL, _TAX_CODE, looks_like_codice_fiscale), 85, (CODE_TRIGGER,)),
    strong(
        "id.national.dni",
        _valid(
            RuleKind.NATIONAL, r"(?:[0-9]{8}|[XYZxyz][\- ]?[0-9]{7}|[0-9]{1,2}\.[0-9]{3}\.[0-9]{3})[\- ]?[A-Za-z]", dni
        ),
        82,
    ),
    strong("id.national.cif", _valid(RuleKind.NATIONAL, r"[A-Z][\- ]?[0-9]{7}[0-9A-J]", cif), 70, capital=True),
    strong("id.social.ssn.form", _valid(RuleKind.SOCIAL_SECURITY, r"[0-9]{3}-[0-9]{2}-[0-9]{4}", ssn), 70),
    strong(
        "id.social.nass.checked", _valid(RuleKind.SOCIAL_SECURITY, r"[0-9]{2}[ /\-]?[0-9]{8}[ /\-]?[0-9]{2}", nass), 68
    ),
    strong(
        "id.nhs", _valid(RuleKind.RECORD, r"[0-9]{3}[ \-]?[0-9]{3}[ \-]?[0-9]{4}", nhs, after=r"nhs[^0-9]{0,12}\Z"), 81
    ),
    strong("id.card.italy", _valid(RuleKind.HEALTH_CARD, r"[0-9]{20}", tessera_sanitaria), 80),
    strong(
        "id.national.piva.checked",
        _valid(RuleKind.NATIONAL, r"[0-9]{11}", partita_iva, after=r"(?:p\.? ?iva|partita iva|vat)[^0-9]{0,8}\Z"),
        80,
    ),
    strong(
        "id.account.iban",
        _valid(RuleKind.ACCOUNT, r"[A-Z]{2}[0-9]{2}(?:[ ]?[0-9A-Z]{1,4}){3,8}+", iban),
        85,
        capital=True,
    ),
    strong(
        "id.account.card",
        _valid(
            RuleKind.ACCOUNT,
            r"[3-6][0-9]{3}[ \-]?(?:[0-9]{4}[ \-]?[0-9]{4}[ \-]?[0-9]{4}|[0-9]{6}[ \-]?[0-9]{4,5})",
            luhn,
        ),
        82,
    ),
)
