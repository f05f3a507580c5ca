"""Identifiers that must not be in a released text, prepared for the search."""

import re
from collections.abc import Iterable
from functools import cached_property
from typing import Final, NamedTuple

from annotations.release.rules.known.reading import CUES, PARTICLES
from annotations.release.rules.redaction.policy import CODES, INSTITUTIONS, PEOPLE, PLACES, Action, Policy
from annotations.text.identifiers import IdentifierType
from annotations.text.search import WORD, FoldableText, folded, words
from annotations.text.spans import Span

PART_LETTERS: Final = 4
"""The fewest letters of a part of an identifier that is sought by itself."""

WHOLE_ONLY: Final = frozenset({IdentifierType.DATE, IdentifierType.AGE})
"""Kinds that are sought only as a whole."""
_PART_DIGITS: Final = 5
LOCATIONS: Final = INSTITUTIONS | PLACES - {IdentifierType.ZIP}
"""Kinds of names of places and institutions."""
# The number last, or first and then up to a comma.
_STREET: Final = re.compile(r"[^\d]{3,}\d+(?=[^\w.])|\d+\w? [^,;]+(?=[,;])")


class Needle(NamedTuple):
    """A string to look for.

    `source` tells the caller where the string comes from; the gate only hands it on. `note` is the note in which it is
    labeled, None for a known identifier. Of dates and ages only the whole string is sought.
    """

    text: str
    label: str
    kind: IdentifierType
    source: object = None
    note: int | None = None


def needles_of(text: str, spans: Iterable[Span], policy: Policy, note: int | None = None) -> list[Needle]:
    """The labeled strings of a note that the policy doesn't keep. `source` is the bounds of the span in the note."""
    rules = policy.rules
    return [
        Needle(written, span.label, rules[span.label].kind, (span.start, span.end), note)
        for span in spans
        if rules[span.label].action is not Action.KEEP
        for written in _written(text[span.start : span.end], rules[span.label].kind)
    ]


def _written(text: str, kind: IdentifierType) -> list[str]:
    """The string, and the street with its number alone of an address that goes on: “Calle Mayor 15, 3º B”."""
    street = _STREET.match(text) if kind is IdentifierType.STREET else None
    return [text, street[0]] if street else [text]


class Sought:
    """A string of one or several folded words, and the different needles that it comes from.

    `own`: the words of the string. `part`: a part of these needles. `exception` is the name of the exception that
    applies wherever the string occurs, empty if there is none. Add all needles before the properties are read.
    """

    def __init__(self, own: tuple[str, ...], part: bool, exception: str) -> None:
        self.words = own
        self.part = part
        self.exception = exception
        self._needles: dict[tuple[int | None, str, str], Needle] = {}
        self._first_of: dict[int | None, Needle] = {}

    def add(self, needle: Needle) -> None:
        self._needles.setdefault((needle.note, needle.label, needle.text), needle)
        self._first_of.setdefault(needle.note, needle)

    def best(self, note: int | None) -> Needle:
        """The first needle that is labeled in the note, else the first of all."""
        return self._first_of.get(note) or next(iter(self._first_of.values()))

    @cached_property
    def labels(self) -> frozenset[str]:
        return frozenset(needle.label for needle in self._needles.values())

    @cached_property
    def texts(self) -> frozenset[str]:
        """The needles, folded, from their first to their last word."""
        return frozenset(_core(needle.text) for needle in self._needles.values())

    @cached_property
    def is_whole(self) -> bool:
        """Whether one of the needles has these words and no other ones."""
        return any(words(needle.text) == self.words for needle in self._needles.values())

    @cached_property
    def beside(self) -> frozenset[str]:
        """The other words of the needles and their initials, without particles."""
        found = {word for needle in self._needles.values() for word in words(needle.text) if word not in PARTICLES}
        return frozenset((found | {word[0] for word in found}).difference(self.words))

    @cached_property
    def date_texts(self) -> frozenset[str]:
        return frozenset(needle.text for needle in self._needles.values() if needle.kind is IdentifierType.DATE)

    @cached_property
    def is_capitalized_place(self) -> bool:
        """Whether a part comes only from names of places and institutions, in which it is not in lower case."""
        return all(
            needle.kind in LOCATIONS and not _lower_in(needle.text, self.words[0]) for needle in self._needles.values()
        )


def is_part(word: str, needle: Needle, found: tuple[str, ...]) -> bool:
    """Whether a word of a needle with these words is a part that is sought by itself: 448172 of A-448172, too."""
    long = len(word) >= PART_LETTERS and word.isalpha() and needle.kind not in WHOLE_ONLY
    return len(found) > 1 and (long or (len(word) >= _PART_DIGITS and word.isdigit() and needle.kind in CODES))


def is_short_name(word: str, needle: Needle, found: tuple[str, ...]) -> bool:
    """Whether a word of a person's name is too short to be sought anywhere but where a name stands: Gil, Lee."""
    short = len(found) > 1 and 1 < len(word) < PART_LETTERS and word.isalpha() and needle.kind in PEOPLE
    return short and word not in CUES and word not in PARTICLES


def _core(text: str) -> str:
    plain = folded(text)
    found = list(WORD.finditer(plain))
    return plain[found[0].start() : found[-1].end()]


def _lower_in(text: str, word: str) -> bool:
    """Whether the text has the folded word in lower case."""
    whole = FoldableText(text)
    return any(
        text[slice(*whole.original_bounds(*match.span()))].islower()
        for match in WORD.finditer(whole.text)
        if match[0] == word
    )
