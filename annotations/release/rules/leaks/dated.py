"""Dates by their value: a labeled 12/03/2021 is also 2021-03-12 and 12 March 2021. They have day, month and year.

Offsets are code points of the folded text, end-exclusive.
"""

import re
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Final

from annotations.release.rules.known.days import MONTHS, Dated, Day, days_in, in_figures, in_words
from annotations.release.rules.known.reading import FoldedText
from annotations.release.rules.leaks.needles import Needle, Sought
from annotations.text.search import folded
from annotations.text.spans import Bounds

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
