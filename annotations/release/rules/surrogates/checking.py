"""Addresses of the Internet that can't be surrogates: they are originals that were missed."""

import re
from typing import Final

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
