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
from annotations.release.rules.surrogates.folding import compact, digits, plain, pour, scrambled, scrambled_digits
from annotations.release.rules.surrogates.gazetteers import word_groups

_CONSONANTS: Final = "BCDFGHJKLMNPRSTVWXYZ"


def _closed(number: str, check_digit: Callable[[str], str]) -> str:
    """The number with its check digit or letter."""
    return number + check_digit(number)


def _dni(rng: random.Random, code: str) -> str:
    return _closed(f"9{digits(rng, 7)}", spanish_dni.calc_check_digit)


def _nie(rng: random.Random, code: str) -> str:
    return _closed(f"Z9{digits(rng, 6)}", spanish_nie.calc_check_digit)


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
    return _closed(start + digits(rng, len(code) - len(start) - 1), luhn.calc_check_digit)


def _vat(rng: random.Random, code: str) -> str:
    # No province has the code 000.
    return _closed(rng.choice("123456789") + digits(rng, 6) + "000", luhn.calc_check_digit)


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


# Surrogates of telephone numbers and Internet addresses, from ranges that belong to nobody.
#
# Sources: Ofcom, "Telephone numbers for use in TV and radio drama programmes"; North American Numbering Plan
# Administration, "555 Line Numbers" (0100-0199 are for fiction); RFC 2606 (example domains), RFC 3849 and RFC 5737 (IP
# addresses for documentation); ITU, "List of ITU-T Recommendation E.164 assigned country codes".

# Ofcom's prefixes by the start of the original; all digits are eleven.
_FICTION_GB: Final = [entry.split("=") for entry in word_groups("kept_words.txt")["fiction gb"]]


def new_phone(rng: random.Random, text: str, language: str) -> str:
    """Another telephone number in the format of `text`, from a range for fiction or one that isn't assigned.

    Spain: 99 (no province) for 8 and 9, 79 (no operator) for 6 and 7. Italy: 0348 and 0349 (no district), 395 and 396
    (no operator). An extension of up to five digits after a word is scrambled.
    """
    main = re.match(r"^(.*?\d)(\s*(?:ext|x|ext\.|int\.?|interno|extensi[oó]n)\W*\d{1,6})\s*$", text, re.IGNORECASE)
    if main:
        return new_phone(rng, main.group(1), language) + scrambled_digits(rng, main.group(2))
    number = _digits(text)
    if re.search(r"[^\W\d_]", text):
        return scrambled_digits(rng, text)
    prefix = ""
    for code in ("0034", "34", "0039", "39", "0044", "44", "001", "1"):
        whole = number.startswith(code) and len(number) - len(code) in _LENGTHS[code.lstrip("0")]
        if whole and ("+" in text or code.startswith("00") or len(number) > 9):
            prefix = code
            break
    rest = number[len(prefix) :]
    country = {"34": "es", "39": "it", "44": "gb", "1": "us"}.get(prefix.lstrip("0"), "")
    if not country:
        country = {"es": "es", "it": "it"}.get(language[:2], "gb" if number.startswith("0") else "us")
    new = _national(rng, rest, country)
    return pour(prefix + new, text) if new else scrambled_digits(rng, text)


_AREA_CODES: Final = "205 303 312 404 415 503 512 602 615 617 702 704 713 801 808 816 901"  # of the United States
_LENGTHS: Final = {"34": (9,), "39": (8, 9, 10, 11), "44": (9, 10), "1": (10,)}


def _national(rng: random.Random, rest: str, country: str) -> str:
    if country == "es" and len(rest) == 9 and rest[0] in "6789":
        return ("99" if rest[0] in "89" else "79") + digits(rng, 7)
    if country == "it" and 8 <= len(rest) <= 11 and rest[0] in "03":
        start = rng.choice(("0348", "0349") if rest[0] == "0" else ("395", "396"))
        return start + digits(rng, len(rest) - len(start))
    if country == "us" and len(rest) == 10:
        return rng.choice(_AREA_CODES.split()) + "55501" + digits(rng, 2)
    if country == "us" and len(rest) == 7:
        return "55501" + digits(rng, 2)
    if country == "gb":
        full = rest if rest.startswith("0") else "0" + rest
        for start, new in _FICTION_GB:
            if full.startswith(start) and len(full) in (10, 11):
                number = (new + digits(rng, 11 - len(new)))[: len(full)]
                return number if rest.startswith("0") else number[1:]
    return ""


_COUNTRY_CODE: Final = re.compile(  # of one digit, of two, or of three
    r"^(?:00)?(?:[17]|2[07]|3[0-469]|4[013-9]|5[1-8]|6[0-6]|8[1246]|9[0-58]|[2-9]\d\d)"
)


def _digits(text: str) -> str:
    return "".join(filter(str.isdigit, text))


def national(text: str) -> str:
    """The digits of a telephone number without the code of its country and the zero of trunk calls.

    They are the same in "+44 20 7946 0123" and "020 7946 0123". Empty for what is no number of six digits or more, such
    as one with an extension.
    """
    number = _digits(text)
    if re.search(r"[^\W\d_]", text) or len(number) < 6:
        return ""
    if "+" in text or number.startswith("00"):
        number = _COUNTRY_CODE.sub("", number, count=1)
    elif len(number) == 11 and number.startswith("1"):  # of North America
        number = number[1:]
    return number.lstrip("0")


def pour_phone(value: str, like: str) -> str:
    """Write the national digits of `value` in the format of `like`, whose code of a country or trunk zero stays."""
    new, old = national(value), national(like)
    if not new or len(new) != len(old):
        return pour(value, like)
    number = _digits(like)
    return pour(number[: len(number) - len(old)] + new, like)


def new_ip(rng: random.Random, text: str) -> str:
    """An IP address for documentation (RFC 5737 and 3849)."""
    if ":" in text:
        groups = ":".join(f"{rng.randint(1, 0xFFFF):x}" for _ in range(3))
        return f"2001:db8:{groups}::{rng.randint(1, 0xFFFF):x}"
    return f"{rng.choice(('192.0.2', '198.51.100', '203.0.113'))}.{rng.randint(1, 254)}"


def example_domain(domain: str) -> str:
    """The reserved domain (RFC 2606) with the ending of a domain: example.com, example.net, else example.org."""
    ending = domain.rsplit(".", 1)[-1].casefold()
    return f"example.{ending}" if ending in ("com", "net") else "example.org"


# E-mail and web addresses that can't be surrogates, so they are originals that no span covered.


_ADDRESS: Final = re.compile(
    r"(?P<mail>[\w.+%-]{1,64}@(?P<domain>[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}))"
    r"|(?:https?://|\bwww\.)(?P<host>[\w-]{1,63}(?:\.[\w-]{1,63}){0,8})",
    re.IGNORECASE,
)
_RESERVED: Final = re.compile(r"(?:^|\.)example\.(?:com|net|org)$", re.IGNORECASE)


def unreserved(text: str) -> list[tuple[int, int]]:
    """E-mail and web addresses outside example.com, example.net and example.org: start and end, in order.

    All surrogates of addresses are at these domains (RFC 2606). In a text whose addresses were replaced by surrogates,
    any other address is a leak, whatever the labels say.
    """
    return [
        found.span()
        for found in _ADDRESS.finditer(text)
        if not _RESERVED.search((found.group("domain") or found.group("host")).removeprefix("www."))
    ]
