"""Surrogates of telephone numbers and Internet addresses, from ranges that belong to nobody.

Sources: Ofcom, "Telephone numbers for use in TV and radio drama programmes"; North American Numbering Plan
Administration, "555 Line Numbers" (0100-0199 are for fiction); RFC 2606 (example domains), RFC 3849 and RFC 5737 (IP
addresses for documentation); ITU, "List of ITU-T Recommendation E.164 assigned country codes".
"""

import random
import re
from typing import Final

from annotations.release.rules.surrogates.folding import digits, pour, scrambled_digits
from annotations.release.rules.surrogates.gazetteers import word_groups

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
