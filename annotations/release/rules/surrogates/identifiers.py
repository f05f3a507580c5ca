"""Numbers and codes in the format of the original that nobody has been given.

A number with a correct check digit gets another one with a correct check digit; a number without one gets none by
accident. Where a range is known to be unissued, the new number is from it; elsewhere digits and letters are random.
Sources: Social Security Administration, "Social Security Number Randomization" (areas 000, 666 and 900-999 are never
issued; groups 50 and up of areas 900-999 are taxpayer numbers, so groups 01-49 are used); RFC 7042 (MAC addresses for
documentation, section 2.1.2); NHS Digital (NHS numbers that begin with 999 are for tests).
"""

import random
import re
import string
from collections.abc import Callable, Mapping
from datetime import date, timedelta
from typing import Final, NamedTuple

from stdnum import luhn
from stdnum.es import ccc
from stdnum.es import dni as spanish_dni
from stdnum.es import nie as spanish_nie
from stdnum.gb import nhs as british_nhs
from stdnum.iso7064 import mod_97_10
from stdnum.it import codicefiscale

from annotations.release.rules.redaction.calendars import offset_of
from annotations.release.rules.redaction.policy import IdentifierType
from annotations.release.rules.surrogates.folding import compact, digits, plain, pour, scrambled

_CONSONANTS: Final = "BCDFGHJKLMNPRSTVWXYZ"


def _dni(rng: random.Random, code: str) -> str:
    number = f"9{digits(rng, 7)}"
    return number + spanish_dni.calc_check_digit(number)


def _nie(rng: random.Random, code: str) -> str:
    number = f"Z9{digits(rng, 6)}"
    return number + spanish_nie.calc_check_digit(number)


def valid_nuss(code: str) -> bool:
    """Whether the check digits, modulo 97, of a Spanish social security number of 11 or 12 digits are correct."""
    return _nuss_check(code[:2], code[2:-2]) == int(code[-2:])


def _nuss_check(province: str, serial: str) -> int:
    whole = int(province + serial) if int(serial) >= 10_000_000 else int(province) * 10_000_000 + int(serial)
    return whole % 97


def _nuss(rng: random.Random, code: str) -> str:
    province = f"9{rng.randint(0, 9)}"  # provinces end at 66
    serial = rng.choice("123456789") + digits(rng, len(code) - 5)
    return f"{province}{serial}{_nuss_check(province, serial):02d}"


def _ssn(rng: random.Random, code: str) -> str:
    return f"9{digits(rng, 2)}{rng.randint(1, 49):02d}{rng.randint(1, 9999):04d}"


def _nhs(rng: random.Random, code: str) -> str:
    while True:  # a tenth of the numbers has no check digit
        start = "999" + digits(rng, 6)
        if found := next((start + check for check in string.digits if british_nhs.is_valid(start + check)), ""):
            return found


def _npi(rng: random.Random, code: str) -> str:
    start = "2" + digits(rng, 8)  # all numbers issued so far begin with 1
    return start + luhn.calc_check_digit("80840" + start)


def valid_npi(code: str) -> bool:
    """Whether a US National Provider Identifier is correct: Luhn's check digit over 80840 and the number."""
    return luhn.is_valid("80840" + code)


_CARDS: Final = {"3": "378282", "4": "400000", "5": "555555", "6": "601111", "2": "222300"}


def _card(rng: random.Random, code: str) -> str:
    start = _CARDS.get(code[0], "400000")
    start += digits(rng, len(code) - len(start) - 1)
    return start + luhn.calc_check_digit(start)


def _vat(rng: random.Random, code: str) -> str:
    start = rng.choice("123456789") + digits(rng, 6) + "000"  # no province has the code 000
    return start + luhn.calc_check_digit(start)


def valid_iban(code: str) -> bool:
    """Whether an IBAN's check digits are correct (ISO 13616)."""
    return mod_97_10.is_valid(code[4:] + code[:4])


def _iban(rng: random.Random, code: str) -> str:
    country, rest = code[:2], code[4:]
    if country == "ES" and len(rest) == 20:
        bank, number = "9999" + digits(rng, 4), digits(rng, 10)
        rest = bank + ccc.calc_check_digits(f"{bank}00{number}") + number
    elif country == "IT" and len(rest) == 23:
        account = "99999" + digits(rng, 5) + digits(rng, 12)
        rest = _cin(account) + account
    else:
        rest = "".join(
            letter if letter.isalpha() else "9" if at < 4 else rng.choice(string.digits)
            for at, letter in enumerate(rest)
        )
    return country + mod_97_10.calc_check_digits(rest + country) + rest


_ODD: Final = (1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23)


def _cin(account: str) -> str:
    """The check letter of an Italian account number, over bank, branch and account."""
    values = [int(letter) if letter.isdigit() else ord(letter) - 65 for letter in account]
    return chr(65 + sum(value if at % 2 else _ODD[value] for at, value in enumerate(values)) % 26)


def tax_code(given: str, family: str, gender: str, born: date, rng: random.Random) -> str:
    """An Italian codice fiscale of a made-up person; its municipality, M900 to M999, doesn't exist."""
    day = born.day + (40 if gender == "f" else 0)
    start = (
        f"{_three(family, False)}{_three(given, True)}{born.year % 100:02d}"
        f"{'ABCDEHLMPRST'[born.month - 1]}{day:02d}M9{digits(rng, 2)}"
    )
    return start + codicefiscale.calc_check_digit(start)


