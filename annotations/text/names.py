"""Characters that names given by people or files may contain. The text of notes is not restricted in this way."""

import unicodedata
from typing import Final

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


def shown(name: str) -> str:
    """The name for use in a message, with forbidden characters written as escapes."""
    return "".join(ascii(character)[1:-1] if _is_bad(character) else character for character in name)


def _is_bad(character: str) -> bool:
    return character in _TURNING or unicodedata.category(character) in _FORBIDDEN_KINDS
