"""Needles in the form in which the gate looks for them."""

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import cached_property, lru_cache
from itertools import chain, pairwise
from typing import Final

from rapidfuzz.distance import OSA

from annotations.release.rules.known.days import MONTHS, Dated, Day, days_in, in_figures, in_words
from annotations.release.rules.known.reading import PARTICLES, FoldedText, ordinary
from annotations.release.rules.leaks.digits import Numbers
from annotations.release.rules.leaks.needles import LOCATIONS, PART_LETTERS, WHOLE_ONLY, Needle, Sought
from annotations.release.rules.redaction.policy import PEOPLE, IdentifierType
from annotations.release.rules.redaction.released import TITLES
from annotations.release.rules.surrogates.gazetteers import kept
from annotations.text.search import folded, words
from annotations.text.spans import Bounds

# Names whose letters are written apart, or joined with another name or a title: P E T R I E, Petr-⏎ie, PetrieLund.
#
# A name has four letters or more, all of them ASCII in the folded text; or it is in a script that writes words, or
# small words before and after a name, without spaces: 李小龙先生. Offsets are code points of the folded text,
# end-exclusive.


Respelled = tuple[str, int, int]
"""A name, and the bounds of where it stands."""

_NO_LETTERS: Final = bytes(set(range(256)) - set(b"abcdefghijklmnopqrstuvwxyz"))
_LETTERS: Final = re.compile(r"[a-z]+")
_APART: Final = r"(?:[^\w\0]|_){0,8}"
_LONGEST_TOKEN: Final = 60
# Chinese and Japanese names from two letters, Korean ones from two syllables, Hebrew and Arabic ones from three letters
_UNSPACED: Final = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]{2,}|[\u1100-\u11ff]{4,}|[\u05d0-\u05ea\u0621-\u06ff]{3,}")
# With fewer letters, parts of several letters may be two other words: "con de" is not a Conde.
_LEAST_IN_PARTS: Final = 6
# What stands between two parts: one or two signs, or one or two line breaks with a hyphen and indentation.
_BETWEEN_PARTS: Final = re.compile(r"[^\w.,;:!?]{1,2}|_|[./]|-?[ \t]*(?:\r?\n[ \t]*){1,2}")


class SpacingSearch:
    """The names to look for."""

    def __init__(self) -> None:
        self._sought: dict[str, str] = {}  # with the initials of the words beside it in a person's name
        self._names: set[str] = set()
        self._unspaced: set[str] = set()
        self._pairs: set[tuple[str, str]] = set()  # a particle and the word after it: Di Rosa

    def add(self, found: Collection[str], needle: Needle) -> None:
        """Look for the words of a needle: a person's name, or a single word."""
        person = needle.kind in PEOPLE
        initials = "".join(word[0] for word in found) if person and len(found) > 1 else ""
        for word in found:
            if len(word) >= PART_LETTERS and word.isascii() and word.isalpha():
                self._sought[word] = self._sought.get(word, "") + initials
            elif _UNSPACED.fullmatch(word):
                self._unspaced.add(word)
        if person:
            self._names.update(found)
            self._pairs |= {pair for pair in pairwise(found) if pair[0] in PARTICLES}

    @cached_property
    def _parts(self) -> frozenset[str]:
        """The words of persons' names that are not particles and titles."""
        return frozenset(self._names - PARTICLES - TITLES)

    def find(self, text: str) -> Iterator[Respelled]:
        """Where these names are in a folded text, other than as words."""
        for name in self._unspaced:
            for found in re.finditer(re.escape(name), text):
                yield name, *found.span()
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
            beside = (before or after) and end - start <= _LONGEST_TOKEN
            names = not after or (after.endswith(tuple(self._parts)) and _is_made_of(after, self._parts, PARTICLES))
            if beside and names and self._precedes(before, name):  # other names may follow: delaCruz
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


# Names with one wrong, missing or additional letter, two letters exchanged, or digits for letters: Petire, Petr1e.
#
# Names of places are sought with other letters, but not with digits, which would cost much and find little.
#
# The text is folded. Offsets are its code points, end-exclusive.


_LEAST: Final = 6
"""The fewest letters of a name that is sought with another letter: a shorter one is one letter from too many words."""

