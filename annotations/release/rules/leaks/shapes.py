"""Telephone numbers, full dates and addresses of devices that nobody labeled, by their shape.

A number counts as one after a word such as "Tel.", with the prefix of a country, or where its digits are grouped as
telephone numbers of Spain, Italy, France, the United Kingdom or the United States are. Values, dates and doses have
none of these shapes.
"""

import re
from collections.abc import Iterator
from contextlib import suppress
from ipaddress import IPv6Address
from typing import Final

from annotations.release.rules.redaction.policy import IdentifierType
from annotations.text.spans import Bounds

_APART: Final = r"[ .\-/()]{0,2}"
_LONG: Final = re.compile(rf"\d(?:{_APART}\d){{6}}")
_SEPARATORS: Final = b" .-/()"
# Characters outside ASCII, which may be digits, are encoded as question marks.
_DIGITS_AS_0: Final = bytes(ord("0") if code in b"0123456789?" else code for code in range(256))
_SEVEN: Final = b"0" * 7
_CALLED: Final = re.compile(
    r"\b(?:tel[eé]fonos?|tel[eé]f|tels?|telf|tfnos?|tlfs?|tlfnos?|m[oó]vil|celular|cellulare|fax|telefax|"
    r"telephone|phones?|mobile)\b[.:\- ]{0,3}(?:n[.ºo°]{0,2}[ ])?[(+]{0,2}"
    rf"(?P<number>\d(?:{_APART}\d){{6,14}})(?!\d)",
    re.IGNORECASE,
)
_NUMBER: Final = re.compile(
    r"(?<![\w.,/+\-])(?P<number>"
    rf"(?:\+[ ]?|00)\(?[1-9]\d{{0,2}}\)?(?:{_APART}\d){{7,12}}"
    r"|[6-9]\d{2}(?:[ .\-]\d{3}[ .\-]\d{3}|[ .\-]\d{2}[ .\-]\d{2}[ .\-]\d{2}|\d{6})"
    r"|(?:\([2-9]\d{2}\)[ ]?|[2-9]\d{2}[.\- ])\d{3}[.\- ]\d{4}"
    r"|0[1-9]\d{0,2}[ /\-]\d{6,8}|3\d{2}[ ./\-]\d{6,7}"
    r"|0[1-9]\d{3}[ \-]\d{3}[ \-]?\d{3}|0[1-9]\d{2}[ \-]\d{3}[ \-]\d{4}|0[1-9]\d[ \-]\d{4}[ \-]\d{4}"
    r"|0[1-9](?:(?:[ ]\d{2}){4}|(?:[.]\d{2}){4}|(?:-\d{2}){4})"
    r")(?![\w/]|[.,\-]\d)"
)


# Begins with a digit, so that a text without dates takes a sixth of the time of `_DATE`.
_LIKE_DATE: Final = re.compile(r"\d[/.·\-]\d{1,2}[/.·\-]\d{2}")
# Day, month and year, or year, month and day, in figures with the same separator.
_DATE: Final = re.compile(
    r"(?<![\w.,/\-])(?:(?:0?[1-9]|[12]\d|3[01])(?P<apart>[/.·\-])(?:0?[1-9]|[12]\d|3[01])(?P=apart)(?:19|20)\d{2}"
    r"|(?:19|20)\d{2}(?P<between>[/.·\-])(?:0[1-9]|1[0-2])(?P=between)(?:0[1-9]|[12]\d|3[01]))(?![\w/\-]|[.,]\d)"
)

# Times and dates have two separators, too.
_LIKE_DEVICE: Final = re.compile(r"[:\-][\dA-Fa-f]{0,4}[:\-]|\.[\dA-Fa-f]{4}\.")
_DEVICE: Final = re.compile(
    r"(?<![\w:\-.])(?:(?P<mac>(?:[\dA-Fa-f]{2}(?P<mark>[:\-]))(?:[\dA-Fa-f]{2}(?P=mark)){4}[\dA-Fa-f]{2}"
    r"|(?=[\d.]{0,13}[A-Fa-f])[\dA-Fa-f]{4}\.[\dA-Fa-f]{4}\.[\dA-Fa-f]{4})"
    r"|[\dA-Fa-f]{1,4}(?::[\dA-Fa-f]{0,4}){1,6}:[\dA-Fa-f]{1,4})(?![\w:\-])"
)

# A web address without http:// and www.: a host in a usual domain, or in a country's domain with a path.
_LIKE_HOST: Final = re.compile(r"[a-z0-9]\.[a-z]{2}", re.IGNORECASE)
_HOST: Final = re.compile(
    r"(?<![\w@.\-/])(?:[a-z0-9][a-z0-9\-]{0,62}\.){1,5}"
    r"(?:(?:com|org|net|edu|gov|info|biz)(?![\w\-]|\.\w)(?:/[^\s<>\"]{0,200}(?<=[\w/]))?"
    r"|(?:at|be|ca|cat|ch|co|de|es|eu|fr|ie|io|it|ly|me|nl|pt|uk|us)/[^\s<>\"]{1,200}(?<=\w))",
    re.IGNORECASE,
)


def web_addresses(text: str) -> Iterator[Bounds]:
    """The bounds of web addresses that begin with their host, in code points, end-exclusive."""
    return (found.span() for found in _HOST.finditer(text)) if _LIKE_HOST.search(text) else iter(())


def full_dates(text: str) -> Iterator[Bounds]:
    """The bounds of dates with day, month and a year of four figures, in code points, end-exclusive."""
    return (found.span() for found in _DATE.finditer(text)) if _LIKE_DATE.search(text) else iter(())


def telephones(text: str) -> Iterator[Bounds]:
    """The bounds of what looks like a telephone number, in code points, end-exclusive. They may overlap."""
    # Whether seven digits stand together without separators tells most texts apart in a third of the time of `_LONG`.
    if _SEVEN not in text.encode("ascii", "replace").translate(_DIGITS_AS_0, _SEPARATORS) or not _LONG.search(text):
        return
    for pattern in (_CALLED, _NUMBER):
        for found in pattern.finditer(text):
            yield found.span("number")


def device_addresses(text: str) -> Iterator[tuple[Bounds, IdentifierType]]:
    """The bounds of MAC and IPv6 addresses, with their kinds, in code points, end-exclusive."""
    if not _LIKE_DEVICE.search(text):
        return
    for found in _DEVICE.finditer(text):
        if found["mac"]:
            yield found.span(), IdentifierType.DEVICE
            continue
        with suppress(ValueError):
            IPv6Address(found[0])
            yield found.span(), IdentifierType.IP
