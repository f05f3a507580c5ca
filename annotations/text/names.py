"""Checks of what people, files and requests give: names, short texts and whole numbers.

The text of notes is not restricted in this way.
"""

import unicodedata
from typing import Final, TypeGuard

from annotations.text.characters import WHITE_SPACE
from annotations.text.wording import WordedError
from annotations.text.wording import gettext as _

DOCUMENTS: Final = "documents"
"""The name of the format of imports that reads documents."""
MIXED: Final = "+docs"
"""What follows the name of a format whose files come together with documents."""

# Characters that change the direction of the text around them, so that a name can look like another one.
_TURNING: Final = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
# General categories of control characters, surrogates, line separators and paragraph separators.
_FORBIDDEN_KINDS: Final = frozenset({"Cc", "Cs", "Zl", "Zp"})


def unkeepable(text: str) -> bool:
    """Whether a text contains a character that databases reject: NUL or an unpaired surrogate."""
    if text.isascii():
        return "\0" in text
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return "\0" in text


def keepable(text: str) -> str:
    """The text with U+FFFD in place of each character that databases reject."""
    if not unkeepable(text):
        return text
    return "".join("\ufffd" if one == "\0" or "\ud800" <= one <= "\udfff" else one for one in text)


def bad_character(name: str) -> str:
    """The first forbidden character of a name, written like `U+202E`; empty if there is none."""
    if name.isascii() and name.isprintable():
        return ""
    return next((f"U+{ord(character):04X}" for character in name if _is_bad(character)), "")


def printable(name: str) -> str:
    """The name for use in a message, with forbidden characters written as escapes."""
    return "".join(ascii(character)[1:-1] if _is_bad(character) else character for character in name)


def _is_bad(character: str) -> bool:
    return character in _TURNING or unicodedata.category(character) in _FORBIDDEN_KINDS


# Checks of texts that people enter, such as comments, reasons and search texts, before they are stored.


class WordingError(WordedError, ValueError):
    """A text that can't be stored: empty, too long or with forbidden characters. The message never quotes the text."""


def worded(value: object, longest: int, *, what: str = "", blank: bool = False) -> str:
    """Return the text with LF line breaks and without white space around it, if it can be stored.

    It may have at most `longest` code points, and may be empty only if `blank`. `what` names the text in messages.
    Raises WordingError.
    """
    what = what or _("text")
    if not isinstance(value, str):
        raise WordingError("The {what} must be a string.", what)
    text = value.replace("\r\n", "\n").replace("\r", "\n").strip("".join(WHITE_SPACE))
    if "\0" in text:
        raise WordingError("The {what} contains the character NUL (U+0000), which can't be stored. Remove it.", what)
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise WordingError("The {what} contains an unpaired surrogate, which can't be stored. Remove it.", what)
    if not text and not blank:
        raise WordingError("The {what} is empty.", what)
    if len(text) > longest:
        raise WordingError("The {what} has {n:,} characters; at most {most:,} are allowed.", what, len(text), longest)
    return text


# Whole numbers from requests and files, within the range of a database column.


# In the database, offsets have 32 bits and all other numbers 64.
MAX_OFFSET: Final = 2**31 - 1
MAX_ID: Final = 2**63 - 1
_DIGITS: Final = len(str(MAX_ID))


def whole_number(word: str, most: int = MAX_ID) -> int | None:
    """The number from 0 to `most` that `word` writes in ASCII digits; None if it is anything else."""
    if not (word.isascii() and word.isdecimal() and len(word) <= _DIGITS):
        return None
    found = int(word)
    return found if found <= most else None


def is_whole(value: object, most: int = MAX_ID) -> TypeGuard[int]:
    """Whether a JSON value is a whole number from 0 to `most`."""
    return type(value) is int and 0 <= value <= most
