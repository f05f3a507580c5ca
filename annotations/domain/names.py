"""Names that a person or a file gives: what may be in them. Text of notes is no name."""

import unicodedata
from typing import Final

# Characters that turn the direction of what stands around them, so that a name reads as another one.
_TURNING: Final = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
# Control characters, halves of surrogate pairs, line and paragraph separators.
_FORBIDDEN_KINDS: Final = frozenset({"Cc", "Cs", "Zl", "Zp"})


def unkeepable(text: str) -> bool:
    """Whether a text holds what no database takes: NUL, or half a surrogate pair."""
    if text.isascii():
        return "\0" in text
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return "\0" in text


def bad_character(name: str) -> str:
    """The first character that no name may hold, as `U+202E`; empty for a good name. Letters of any script are good."""
    if name.isascii() and name.isprintable():
        return ""
    return next((f"U+{ord(character):04X}" for character in name if _is_bad(character)), "")


def shown(name: str) -> str:
    """A name for a message, with what no name may hold written as an escape."""
    return "".join(ascii(character)[1:-1] if _is_bad(character) else character for character in name)


def _is_bad(character: str) -> bool:
    return character in _TURNING or unicodedata.category(character) in _FORBIDDEN_KINDS
