"""Days in texts by their value, in the notations of eight languages: 12/03/2021 is also 12 March 2021."""

import re
from collections.abc import Collection, Iterator
from contextlib import suppress
from datetime import date
from pathlib import Path
from typing import Final

from annotations.release.rules.known.reading import FoldedText
from annotations.release.rules.redaction.calendars import MONTH_NAMES
from annotations.text.search import folded, lines_of

Day = tuple[int, int, int]
"""Year, month, day."""
Dated = tuple[int, int, set[Day]]
"""The bounds of a date, and the days that it may be: the order of dates in figures may be any."""

_LISTED: Final = lines_of(Path(__file__).parent / "data" / "months.txt")
MONTHS: Final = {name: at for line in _LISTED for at, name in enumerate(line.split(), 1)}
"""The number of each month by its folded names."""
MONTHS.update({folded(name): names[0].at + 1 for name, names in MONTH_NAMES.items()})
_ROMANS: Final = ("i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x", "xi", "xii")
# It begins with a digit and not with a lookbehind, which takes six times as long in a text without dates.
_FIGURES: Final = re.compile(
    r"(?P<first>\d)(?<!\d\d)(?=(?P<a>\d{0,3})\s?(?P<apart>[./\-– \u00a0])\s?(?P<b>\d{1,2}|[ivx]{1,4})\s?(?P=apart)\s?"
    r"['’]?(?P<c>\d{4}|\d{2})(?!\d))",
    re.IGNORECASE,
)
_COMPACT: Final = re.compile(r"\d{8}(?<!\d{9})(?!\d)")
_ORDINAL: Final = re.compile(r"(?<![\d-])((?:19|20)\d\d)-([0-3]\d\d)(?![\d-])")  # 2021-071, the 71st day
# Words between the parts of a date: "12 de enero de 1970", "the 12th of January".
_LINKS: Final = frozenset(["de", "del", "dell", "of", "the", "st", "nd", "rd", "th", "o", "a", "ano", "anno", "year"])
_BETWEEN: Final = frozenset(" \t\r\n .,-‐-–/º°ª'’")
_LONGEST_GAP: Final = 4


def day_of(iso: str) -> Day | None:
    """Read an ISO date; None where it is none or has no day."""
    found = re.fullmatch(r"(\d{4})-(\d{2})-(\d{2})", iso.strip())
    return (int(found[1]), int(found[2]), int(found[3])) if found else None


def days_in(text: str) -> set[Day]:
    """All days that the dates of a text may be."""
    return {day for _start, _end, days in (*in_figures(text), *in_words(FoldedText(text))) for day in days}


def mentions(note: FoldedText, days: Collection[Day]) -> Iterator[tuple[int, int]]:
    """The bounds of dates in the text that may be one of the days."""
    for start, end, found in (*in_figures(note.text), *in_words(note, {month for _year, month, _day in days})):
        if not found.isdisjoint(days):
            yield start, end


def in_figures(text: str) -> Iterator[Dated]:
    """The dates in figures of a text; the month may be a Roman number."""
    for found in _FIGURES.finditer(text):
        a, b, c = found["first"] + found["a"], found["b"].lower(), found["c"]
        if not b.isdigit():
            # With spaces it is a dimension: 5 x 24 mm.
            orders = [(c, str(_ROMANS.index(b) + 1), a)] if b in _ROMANS and not found["apart"].isspace() else []
        elif len(a) > 2:
            orders = [(a, b, c)]
        else:
            orders = [(c, b, a), (c, a, b), *([(a, b, c)] if len(a) == len(c) == 2 else ())]
        if days := {day for order in orders for day in _days(*order)}:
            yield found.start(), found.end("c"), days
    for found in _ORDINAL.finditer(text):
        with suppress(ValueError):
            day = date.fromordinal(date(int(found[1]), 1, 1).toordinal() + int(found[2]) - 1)
            if day.year == int(found[1]):
                yield *found.span(), {(day.year, day.month, day.day)}
    for found in _COMPACT.finditer(text):
        eight = found[0]
        year, a, b = eight[4:], eight[:2], eight[2:4]
        orders = [(eight[:4], eight[4:6], eight[6:]), (year, b, a), (year, a, b)]
        if days := {day for order in orders for day in _days(*order)}:
            yield *found.span(), days


def _days(year: str, month: str, day: str) -> Iterator[Day]:
    """The day, if it exists, in this year or, of two digits, in this century and the last."""
    if len(day) < 3 and len(year) in (2, 4):
        for number in (int(year),) if len(year) == 4 else (1900 + int(year), 2000 + int(year)):
            with suppress(ValueError):
                date(number, int(month), int(day))
                yield number, int(month), int(day)


def in_words(note: FoldedText, months: Collection[int] = range(1, 13)) -> Iterator[Dated]:
    """The dates around the name of one of the months: day, month, year in one of three orders."""
    for word in MONTHS.keys() & note.places.keys():
        if MONTHS[word] in months:
            for at in note.places[word]:
                yield from _around(note, at, MONTHS[word])


def _around(note: FoldedText, at: int, month: int) -> Iterator[Dated]:
    before, after = _number(note, at, -1), _number(note, at, 1)
    if after is None:
        return
    last = _number(note, after, 1)
    orders = [(before, after, after, before), (at, last, last, after)]
    if before is not None and len(note.words[before]) == 4:
        orders.append((before, after, before, after))
    for first, end, year, day in orders:
        if first is not None and end is not None and year is not None and day is not None:
            days = set(_days(note.words[year], str(month), note.words[day]))
            if days:
                yield note.starts[first], note.ends[end], days


def _number(note: FoldedText, at: int, step: int) -> int | None:
    """The next number before or after a token, over links only."""
    for _ in range(3):
        gap = at if step > 0 else at - 1
        at += step
        if not 0 <= at < len(note.words) or len(note.gap(gap)) > _LONGEST_GAP or not _BETWEEN.issuperset(note.gap(gap)):
            return None
        if note.words[at].isdigit():
            return at
        if note.words[at] not in _LINKS:
            return None
    return None
