"""Needles in the form in which the gate looks for them."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import chain
from typing import Final

from annotations.release.rules.known.days import MONTHS, Dated, Day, days_in, in_figures, in_words
from annotations.release.rules.known.reading import FoldedText
from annotations.release.rules.leaks.digits import Numbers
from annotations.release.rules.leaks.needles import LOCATIONS, WHOLE_ONLY, Needle, Sought
from annotations.release.rules.leaks.respelled import Misspelled, Spacing
from annotations.release.rules.redaction.policy import PEOPLE, IdentifierType
from annotations.text.search import folded, words
from annotations.text.spans import Bounds

# Dates by their value: a labeled 12/03/2021 is also 2021-03-12 and 12 March 2021. They have day, month and year.
#
# Offsets are code points of the folded text, end-exclusive.


# Most released texts have nothing like a date in figures, which takes a sixth of the time to see.
_LIKE_FIGURES: Final = re.compile(
    r"[0-9](?:\s?[./\-–\s]\s?(?:[0-9]{1,2}|[ivx]{1,4})\s?[./\-–\s]\s?['’]?[0-9]{2}|[0-9]{7})"
)
_REACH: Final = 50  # characters of a date before and after the name of its month


class Dates:
    """The dates to look for."""

    def __init__(self, sought_of: Callable[[Needle], Sought]) -> None:
        self._sought_of = sought_of
        self._needles: list[Needle] = []

    def add(self, needle: Needle) -> None:
        """Look for the days of this date."""
        self._needles.append(needle)

    @cached_property
    def _by_day(self) -> dict[Day, Sought]:
        found: dict[Day, Sought] = {}
        for needle in self._needles:
            for day in days_in(folded(needle.text)):
                found.setdefault(day, self._sought_of(needle)).add(needle)
        return found

    def find(self, text: str, words: set[str]) -> Iterator[tuple[Sought, int, int]]:
        """Where these days are in a folded text with these words."""
        if not self._needles:
            return
        months = MONTHS.keys() & words
        if months or _LIKE_FIGURES.search(text):
            places = {(start, end): days for start, end, days in (*in_figures(text), *_in_words(text, months))}
            for (start, end), days in places.items():
                if day := next((day for day in sorted(days) if day in self._by_day), None):
                    yield self._by_day[day], start, end


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
Strings = dict[tuple[int, int], dict[tuple[str, ...], list[Sought]]]
"""Strings that share their longest word that isn't generic: by its place among their words and their number, and by all
words. A text is searched in time that doesn't depend on how many strings share the word.
"""


class Prepared:
    """The needles by their words, the long numbers and the dates in them, and the names that may be written otherwise.

    Most words of needles are in no released text. `strings_of` makes the strings of a word when a text first has it.
    """

    def __init__(
        self,
        needles: Iterable[Needle],
        numbers: Numbers,
        dates: Dates,
        strings_of: Callable[[str, Sequence[Worded]], Strings],
    ) -> None:
        self.numbers = numbers
        self.dates = dates
        self._spacing = Spacing()
        self._misspelled = Misspelled()
        self._strings_of = strings_of
        self._by_word: defaultdict[str, list[Worded]] = defaultdict(list)
        self._made: dict[str, Strings] = {}
        for needle in needles:
            found = words(needle.text)
            worded = (found, needle)
            for word in found if len(found) < 2 else set(found):
                self._by_word[word].append(worded)
            if needle.kind is IdentifierType.DATE:
                dates.add(needle)
            elif len(found) == 1 or needle.kind in PEOPLE:
                self._spacing.add(found, needle)
            if needle.kind in PEOPLE | LOCATIONS:
                self._misspelled.add(found, with_digits=needle.kind in PEOPLE)
            if len(found) > 1 and needle.kind not in WHOLE_ONLY and (joined := "".join(found)).isalpha():
                self._by_word[joined].append(((joined,), needle))
        self._foreign = [word for word in self._by_word if not word.isascii()]

    def strings_in(self, found: set[str]) -> dict[str, Strings]:
        """The strings that may be in a folded text with these words, by their longest word that isn't generic."""
        strings = {word: self._strings(word) for word in (*(self._by_word.keys() & found), *self._foreign)}
        return {word: made for word, made in strings.items() if made}

    def respelled_in(self, text: str, present: set[str]) -> Iterator[tuple[Sought, int, int]]:
        """The names that a folded text with these words has in another spacing or misspelled, and where."""
        for word, start, end in chain(self._spacing.find(text), self._misspelled.find(text, present)):
            for sought in self._strings(word).get((0, 1), {}).get((word,), ()):
                yield sought, start, end

    def _strings(self, word: str) -> Strings:
        if word not in self._made:
            self._made[word] = self._strings_of(word, self._by_word[word])
        return self._made[word]