_WORD: Final = re.compile(r"[^\W\d_]+")
# As which letter each digit reads. I and l are one letter here, since 1 may be both.
_READS_AS: Final = {"0": "o", "1": "i", "l": "i", "3": "e", "4": "a", "5": "s", "7": "t", "8": "b", "9": "g"}
_AS_LETTERS: Final = bytes(
    ord(_READS_AS.get(chr(code), chr(code) if code < 128 and chr(code).isalpha() else " ")) for code in range(256)
)
_FORMS: Final = {
    letter: f"[{letter}{''.join(sign for sign, read in _READS_AS.items() if read == letter)}]"
    for letter in _READS_AS.values()
}


class MisspellingSearch:
    """The names to look for, by the letters that one error leaves alone: the first three or the last three."""

    def __init__(self) -> None:
        self._heads: defaultdict[str, list[str]] = defaultdict(list)
        self._tails: defaultdict[str, list[str]] = defaultdict(list)
        self._names: set[str] = set()
        self._as_letters: dict[str, str] = {}

    def add(self, found: Iterable[str], with_digits: bool) -> None:
        """Look for these words of a name."""
        for word in found:
            if len(word) < PART_LETTERS or not (word.isascii() and word.isalpha()):
                continue
            if with_digits:
                self._as_letters[_read(word)] = word
            if word in self._names:
                continue
            self._names.add(word)
            if len(word) >= _LEAST:
                self._heads[word[:3]].append(word)
                self._tails[word[-3:]].append(word)
            if len(word) == _LEAST:  # with the two letters in the middle exchanged
                self._heads[word[:2] + word[3]].append(word)

    def find(self, text: str, present: Iterable[str]) -> Iterator[Respelled]:
        """Where these names are misspelled in a folded text with these words."""
        heads, tails = self._heads, self._tails
        near: dict[str, str] = {}
        for word in [word for word in present if len(word) > 4 and (word[:3] in heads or word[-3:] in tails)]:
            if word not in self._names:
                for name in {*heads.get(word[:3], ()), *tails.get(word[-3:], ())}:
                    if OSA.distance(name, word, score_cutoff=1) == 1 and not ordinary(word):
                        near[word] = name
        for found in _WORD.finditer(text) if near else ():
            if found[0] in near:
                yield near[found[0]], *found.span()
        read = _read(text)
        for letters, name in self._as_letters.items():
            for found in (
                re.finditer("".join(_FORMS.get(letter, letter) for letter in letters), text) if letters in read else ()
            ):
                start, end = found.span()
                if not (found[0].isalpha() or text[start - 1 : start].isalnum() or text[end : end + 1].isalnum()):
                    yield name, start, end


def _read(text: str) -> str:
    return text.encode("ascii", "replace").translate(_AS_LETTERS).decode()


# Dates by their value: a labeled 12/03/2021 is also 2021-03-12 and 12 March 2021. They have day, month and year.
#
# Offsets are code points of the folded text, end-exclusive.


# Most released texts have nothing like a date in figures, which takes a sixth of the time to see.
_LIKE_FIGURES: Final = re.compile(
    r"[0-9](?:\s?[./\-–\s]\s?(?:[0-9]{1,2}|[ivx]{1,4})\s?[./\-–\s]\s?['’]?[0-9]{2}|[0-9]{7}|[0-9]{3}-[0-9]{3})"
)
_REACH: Final = 50  # characters of a date before and after the name of its month


def _in_words(text: str, months: set[str]) -> Iterator[Dated]:
    """The dates around names of months. Only their surroundings are read, which overlap nowhere."""
    around: list[Bounds] = []
    for found in re.finditer("|".join(months), text) if months else ():
        start, end = max(0, found.start() - _REACH), found.end() + _REACH
        if around and start <= around[-1][1]:
            start, _end = around.pop()
        around.append((start, end))
    for first, last in around:
        if any(map(str.isdigit, text[first:last])):
            for start, end, days in in_words(FoldedText(text[first:last])):
                yield first + start, first + end, days


Worded = tuple[tuple[str, ...], Needle]
"""A needle with its words."""
Strings = dict[tuple[int, int], dict[tuple[str, ...], dict[bool, Sought]]]
"""Strings that share their longest word that isn't generic: by its place among their words and their number, by all
words, and by whether they are parts. A text is searched in time that doesn't depend on how many strings share the word.
"""


_JOINED_LETTERS: Final = 8
"""The fewest letters of the last words of an institution's or a place's name that are sought as one word."""
_NUMERO: Final = (("n", "o"), ("no",), ("num",), ("numero",))


