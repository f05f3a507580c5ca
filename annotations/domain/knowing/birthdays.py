"""Dates in notes that are a given day, in the formats of English, Spanish and Italian."""

import re
from collections.abc import Collection, Iterator
from typing import Final

from annotations.domain.knowing.reading import Reading

Day = tuple[int, int, int]
"""Year, month, day."""

_MONTHS: Final = (
    "january jan enero ene gennaio gen",
    "february feb febrero febbraio",
    "march mar marzo",
    "april apr abril abr aprile",
    "may mayo maggio mag",
    "june jun junio giugno giu",
    "july jul julio luglio lug",
    "august aug agosto ago",
    "september sep sept septiembre setiembre settembre set",
    "october oct octubre ottobre ott",
    "november nov noviembre novembre",
    "december dec diciembre dic dicembre",
)
_NUMERIC: Final = re.compile(r"(?<!\d)(?=((\d{1,4})\s?([./\-– \u00a0])\s?(\d{1,2})\s?\3\s?(\d{4}|\d{2}))(?!\d))")
_COMPACT: Final = re.compile(r"(?<!\d)\d{8}(?!\d)")
_WORDS: Final = {number: tuple(words.split()) for number, words in enumerate(_MONTHS, 1)}
# Words between the parts of a date: "12 de enero de 1970", "the 12th of January".
_LINKS: Final = frozenset(["de", "del", "of", "the", "st", "nd", "rd", "th", "o", "a"])
_BETWEEN: Final = frozenset(" \t\r\n .,-‐–/º°ª'’")
_LONGEST_GAP: Final = 4


def day_of(iso: str) -> Day | None:
    """Read an ISO date; None where it is none or has no day."""
    found = re.fullmatch(r"(\d{4})-(\d{2})-(\d{2})", iso.strip())
    return (int(found[1]), int(found[2]), int(found[3])) if found else None


def mentions(note: Reading, days: Collection[Day]) -> Iterator[tuple[int, int]]:
    """The bounds of dates in the text that are one of the days. The order of numeric dates may be any."""
    text = note.text
    for found in _NUMERIC.finditer(text):
        a, b, c = found[2], found[4], found[5]
        if len(a) > 2:
            fits = any(day == (int(a), int(b), int(c)) for day in days) if len(a) == 4 and len(c) == 2 else False
        else:
            fits = any(
                (_same_year(c, year) and (int(a), int(b)) in ((day, month), (month, day)))
                or (len(c) == 2 and _same_year(a, year) and len(a) == 2 and (int(b), int(c)) == (month, day))
                for year, month, day in days
            )  # fmt: skip
        if fits:
            yield found.span(1)
    for found in _COMPACT.finditer(text):
        if any(found[0] in (f"{y:04}{m:02}{d:02}", f"{d:02}{m:02}{y:04}", f"{m:02}{d:02}{y:04}") for y, m, d in days):
            yield found.span()
    for year, month, day in days:
        for word in _WORDS[month]:
            for at in note.places.get(word, ()):
                bounds = _written(note, at, year, day)
                if bounds is not None:
                    yield note.starts[bounds[0]], note.ends[bounds[1]]


def _written(note: Reading, at: int, year: int, day: int) -> tuple[int, int] | None:
    """The first and last token of a date around the name of its month: day, month, year in one of three orders."""
    before, after = _number(note, at, -1), _number(note, at, 1)
    if after is None:
        return None
    if before is not None and _is_day(note, before, day) and _is_year(note, after, year):
        return before, after
    if _is_day(note, after, day):
        last = _number(note, after, 1)
        if last is not None and _is_year(note, last, year):
            return at, last
        if before is not None and note.words[before] == str(year):
            return before, after
    return None


def _number(note: Reading, at: int, step: int) -> int | None:
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


def _is_day(note: Reading, at: int, day: int) -> bool:
    return len(note.words[at]) < 3 and int(note.words[at]) == day


def _is_year(note: Reading, at: int, year: int) -> bool:
    return len(note.words[at]) in (2, 4) and _same_year(note.words[at], year)


def _same_year(written: str, year: int) -> bool:
    return int(written) == (year if len(written) == 4 else year % 100)
