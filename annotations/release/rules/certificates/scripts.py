"""Text in any script for a PDF font: right-to-left order, joined Arabic letters, and characters that the font lacks."""

import unicodedata
from collections.abc import Callable, Container
from functools import cache
from typing import Final

_FORMS: Final = range(0xFE70, 0xFF00)
_RIGHT_TO_LEFT: Final = frozenset({"R", "AL"})


def drawable(text: str, glyphs: Container[int], reorder: Callable[[str], str]) -> tuple[str, bool]:
    """The text in the order in which a PDF draws it, and whether every character has a glyph.

    `glyphs` are the code points of the font. `reorder` applies the Unicode bidirectional algorithm. A character without
    a glyph, and one that controls the direction of text, is written as its number: "[U+4E2D]".
    """
    whole = True
    if any(unicodedata.bidirectional(character) in _RIGHT_TO_LEFT for character in text):
        text = reorder(joined(text))
    parts = []
    for character in text:
        if character in "\n\t\r\u2028\u2029":
            parts.append(" ")
        elif ord(character) in glyphs and unicodedata.category(character) not in ("Cf", "Cc"):
            parts.append(character)
        else:
            parts.append(f"[U+{ord(character):04X}]")
            whole = False
    return "".join(parts), whole


def joined(text: str) -> str:
    """The text with Arabic letters in the forms that they have beside their neighbors (Unicode, section 9.2)."""
    forms = _forms()
    out = []
    # Marks are written above or below a letter and don't separate it from the next one.
    letters = [at for at, character in enumerate(text) if not unicodedata.combining(character)]
    index = {at: number for number, at in enumerate(letters)}
    for at, character in enumerate(text):
        known = forms.get(character)
        if known is None or at not in index:
            out.append(character)
            continue
        number = index[at]
        before = forms.get(text[letters[number - 1]], {}) if number else {}
        after = forms.get(text[letters[number + 1]], {}) if number + 1 < len(letters) else {}
        to_before = "initial" in before and "final" in known
        to_after = "initial" in known and "final" in after
        form = "medial" if to_before and to_after else "final" if to_before else "initial" if to_after else "isolated"
        out.append(known.get(form, character))
    return "".join(out)


@cache
def _forms() -> dict[str, dict[str, str]]:
    """The presentation forms of Arabic letters, by letter and by isolated, final, initial, medial."""
    found: dict[str, dict[str, str]] = {}
    for code in _FORMS:
        kind, _, letters = unicodedata.decomposition(chr(code)).partition("> ")
        if kind and len(letters) == 4:
            found.setdefault(chr(int(letters, 16)), {})[kind[1:]] = chr(code)
    return found
