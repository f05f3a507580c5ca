"""Numbers in another grouping: 915123456 is also 915,123 456 and, as a telephone number, +34 915 12 34 56.

A number has seven digits or more, in a code six. Offsets are code points of the folded text, end-exclusive.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Final

from annotations.release.rules.known.person import telephone_forms
from annotations.release.rules.leaks.needles import WHOLE_ONLY, Needle, Sought
from annotations.release.rules.redaction.policy import CODES, TELEPHONES
from annotations.text.search import WORD, folded

LEAST_DIGITS: Final = 7
"""The fewest digits of a number that is found in any grouping. A shorter one may be a value or a date."""
LEAST_IN_CODES: Final = 6
"""The fewest digits of such a number in a code, such as a record number."""

_MOST_DIGITS: Final = 40
_GROUP: Final = re.compile(r"\d+")
_BETWEEN: Final = r"(?:[^\w\0]|_)"
_RUN: Final = re.compile(rf"\d+(?:{_BETWEEN}{{1,8}}\d+)*")
_LETTERS_BEFORE: Final = re.compile(rf"([^\W\d_]{{1,4}}){_BETWEEN}{{0,2}}$")
_LETTERS_AFTER: Final = re.compile(rf"{_BETWEEN}{{0,2}}([^\W\d_]{{1,4}})(?![^\W\d_])")
_NO_DIGITS: Final = bytes(set(range(128)) - set(b"0123456789"))
_REACH: Final = 7
_AS_DIGITS: Final = str.maketrans("oilsb", "01158")


@dataclass(frozen=True, slots=True)
class Number:
    """A long number in a needle. `before`, `after`: the letters of the needle beside it. `part`: it has more."""

    digits: str
    before: str = ""
    after: str = ""
    part: bool = False

    @property
    def compact(self) -> str:
        return self.before + self.digits + self.after


def numbers_of(needle: Needle) -> Iterator[Number]:
    """The long numbers in a needle; a telephone number also without and with the prefix of its country."""
    text = needle.text
    least = LEAST_IN_CODES if needle.kind in CODES else LEAST_DIGITS
    if len(text) < least or needle.kind in WHOLE_ONLY or text.isalpha() or _digits_in(text) < least:
        return
    plain = folded(text)
    whole = sum(map(len, WORD.findall(plain)))
    for run in _RUN.finditer(plain):
        digits = "".join(_GROUP.findall(run[0]))
        if not least <= len(digits) <= _MOST_DIGITS:
            continue
        before, after = _before(plain, run.start()), _LETTERS_AFTER.match(plain, run.end())
        letters = (before[1] if before else "", after[1] if after else "")
        part = sum(map(len, (digits, *letters))) < whole
        yield Number(digits, *letters, part)
        bare = digits.lstrip("0")
        if least <= len(bare) < len(digits):
            yield Number(bare, *letters, part)
        if needle.kind in TELEPHONES:
            plus = "+" if "+" in plain[max(0, run.start() - 2) : run.start()] else ""
            for form in dict.fromkeys(telephone_forms(plus + run[0])):
                if len(form) >= least and form not in (digits, bare):
                    yield Number(form, *letters, part)


def _digits_in(text: str) -> int:
    return len(_ascii_digits(text)) if text.isascii() else sum(map(str.isdigit, text))


def _ascii_digits(text: str) -> str:
    """The ASCII digits of a text, without what stands between them."""
    return text.encode("ascii", "ignore").translate(None, _NO_DIGITS).decode()


def _before(text: str, at: int) -> re.Match[str] | None:
    found = _LETTERS_BEFORE.search(text, max(0, at - _REACH), at)
    return None if found is None or text[: found.start()][-1:].isalpha() else found


@dataclass(frozen=True, slots=True)
class Place:
    """A number in a text: its bounds with the letters beside it, and its words there. `part`: letters are missing."""

    sought: Sought
    start: int
    end: int
    words: tuple[str, ...]
    part: bool


class Numbers:
    """The numbers to look for."""

    def __init__(self) -> None:
        self.sought: dict[str, Sought] = {}
        self._letters: dict[str, dict[tuple[str, str], None]] = {}
        self._lengths: dict[int, None] = {}

    def add(self, number: Number, needle: Needle, exception: str) -> None:
        """Look for this number of a needle, too; `exception` as in `Sought`."""
        self.sought.setdefault(number.digits, Sought((number.digits,), number.part, exception)).add(needle)
        self._letters.setdefault(number.digits, {})[number.before, number.after] = None
        self._lengths[len(number.digits)] = None

    def find(self, text: str) -> Iterator[Place]:
        """Where these numbers are in a folded text, also with letters for digits (9l5 l23), in whole groups."""
        if not self.sought:
            return
        yield from self._find(text)
        for place in self._find(text.translate(_AS_DIGITS)):
            beside = text[max(0, place.start - 1) : place.start] + text[place.end : place.end + 1]
            written = sum(map(str.isdigit, text[place.start : place.end]))
            if written < len(place.sought.words[0]) and not any(map(str.isalnum, beside)):
                yield replace(place, words=())  # no needle writes it so

    def _find(self, text: str) -> Iterator[Place]:
        # Most released texts have none of the digits, which takes a tenth of the time to see.
        digits = _ascii_digits(text)
        if not any(number in digits or not number.isascii() for number in self.sought):
            return
        for run in _RUN.finditer(text):
            if run.end() - run.start() < LEAST_IN_CODES:
                continue
            groups = list(_GROUP.finditer(text, run.start(), run.end()))
            digits = "".join(group[0] for group in groups)
            done: dict[str, int] = {}  # the places of a number don't overlap
            for first, last, number in _in_groups(digits, groups, self._lengths):
                if number in self.sought and first > done.get(number, -1):
                    done[number] = last
                    yield self._placed(text, number, groups[first : last + 1])

    def _placed(self, text: str, number: str, groups: Sequence[re.Match[str]]) -> Place:
        start, end = groups[0].start(), groups[-1].end()
        before, after = _before(text, start), _LETTERS_AFTER.match(text, end)
        there = (before[1] if before else "", after[1] if after else "")
        words = tuple(group[0] for group in groups)
        for letters in self._letters[number]:
            if all(not own or own == other for own, other in zip(letters, there, strict=True)):
                first, last = letters
                if first and before:
                    start, words = before.start(), (first, *words)
                if last and after:
                    end, words = after.end(), (*words, last)
                return Place(self.sought[number], start, end, words, part=False)
        return Place(self.sought[number], start, end, words, part=True)


def _in_groups(digits: str, groups: Sequence[re.Match[str]], lengths: Iterable[int]) -> Iterator[tuple[int, int, str]]:
    """Numbers of these lengths that consist of whole groups: first group, last group, digits."""
    ends = list(accumulate(group.end() - group.start() for group in groups))
    last_of = {end: last for last, end in enumerate(ends)}
    for first, at in enumerate([0, *ends[:-1]]):
        for length in lengths:
            last = last_of.get(at + length)
            if last is not None:
                yield first, last, digits[at : at + length]
