"""Clean-up rules for extracted text. Each rule can be switched off, counts its changes, and keeps the source map right.

A rule finds replacements in a text; no replacement crosses the border of a part.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator, Sequence
from enum import StrEnum
from typing import Final, NamedTuple

from annotations.formats.documents.base import NotePart


class CleaningRule(StrEnum):
    """Names of the rules, in the order in which they are applied."""

    MOJIBAKE = "mojibake"
    """Text decoded with a wrong encoding once: "Garc\u00c3\u00ada" becomes "Garc\u00eda" (ftfy)."""
    CONTROL = "control"
    """Control characters are removed; a form feed or vertical tab becomes a line break. Tabs and line breaks stay."""
    LIGATURES = "ligatures"
    """One character for several letters: U+FB01 becomes "fi"."""
    HYPHENATION = "hyphenation"
    """A word broken by a hyphen at the end of a line is put together; the hyphen of a compound or address stays."""
    SOFT_HYPHENS = "soft-hyphens"
    """Soft hyphens (U+00AD), which show only where a line breaks, are removed."""


ALL_RULES: Final = frozenset(CleaningRule)


class Replacement(NamedTuple):
    """`text[start:end]` becomes `new`. Offsets are code points, end-exclusive."""

    start: int
    end: int
    new: str


def cleaned(
    text: str, parts: Sequence[NotePart], rules: Collection[CleaningRule]
) -> tuple[str, list[NotePart], dict[str, int]]:
    """The text after the rules, its parts, and the number of changes for each rule that changed anything."""
    counts: dict[str, int] = {}
    found = list(parts)
    for rule in CleaningRule:
        if rule not in rules:
            continue
        borders = sorted({border for part in found for border in (part.start, part.end)})

        def inside(each: Replacement, borders: Sequence[int] = borders) -> bool:
            at = bisect_right(borders, each.start)
            return at == len(borders) or borders[at] >= each.end

        replacements = list(filter(inside, _FINDERS[rule](text)))
        if replacements:
            text, found = replaced(text, found, replacements)
            counts[rule.value] = len(replacements)
    return text, found, counts


def replaced(text: str, parts: Sequence[NotePart], replacements: Sequence[Replacement]) -> tuple[str, list[NotePart]]:
    """Apply replacements, which are in order and don't overlap. A part that becomes empty is dropped."""
    pieces: list[str] = []
    ends: list[int] = []
    shifts = [0]
    at = 0
    for start, end, new in replacements:
        pieces += (text[at:start], new)
        at = end
        ends.append(end)
        shifts.append(shifts[-1] + len(new) - (end - start))
    pieces.append(text[at:])

    def moved(offset: int) -> int:
        # All replacements that end at or before an offset move it: none contains the border of a part.
        return offset + shifts[bisect_right(ends, offset)]

    kept = [NotePart(moved(part.start), moved(part.end), part.kind, part.number) for part in parts]
    return "".join(pieces), [part for part in kept if part.start < part.end]


# UTF-8 read as a one-byte encoding gives several such characters in a row; a no-break space may have become a space. C1
# control characters are cp1252 read as ISO 8859-1.
_BAD: Final = re.compile(r"[^\x00-\x7f]{2}|\u00c3 |[\x80-\x9f]")
_LINE: Final = re.compile(r"[^\n\r]+")


def _mojibake(text: str) -> Iterator[Replacement]:
    if not _BAD.search(text):
        return
    import ftfy

    config = ftfy.TextFixerConfig(unescape_html=False, explain=False)
    for line in _LINE.finditer(text):
        old = line.group()
        if not _BAD.search(old):
            continue
        new = ftfy.fix_encoding(old, config)
        if new != old:
            head = _common(old, new)
            tail = _common(old[head:][::-1], new[head:][::-1])
            yield Replacement(line.start() + head, line.end() - tail, new[head : len(new) - tail])


def _common(one: str, other: str) -> int:
    """The length of the longest common beginning."""
    for at, (mine, yours) in enumerate(zip(one, other, strict=False)):
        if mine != yours:
            return at
    return min(len(one), len(other))


_CONTROL: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ufeff\ufffe\uffff]")


def _control(text: str) -> Iterator[Replacement]:
    for match in _CONTROL.finditer(text):
        yield Replacement(match.start(), match.end(), "\n" if match.group() in "\x0b\x0c" else "")


_LIGATURES: Final = {
    "\ufb00": "ff",
    "\ufb01": "fi",
    "\ufb02": "fl",
    "\ufb03": "ffi",
    "\ufb04": "ffl",
    "\ufb05": "st",
    "\ufb06": "st",
}
_LIGATURE: Final = re.compile(f"[{''.join(_LIGATURES)}]")


def _ligatures(text: str) -> Iterator[Replacement]:
    for match in _LIGATURE.finditer(text):
        yield Replacement(match.start(), match.end(), _LIGATURES[match.group()])


_LETTER: Final = r"[^\W\d_]"
# U+00AD and U+2010 break words like a hyphen does. The word may go on in lower case only: "Jean-\nPaul" stays.
_BREAK: Final = re.compile(rf"([-\u2010\u00ad])[ \t]*\r?\n[ \t]*({_LETTER}+)")
_BEFORE: Final = re.compile(rf"{_LETTER}+\Z")
# The longest part of a word before its hyphen, in characters. Words are looked for at their beginning only: else a long
# one would be searched once for each of its letters.
_LONGEST: Final = 60
# In addresses of mail and of pages, hyphens belong to the name.
_ADDRESS: Final = re.compile(r"@|://|www\.|\w\.[a-z0-9]")
_COMPOUND: Final = re.compile(rf"(?<!{_LETTER}){_LETTER}+-{_LETTER}+")


def _hyphenation(text: str) -> Iterator[Replacement]:
    compounds: set[str] | None = None
    for match in _BREAK.finditer(text):
        hyphen, after = match.groups()
        before = _BEFORE.search(text[max(0, match.start() - _LONGEST) : match.start()])
        if before is None or not after[0].islower() or (len(before.group()) < 2 and hyphen != "\u00ad"):
            continue
        if hyphen != "\u00ad":
            # The word elsewhere in the text tells a compound ("follow-up") from a broken word.
            if compounds is None:
                compounds = {word.lower() for word in _COMPOUND.findall(text)}
            address = text[max(0, match.start() - _LONGEST) : match.start()].split()[-1]
            address += f" {text[match.start(2) : match.start(2) + _LONGEST].split()[0]}"
            if f"{before.group()}-{after}".lower() in compounds or _ADDRESS.search(address):
                yield Replacement(match.end(1), match.start(2), "")
                continue
        yield Replacement(match.start(1), match.start(2), "")


def _soft_hyphens(text: str) -> Iterator[Replacement]:
    for match in re.finditer("\u00ad", text):
        yield Replacement(match.start(), match.end(), "")


_FINDERS: Final[dict[CleaningRule, Callable[[str], Iterator[Replacement]]]] = {
    CleaningRule.MOJIBAKE: _mojibake,
    CleaningRule.CONTROL: _control,
    CleaningRule.LIGATURES: _ligatures,
    CleaningRule.HYPHENATION: _hyphenation,
    CleaningRule.SOFT_HYPHENS: _soft_hyphens,
}
