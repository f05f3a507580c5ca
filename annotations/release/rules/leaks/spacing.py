"""Names whose letters are written apart, or joined with another name or a title: P E T R I E, Petr-⏎ie, PetrieLund.

A name has four letters or more, all of them ASCII in the folded text. Offsets are code points of the folded text,
end-exclusive.
"""

import re
from collections.abc import Collection, Iterator
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Final

from annotations.release.rules.known.words import PARTICLES
from annotations.release.rules.leaks.needles import PART_LETTERS, Needle, names_person
from annotations.release.rules.redaction.numbering import TITLES

Respelled = tuple[str, int, int]
"""A name, and the bounds of where it stands."""

_NO_LETTERS: Final = bytes(set(range(256)) - set(b"abcdefghijklmnopqrstuvwxyz"))
_LETTERS: Final = re.compile(r"[a-z]+")
_APART: Final = r"(?:[^\w\0]|_){0,8}"
_LONGEST_TOKEN: Final = 60
# With fewer letters, parts of several letters may be two other words: "con de" is no Conde.
_LEAST_IN_PARTS: Final = 6
# What stands between two parts: one or two signs, or one or two line breaks with a hyphen and indentation.
_BETWEEN_PARTS: Final = re.compile(r"[^\w.,;:!?]{1,2}|_|[./]|-?[ \t]*(?:\r?\n[ \t]*){1,2}")


class Spacing:
    """The names to look for."""

    def __init__(self) -> None:
        self._sought: dict[str, str] = {}  # with the initials of the words beside it in a person's name
        self._names: set[str] = set()
        self._pairs: set[tuple[str, str]] = set()  # a particle and the word after it: Di Rosa

    def add(self, found: Collection[str], needle: Needle) -> None:
        """Look for the words of a needle: a person's name, or a single word."""
        person = names_person(needle)
        initials = "".join(word[0] for word in found) if person and len(found) > 1 else ""
        for word in found:
            if len(word) >= PART_LETTERS and word.isascii() and word.isalpha():
                self._sought[word] = self._sought.get(word, "") + initials
        if person:
            self._names.update(found)
            self._pairs |= {pair for pair in pairwise(found) if pair[0] in PARTICLES}

    @cached_property
    def _parts(self) -> frozenset[str]:
        """The words of persons' names that are no particles and titles."""
        return frozenset(self._names - PARTICLES - TITLES)

    def find(self, text: str) -> Iterator[Respelled]:
        """Where these names are in a folded text, other than as words."""
        letters = text.encode("ascii", "replace").translate(None, _NO_LETTERS).decode()
        for name in self._sought:
            if name not in letters:  # most names are in no released text
                continue
            together = text.count(name)
            if together:
                yield from self._joined(text, name)
            if letters.count(name) > together:
                yield from _apart(text, name)

    def _joined(self, text: str, name: str) -> Iterator[Respelled]:
        at = text.find(name)
        while at >= 0:
            start, end = at, at + len(name)
            while start and text[start - 1].isalpha() and at - start <= _LONGEST_TOKEN:
                start -= 1
            while text[end : end + 1].isalpha() and end - at <= _LONGEST_TOKEN:
                end += 1
            before, after = text[start:at], text[at + len(name) : end]
            if (
                (before or after)
                and end - start <= _LONGEST_TOKEN
                and self._precedes(before, name)
                and self._follows(after)
            ):
                yield name, start, end
            at = text.find(name, end)

    def _precedes(self, letters: str, name: str) -> bool:
        """Whether letters directly before a name are nothing, an initial, its particle, or other names or titles."""
        if (letters, name) in self._pairs:
            return True
        if len(letters) < 2:
            return not letters or (len(name) > PART_LETTERS and letters in self._sought[name])
        names = _is_made_of(letters, self._parts, TITLES, PARTICLES)
        return names and (len(letters) >= PART_LETTERS or not _is_made_of(letters, PARTICLES))

    def _follows(self, letters: str) -> bool:
        """Whether letters directly after a name are nothing or other names: delaCruz."""
        return not letters or (letters.endswith(tuple(self._parts)) and _is_made_of(letters, self._parts, PARTICLES))


def _is_made_of(letters: str, *kinds: Collection[str]) -> bool:
    """Whether the letters are such words of two letters or more without anything between them."""
    reached = {0}
    for end in range(2, len(letters) + 1):
        words = {letters[start:end] for start in reached if end - start > 1}
        if any(word in kind for word in words for kind in kinds):
            reached.add(end)
    return len(letters) in reached


@lru_cache(maxsize=1 << 10)
def _with_gaps(name: str) -> re.Pattern[str]:
    return re.compile(rf"{name[0]}(?<![^\W\d_]{name[0]}){_APART}{_APART.join(name[1:])}(?![^\W\d_])")


def _apart(text: str, name: str) -> Iterator[Respelled]:
    for found in _with_gaps(name).finditer(text):
        parts = list(_LETTERS.finditer(text, *found.span()))
        gaps = [text[one.end() : other.start()] for one, other in pairwise(parts)]
        if len(parts) == len(name) or (
            len(parts) > 1 and len(name) >= _LEAST_IN_PARTS and all(map(_BETWEEN_PARTS.fullmatch, gaps))
        ):
            yield name, *found.span()
