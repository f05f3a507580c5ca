"""Text search in notes, with or without regard to case, accents and whole words.

The search runs on the original text, so that offsets are exact: a case-folded text would have other offsets
(`len("İ".lower()) == 2`). The search text becomes a pattern in which each letter stands for all of its forms. White
space matches any white space, so that a name is found across a line break. Precomposed and decomposed letters are equal
(canonical equivalence in Unicode). Offsets are code points, end-exclusive.
"""

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from itertools import accumulate
from pathlib import Path
from typing import Any, Final

from confusable_homoglyphs.utils import load

from annotations.text.characters import WHITE_SPACE, is_digit, is_word
from annotations.text.spans import Bounds
from annotations.text.wording import gettext as _

# All letters with accents lie below this code point. Hangul, above it, decomposes into letters.
_ACCENTED = 0x3000
_SPACE = f"[{''.join(re.escape(ch) for ch in sorted(WHITE_SPACE))}]+"
# Combining marks of Latin, Greek, Cyrillic, Hebrew and Arabic, and those common to all scripts.
_MARKS: Final = (
    "\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u064b-\u065f\u0670"
    "\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f"
)
_MARK: Final = f"[{_MARKS}]"


@dataclass(frozen=True, slots=True)
class Sought:
    """A search text and its options. `case`, `accents`: whether these must match. `word`: whole words only."""

    text: str
    case: bool = False
    accents: bool = True
    word: bool = False


def finder(sought: Sought) -> re.Pattern[str]:
    """The pattern for a search text. Raises ValueError if the text is empty or white space only."""
    text = unicodedata.normalize("NFC", sought.text).strip("".join(WHITE_SPACE))
    if not text:
        raise ValueError(_("The search text is empty."))
    parts = [_piece(piece, sought) for piece in _pieces(text)]
    # Combining marks belong to the letter before them: `cafe` must not match a decomposed `café`.
    return re.compile("".join(parts) + ("" if not sought.accents else f"(?!{_MARK})"))


def _pieces(text: str) -> Iterator[str]:
    """The pieces of the text in order: each is a letter with its combining marks, or a run of white space."""
    at = 0
    while at < len(text):
        end = at + 1
        while (
            end < len(text)
            and (text[at] in WHITE_SPACE) == (text[end] in WHITE_SPACE)
            and (text[at] in WHITE_SPACE or unicodedata.combining(text[end]))
        ):
            end += 1
        yield text[at:end]
        at = end


def _piece(piece: str, sought: Sought) -> str:
    if piece[0] in WHITE_SPACE:
        return _SPACE
    whole = unicodedata.normalize("NFD", piece)
    first, marks = whole[0], whole[1:]
    if not sought.accents:
        return f"{_class(_forms(piece, sought))}{_MARK}*"
    plain = _class(_cases(piece[0], sought.case)) + re.escape(piece[1:])
    if not marks:
        return plain
    return f"(?:{plain}|{_class(_cases(first, sought.case))}{re.escape(marks)})"


def _cases(letter: str, exact: bool) -> set[str]:
    """The upper-case, lower-case and title-case forms of a letter that are a single code point."""
    if exact:
        return {letter}
    forms = {letter, letter.lower(), letter.upper(), letter.title(), letter.casefold()}
    forms |= {form.lower() for form in forms} | {form.upper() for form in forms}
    return {form for form in forms if len(form) == 1}


def _class(forms: set[str]) -> str:
    if len(forms) == 1:
        return re.escape(next(iter(forms)))
    return f"[{''.join(re.escape(form) for form in sorted(forms))}]"


@cache
def _accented() -> dict[str, set[str]]:
    """For each letter, the letter itself and its accented forms."""
    found: dict[str, set[str]] = defaultdict(set)
    for code_point in range(0xC0, _ACCENTED):
        whole = unicodedata.normalize("NFD", chr(code_point))
        base, marks = whole[0], whole[1:]
        # A decomposition without marks is another sign for the same letter, as the kelvin sign is for K.
        if whole != chr(code_point) and all(unicodedata.combining(mark) for mark in marks):
            found[base] |= {base, chr(code_point)}
    return dict(found)


