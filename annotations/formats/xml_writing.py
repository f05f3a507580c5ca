"""Text as XML 1.0, so that a reader gets the same characters.

A carriage return is written as `&#13;`, because parsers change it otherwise. Control characters and U+FFFE and U+FFFF
can't be written at all (https://www.w3.org/TR/xml/#charsets): U+FFFD takes their place, which changes no offset, and
the processing instruction `REPLACED` lists them for our own reader. Other programs ignore it.
"""

import re
from typing import Final

REPLACEMENT: Final = "\ufffd"
REPLACED: Final = "replaced-characters"
"""The name of the instruction; it has pairs of an offset in the note (code points) and a code (hexadecimal)."""

UNWRITABLE: Final = re.compile("[\x01-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
"""The characters that XML 1.0 can't hold, without NUL, which no note contains."""

NAME: Final = re.compile(r"(?!xml)[A-Za-z_][A-Za-z0-9_.-]*", re.IGNORECASE)
"""Names that are written as names of elements and attributes."""

_IN_TEXT: Final = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#13;"})
_IN_ATTRIBUTE: Final = str.maketrans(
    {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\t": "&#9;", "\n": "&#10;", "\r": "&#13;"}
)


def as_text(text: str) -> str:
    """The text as content of an element."""
    return UNWRITABLE.sub(REPLACEMENT, text).translate(_IN_TEXT)


def as_cdata(text: str) -> str:
    """The text as CDATA sections."""
    cleaned = UNWRITABLE.sub(REPLACEMENT, text)
    return f"<![CDATA[{cleaned.replace(']]>', ']]]]><![CDATA[>').replace(chr(13), ']]>&#13;<![CDATA[')}]]>"


def as_attribute(text: str) -> str:
    """The text as value of an attribute, with its quotation marks."""
    return f'"{UNWRITABLE.sub(REPLACEMENT, text).translate(_IN_ATTRIBUTE)}"'


def replaced_characters(text: str) -> str:
    """The instruction that lists the characters of a note that XML can't hold; empty if there are none."""
    pairs = [f"{match.start():d}={ord(match.group()):X}" for match in UNWRITABLE.finditer(text)]
    return f"<?{REPLACED} {' '.join(pairs)}?>\n" if pairs else ""