def _three(name: str, given: bool) -> str:
    letters = [letter for letter in plain(name).upper() if "A" <= letter <= "Z"]
    consonants = [letter for letter in letters if letter not in "AEIOU"]
    if given and len(consonants) > 3:
        consonants = [consonants[0], *consonants[2:4]]
    vowels = [letter for letter in letters if letter in "AEIOU"]
    return "".join([*consonants, *vowels, "X", "X", "X"][:3])


def birth_in(code: str) -> tuple[date, str] | None:
    """The birth date and gender in a correct codice fiscale, years up to 09 in this century; None otherwise."""
    if len(code) != 16 or not code[9:11].isdigit() or not codicefiscale.is_valid(code):
        return None
    return codicefiscale.get_birth_date(code, 1910), codicefiscale.get_gender(code).lower()


_VIN: Final = dict(
    zip("0123456789ABCDEFGHJKLMNPRSTUVWXYZ", [*range(10), *range(1, 9), *range(1, 6), 7, 9, *range(2, 10)], strict=True)
)
_VIN_WEIGHTS: Final = (8, 7, 6, 5, 4, 3, 2, 10, 0, 9, 8, 7, 6, 5, 4, 3, 2)


def vin_check(code: str) -> str:
    """The ninth character of a vehicle identification number (49 CFR 565.15)."""
    total = sum(_VIN[letter] * weight for letter, weight in zip(code, _VIN_WEIGHTS, strict=True)) % 11
    return "X" if total == 10 else str(total)


def _vin(rng: random.Random, code: str) -> str:
    new = "".join(rng.choice(string.digits if letter.isdigit() else _CONSONANTS.replace("Q", "")) for letter in code)
    return new[:8] + vin_check(new) + new[9:]


# A current plate of Spain (1234 BCD) or Italy (AB 123 CD): series reach Z only in decades.
_PLATE: Final = re.compile(r"[0-9]{4}[A-Z]{3}|[A-Z]{2}[0-9]{3}[A-Z]{2}")


def new_number(
    rng: random.Random,
    text: str,
    *,
    kind: str,
    language: str,
    owner: Mapping[str, str],
    days: int = 0,
    loose: bool = False,
) -> str:
    """Another number in the format of `text`. `owner`: the parts of the surrogate of the person whom it identifies.

    `days`: by how much a birth date in a code is shifted; 0 for a random offset. `loose`: codes of provinces may become
    any digits.
    """
    code = compact(text)
    if (found := birth_in(code)) is not None:
        given, family = (
            owner.get(part) or "".join(rng.choice(_CONSONANTS) for _ in range(3)) for part in ("given", "family")
        )
        born = found[0] + timedelta(days=days or offset_of(rng.getrandbits(64)))
        return pour(tax_code(given, family, owner.get("gender") or found[1], born, rng), text)
    for one in _CHECKED:
        fits = language.startswith(one.language) and (not one.kinds or kind in one.kinds)
        if fits and re.fullmatch(one.pattern, code) and one.valid(code):
            return pour(one.make(rng, code), text)
    if kind == "device" and re.fullmatch(r"[0-9A-F]{2}([:-][0-9A-F]{2}){5}", text.strip(), re.IGNORECASE):
        return pour(f"00005E0053{rng.randint(0, 255):02X}", text)
    if kind == "vehicle":
        new = scrambled(rng, text)
        return re.sub(r"[^\W\d_]+", lambda found: _plate(rng, found.group(0)), new) if _PLATE.fullmatch(code) else new
    return scrambled(rng, text, loose=loose)


def _plate(rng: random.Random, letters: str) -> str:
    return "Z" + "".join(rng.choice(_CONSONANTS) for _ in letters[1:])


class _CheckedCode(NamedTuple):
    """Codes that are all correct or not: their pattern, and how to make another correct one. `kinds`: empty for any."""

    pattern: str
    valid: Callable[[str], bool]
    make: Callable[[random.Random, str], str]
    language: str = ""
    kinds: frozenset[str] = frozenset()


_CHECKED: Final = (
    _CheckedCode(r"[0-9]{8}[A-Z]", spanish_dni.is_valid, _dni),
    _CheckedCode(r"[XYZ][0-9]{7}[A-Z]", spanish_nie.is_valid, _nie),
    _CheckedCode(r"[0-9]{11,12}", valid_nuss, _nuss, "es"),
    _CheckedCode(r"[0-9]{9}", bool, _ssn, "en", frozenset({"national id"})),
    _CheckedCode(r"[12][0-9]{9}", valid_npi, _npi, "en"),
    _CheckedCode(r"[0-9]{10}", british_nhs.is_valid, _nhs, "en", frozenset(IdentifierType) - {IdentifierType.LICENSE}),
    _CheckedCode(r"[A-Z]{2}[0-9]{2}[0-9A-Z]{11,30}", valid_iban, _iban),
    _CheckedCode(r"[2-6][0-9]{12,18}", luhn.is_valid, _card, kinds=frozenset({"account", "id"})),
    _CheckedCode(r"[0-9]{11}", luhn.is_valid, _vat, "it"),
    _CheckedCode(r"[0-9A-HJ-NPR-Z]{17}", lambda code: vin_check(code) == code[8], _vin),
)