def find(text: str, pattern: re.Pattern[str], *, word: bool = False) -> Iterator[Bounds]:
    """The bounds of all matches, in order and without overlap. `word`: only matches that are whole words."""
    for match in pattern.finditer(text):
        start, end = match.span()
        if not word or not (_inside_word(text, start) or _inside_word(text, end)):
            yield start, end


def _inside_word(text: str, at: int) -> bool:
    """Whether an offset lies inside a word, where a word is a run of letters, marks and digits."""
    return 0 < at < len(text) and _in_words(text[at - 1]) and _in_words(text[at])


def _in_words(character: str) -> bool:
    return is_word(ord(character)) or is_digit(ord(character))


class CoveredParts:
    """The parts of a note that spans cover."""

    def __init__(self, spans: Iterable[Bounds]) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []
        for start, end in sorted(spans):
            if self._ends and start <= self._ends[-1]:
                self._ends[-1] = max(self._ends[-1], end)
            else:
                self._starts.append(start)
                self._ends.append(end)

    def wholly(self, start: int, end: int) -> bool:
        """Whether every character from `start` to `end` is covered, by one span or by several together."""
        at = bisect_right(self._starts, start) - 1
        return at >= 0 and end <= self._ends[at]

    def partly(self, start: int, end: int) -> bool:
        """Whether at least one character from `start` to `end` is covered."""
        at = bisect_left(self._starts, end) - 1
        return at >= 0 and start < self._ends[at]


def around(text: str, bounds: Bounds, width: int = 48) -> Sequence[str]:
    """The text before, inside and after the bounds, on one line.

    The context is cut at white space where possible, and an ellipsis marks each cut.
    """
    start, end = bounds
    before, after = text[max(0, start - width) : start], text[end : end + width]
    if start > width:
        before = "…" + _from_space(before)
    if end + width < len(text):
        after = _from_space(after[::-1])[::-1] + "…"
    return tuple(re.sub(_SPACE, " ", part) for part in (before, text[start:end], after))


def _from_space(text: str) -> str:
    """The text from its first white space on, unless that would drop more than half of it."""
    at = next((at for at, character in enumerate(text) if character in WHITE_SPACE), 0)
    return text[at:] if at < len(text) // 2 else text


# Folded text: without case, accents, invisible characters and look-alikes of ASCII letters and digits.
#
# Identifiers are compared in this form. Folding changes lengths ("ß" becomes "ss"), so `FoldableText` maps offsets in
# the folded text back to the text. Offsets are code points, end-exclusive.