def _joined(found: Sequence[str], kind: IdentifierType) -> Iterator[str]:
    """The words of a needle as one word; the last ones, too, of an institution: SanRafael, of Hospital San Rafael."""
    for first in range(len(found) - 1 if kind not in WHOLE_ONLY else 0):
        joined = "".join(found[first:])
        if joined.isalpha() and (first == 0 or (kind in LOCATIONS and len(joined) >= _JOINED_LETTERS)):
            yield joined


def _house(found: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """The name and the number of a street without the words of its type, and with a word for the number before it."""
    types = kept("street")
    first = next((at for at, word in enumerate(found) if word not in types), len(found))
    last = next((at for at in range(len(found), first, -1) if found[at - 1] not in types), first)
    house = tuple(word for word in found[first:last] if word not in ("no", "num", "numero"))
    if not (any(map(str.isdigit, house)) and any(len(word) > 2 and word.isalpha() for word in house)):
        return
    if house != found:
        yield house
    if house[-1].isdigit():
        yield from ((*house[:-1], *words, house[-1]) for words in _NUMERO)


class PreparedNeedles:
    """The needles by their words, the long numbers and the dates in them, and the names that may be written otherwise.

    Most words of needles are in no released text. `strings_of` makes the strings of a word when a text first has it.
    """

    def __init__(
        self,
        needles: Iterable[Needle],
        numbers: Numbers,
        strings_of: Callable[[str, Sequence[Worded]], Strings],
        exception_of: Callable[[Needle], str],
    ) -> None:
        self.numbers = numbers
        self._dates: list[Needle] = []
        self._spacing = SpacingSearch()
        self._misspelled = MisspellingSearch()
        self._strings_of, self._exception_of = strings_of, exception_of
        self._by_word: defaultdict[str, list[Worded]] = defaultdict(list)
        self._made: dict[str, Strings] = {}
        for needle in needles:
            found = words(needle.text)
            worded = (found, needle)
            for word in found if len(found) < 2 else set(found):
                self._by_word[word].append(worded)
            if needle.kind is IdentifierType.DATE:
                self._dates.append(needle)
            elif len(found) == 1 or needle.kind in PEOPLE:
                self._spacing.add(found, needle)
            if needle.kind in PEOPLE | LOCATIONS:
                self._misspelled.add(found, with_digits=needle.kind in PEOPLE)
            for joined in _joined(found, needle.kind):
                self._by_word[joined].append(((joined,), needle))
            for variant in _house(found) if needle.kind is IdentifierType.STREET else ():
                for word in set(variant):
                    self._by_word[word].append((variant, needle))
        self._foreign = [word for word in self._by_word if not word.isascii()]

    def strings_in(self, found: set[str]) -> dict[str, Strings]:
        """The strings that may be in a folded text with these words, by their longest word that isn't generic."""
        strings = {word: self._strings(word) for word in (*(self._by_word.keys() & found), *self._foreign)}
        return {word: made for word, made in strings.items() if made}

    def respelled_in(self, text: str, present: set[str]) -> Iterator[tuple[Sought, int, int]]:
        """The names that a folded text with these words has in another spacing or misspelled, and where."""
        for word, start, end in chain(self._spacing.find(text), self._misspelled.find(text, present)):
            for sought in self._strings(word).get((0, 1), {}).get((word,), {}).values():
                yield sought, start, end

    def _strings(self, word: str) -> Strings:
        if word not in self._made:
            self._made[word] = self._strings_of(word, self._by_word[word])
        return self._made[word]

    @cached_property
    def _by_day(self) -> dict[Day, Sought]:
        found: dict[Day, Sought] = {}
        for needle in self._dates:
            for day in days_in(folded(needle.text)):
                sought = Sought(words(needle.text), False, self._exception_of(needle))
                found.setdefault(day, sought).add(needle)
        return found

    def dates_in(self, text: str, present: set[str]) -> Iterator[tuple[Sought, int, int]]:
        """The days of dated needles that a folded text with these words has in any notation, and where."""
        months = MONTHS.keys() & present if self._dates else set()
        if months or (self._dates and _LIKE_FIGURES.search(text)):
            places = {(start, end): days for start, end, days in (*in_figures(text), *_in_words(text, months))}
            for (start, end), days in places.items():
                if day := next((day for day in sorted(days) if day in self._by_day), None):
                    yield self._by_day[day], start, end