DROPPED: Final = _MARKS + (
    # Default_Ignorable_Code_Point (UAX 44): the soft hyphen, joiners, marks of direction, fillers, variation selectors
    # and the Arabic tatweel, which only makes a word longer
    "\u0640\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
"""What folding drops, as the content of a character class."""

_DROPPED: Final = re.compile(f"[{DROPPED}]+")
# Letters that Unicode doesn't decompose, beside those with a stroke or a hook.
_LETTERS: Final = {"æ": "ae", "œ": "oe", "ð": "d", "þ": "th", "ı": "i", "ŋ": "n", "’": "'"}
_LATIN: Final = re.compile(r"LATIN (?:SMALL LETTER|LETTER SMALL CAPITAL) (?P<letter>[A-Z])(?: WITH .*)?")


@cache
def _look_alikes() -> dict[str, str]:
    """The ASCII letter as which a letter of another script reads, by the confusables of UTS 39."""
    data: dict[str, list[dict[str, Any]]] = load("confusables.json")
    found = {}
    for letter, likes in data.items():
        ascii_likes = [
            like["c"] for like in likes if len(like["c"]) == 1 and like["c"].isascii() and like["c"].isalpha()
        ]
        if len(letter) == 1 and not letter.isascii() and ascii_likes:
            found[letter] = ascii_likes[0]
    return found


class _Plain(dict[int, str]):
    """The plain form of a folded code point; filled on demand, for `str.translate`."""

    def __missing__(self, code: int) -> str:
        letter, plain = chr(code), chr(code)
        if letter in _LETTERS:
            plain = _LETTERS[letter]
        elif latin := _LATIN.fullmatch(unicodedata.name(letter, "")):
            plain = latin["letter"].lower()
        elif code > 127 and letter.isalpha():
            # The capital decides: Greek ν is N. A capital that looks like a small letter doesn't: Cyrillic І is not L.
            capital = _look_alikes().get(letter.upper(), "")
            plain = (capital if capital.isupper() else _look_alikes().get(letter, letter)).lower()
        elif code > 127 and letter.isdigit():
            plain = str(unicodedata.digit(letter))
        return self.setdefault(code, plain)


_PLAIN: Final = _Plain()
_SHORT: Final = 100
_MOST_FOREIGN: Final = 40
WORD: Final = re.compile(r"[^\W\d_]+|\d+")
"""A word of a folded text: a run of letters, or a run of digits."""


_ASCII_WORD: Final = re.compile("[a-zA-Z]+|[0-9]+")  # the same in ASCII, in half the time
_FOREIGN: Final = re.compile(r"[^\x00-\x7f]")


def folded(text: str) -> str:
    """The text in lower case, without accents, invisible characters, ligatures and look-alikes."""
    if text.isascii():
        return text.lower()
    if len(text) <= _SHORT:
        return _folded(text)
    # A note has few different accents. To replace them one by one takes half the time of normalizing the note.
    foreign = set(_FOREIGN.findall(text))
    if len(foreign) > _MOST_FOREIGN or not all(map(_stands_alone, foreign)):
        return _folded(text)
    for character in foreign:
        text = text.replace(character, _sign(character))
    return text.lower()


def _folded(text: str) -> str:
    plain = _DROPPED.sub("", unicodedata.normalize("NFKD", text.casefold()).casefold())
    return plain if plain.isascii() else plain.translate(_PLAIN)


@lru_cache(maxsize=1 << 16)
def _stands_alone(character: str) -> bool:
    """Whether the character folds alike beside any other one."""
    plain = _folded(character)
    return plain == plain.lower() == _folded(plain) and not any(map(unicodedata.combining, plain))


_sign = lru_cache(maxsize=1 << 16)(_folded)  # for a single character


def words(text: str) -> tuple[str, ...]:
    """The words of a text after folding: runs of letters and runs of digits, in order. Short texts are remembered."""
    return _short_words(text) if len(text) <= _SHORT else tuple(WORD.findall(folded(text)))


@lru_cache(maxsize=1 << 14)
def _short_words(text: str) -> tuple[str, ...]:
    return tuple(WORD.findall(folded(text)))


def lines_of(file: Path) -> list[str]:
    """The lines of a data file, without empty ones and comments."""
    return [line for line in file.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]


@cache
def word_groups(file: Path) -> Mapping[str, list[str]]:
    """The words of each group of a data file with lines such as "group: words", continued after a blank."""
    groups: dict[str, list[str]] = {}
    name = ""
    for line in lines_of(file):
        if not line.startswith(" "):
            name, _, line = line.partition(":")
        groups.setdefault(name, []).extend(line.split())
    return groups


_ONLY_LETTERS: Final = bytes(code if chr(code).isalpha() and code < 128 else 32 for code in range(256))
_ONLY_DIGITS: Final = bytes(code if chr(code).isdigit() and code < 128 else 32 for code in range(256))


def plain_words(text: str) -> list[str]:
    """The words of a folded text that are ASCII, and ASCII parts of others, in any order, in a quarter of the time."""
    plain = text.encode("ascii", "replace")
    return [*plain.translate(_ONLY_LETTERS).decode().split(), *plain.translate(_ONLY_DIGITS).decode().split()]


def all_words(text: str) -> list[str]:
    """The words of a folded text, in order."""
    return _ASCII_WORD.findall(text) if text.isascii() else WORD.findall(text)


class FoldableText:
    """A text beside its folded form. The map between both is made on first use."""

    def __init__(self, text: str) -> None:
        self.original = text
        self.text = folded(text)

    @cached_property
    def _same_places(self) -> bool:
        """Whether each character has one after folding: a character that isn't dropped has at least one."""
        return len(self.text) == len(self.original) and not _DROPPED.search(self.original)

    @cached_property
    def _before(self) -> list[int]:
        """For each code point of the original, and for its end: how many folded ones come before it."""
        return list(accumulate(map(len, map(_sign, self.original)), initial=0))

    def original_bounds(self, start: int, end: int) -> Bounds:
        """The bounds in the original of a stretch of the folded text that isn't empty.

        Combining marks after the last letter belong to it.
        """
        if self._same_places:
            return start, end
        before = self._before
        return bisect_right(before, start) - 1, max(bisect_right(before, end - 1), bisect_right(before, end) - 1)


# Signatures of texts, by which a search passes over notes that can't match.
#
# A signature is the set of a text's grams: three and four characters in a row, without white space, case, accents and
# look-alikes, as hashes of 16 bits. A table of signatures holds fewer hashes if its texts are short. A note with a
# match has all grams of the search text: a letter whose spellings have several plain forms ends a run of characters.

_FACTORS: Final = 0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D, 0x27D4EB2F
_RUN: Final = re.compile(r"[^\x00-\x20]{3,}")
_MOST_GRAMS: Final = 8


def _signs(text: str) -> str:
    """The text with each character in its folded form, whatever is beside it."""
    return text.lower() if text.isascii() else "".join(map(_sign, text))


def signatures(texts: Sequence[str], size: int) -> tuple[int, bytes]:
    """The table of signatures: for each hash, `size` bits in the order of the texts. `size` is a multiple of 8.

    The row of a hash is that of its highest bits: hashes are shifted by the first number.
    """
    import numpy as np  # The web process only reads tables.

    width = sum(map(len, texts)) // max(1, len(texts))
    shift = 16 - min(max(width.bit_length() + 1, 10), 14)
    table = np.zeros((1 << 16 - shift, size), bool)
    factors = [np.uint32(factor) for factor in _FACTORS]
    for at, text in enumerate(texts):
        codes = np.frombuffer((_signs(text) + "    ").encode("utf-32-le", "surrogatepass"), np.uint32)
        for length in (3, 4):
            parts = [codes[first : first - length or None] for first in range(length)]
            inked = np.logical_and.reduce([part > 32 for part in parts])
            hashes = sum(part[inked] * factor for part, factor in zip(parts, factors, strict=False))
            table[hashes >> np.uint32(16 + shift), at] = True
    return shift, np.packbits(table, axis=1, bitorder="little").tobytes()


def grams(sought: Sought) -> list[int]:
    """Hashes that each text with a match has in its signature; empty if the search text is too short."""
    plain = ""
    for piece in _pieces(unicodedata.normalize("NFC", sought.text)):
        forms = {_signs(form) for form in _forms(piece, sought)}
        plain += forms.pop() if len(forms) == 1 else " "
    found = {
        sum(ord(sign) * factor for sign, factor in zip(run[at : at + length], _FACTORS, strict=False)) % 2**32 >> 16
        for run in _RUN.findall(plain)
        for length in (3, 4)
        for at in range(len(run) - length + 1)
    }
    return sorted(found)[:_MOST_GRAMS]


def _forms(piece: str, sought: Sought) -> set[str]:
    """The texts that the pattern of a piece matches, without marks that may follow; none for white space."""
    if piece[0] in WHITE_SPACE:
        return set()
    whole = unicodedata.normalize("NFD", piece)
    if not sought.accents:
        return {form for each in _cases(whole[0], sought.case) for form in _accented().get(each, {each})}
    composed = {each + piece[1:] for each in _cases(piece[0], sought.case)}
    return composed | {each + whole[1:] for each in _cases(whole[0], sought.case)}
