"""Reading dates as people write them: where they stand, and how each is written after a move."""

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from itertools import groupby, pairwise
from typing import Final, NamedTuple

from annotations.release.rules.redaction import date_patterns as patterns
from annotations.release.rules.redaction.calendars import (
    MONTH,
    Move,
    month_like,
    month_number,
    two_digit_year,
    weekday_like,
)

_LONGEST: Final = 200  # characters; a longer text is no date

Edit = tuple[int, int, str]
"""Start and end in the text, and what to write there."""


@dataclass(frozen=True, slots=True)
class Found:
    """A date in a text: where it stands, the years that it names as written, and how it is written after a move."""

    start: int
    end: int
    edits: Callable[[Move], list[Edit]]
    years: Sequence[str] = ()
    has_day: bool = False
    only_year: bool = False


@dataclass(frozen=True, slots=True)
class DateText:
    """A text that was understood: its dates, and whether times or words such as "early" stand beside them."""

    dates: Sequence[Found]
    finer: bool


def year_number(written: str) -> int:
    """The year that is written with four digits, or with two, which stand for 1940 to 2039."""
    digits = written.lstrip("'’")
    return int(digits) if len(digits) == 4 else two_digit_year(digits)


def _like_year(year: int, written: str) -> str:
    digits = written.lstrip("'’")
    return written[: len(written) - len(digits)] + (str(year) if len(digits) == 4 else f"{year % 100:02d}")


class Writing(NamedTuple):
    """How dates are written: the language of their names, and whether months come first in figures."""

    language: str
    month_first: bool


def read_dates(text: str, language: str, month_first: bool | None = None) -> DateText | None:
    """The dates of a text; None if it is not understood completely.

    `month_first`: whether 3/4 is the fourth of March; by default it is in English. An order that is impossible gives
    way to the other one.
    """
    if len(text) > _LONGEST:
        return None
    return _read(text, Writing(language, language == "en" if month_first is None else month_first))


def order_of(text: str) -> bool | None:
    """Whether the dates in figures of a text have the month first; None if both orders are possible or there are none.

    A text with dates of both orders tells nothing.
    """
    found = set()
    for match in patterns.FIGURES_ANYWHERE.finditer(text):
        a, b = int(match["a"]), int(match["b"])
        if (a > 12) != (b > 12) and max(a, b) <= 31:
            found.add(b > 12)
    return found.pop() if len(found) == 1 else None


def is_ambiguous(text: str) -> bool:
    """Whether the text has a date in figures of which both orders are possible, and are different days."""
    pairs = [(int(match["a"]), int(match["b"])) for match in patterns.FIGURES_ANYWHERE.finditer(text)]
    return any(1 <= a <= 12 and 1 <= b <= 12 and a != b for a, b in pairs)


@lru_cache(maxsize=1 << 10)
def _read(text: str, writing: Writing) -> DateText | None:
    dates: list[Found] = []
    finer = False
    at = 0
    while at < len(text):
        if time := patterns.TIME.match(text, at) or (
            dates and dates[-1].has_day and patterns.TIME_AFTER_DATE.match(text, at)
        ):
            finer, at = True, time.end()
        elif found := _date_at(text, at, writing):
            dates.append(found)
            at = found.end
        elif between := patterns.BETWEEN.match(text, at):
            word = between[0].lower()
            if word[0].isalnum() and word not in patterns.WORDS and word not in patterns.FINER:
                return None
            finer, at = finer or word in patterns.FINER, between.end()
        else:
            return None
    return DateText(dates, finer) if dates else None


def _date_at(text: str, at: int, writing: Writing) -> Found | None:
    if not (text[at].isalnum() or text[at] in "'’") or (at and text[at - 1].isdigit() and text[at].isdigit()):
        return None
    for pattern, read in _READERS:
        match = pattern.match(text, at)
        if match is not None:
            with suppress(ValueError):
                found = read(match, writing)
                if found is not None:
                    return found
    return None


# Dates in figures


def _checked(year: int | None, month: int, day: int) -> None:
    """Raise ValueError unless the day exists, in this year if there is one."""
    date(2000 if year is None else year, month, day)


def _exists(year: int | None, month: int, day: int) -> bool:
    with suppress(ValueError):
        _checked(year, month, day)
        return True
    return False


def _padded(*numbers: str) -> bool:
    """Whether one-digit numbers get a zero, as far as the numbers show; they do if nothing shows it."""
    return any(number[0] == "0" for number in numbers) or all(len(number) == 2 for number in numbers)


def _figure(number: int, padded: bool) -> str:
    return f"{number:02d}" if padded else str(number)


def _exact(match: re.Match[str], day: str, month: str, year: str | None) -> Found:
    """A date whose day, month and year are groups of digits with these names."""
    year_written = match[year] if year else None
    number = year_number(year_written) if year_written else None
    d, m = int(match[day]), int(match[month])
    _checked(number, m, d)
    padded = _padded(match[day], match[month])

    def edits(move: Move) -> list[Edit]:
        moved = move.day(number, m, d)
        new = {day: _figure(moved.day, padded), month: _figure(moved.month, padded)}
        if year and year_written:
            new[year] = _like_year(moved.year, year_written)
        return sorted((*match.span(group), written) for group, written in new.items())

    return Found(match.start(), match.end(), edits, [year_written] if year_written else [], has_day=True)


def _iso(match: re.Match[str], _writing: Writing) -> Found:
    return _exact(match, "d", "m", "y")


def _figures(match: re.Match[str], writing: Writing) -> Found:
    return _exact(match, *_order(match, writing, year_number(match["y"])), "y")


def _order(match: re.Match[str], writing: Writing, year: int | None) -> tuple[str, str]:
    """The groups of the day and the month."""
    orders = [("b", "a"), ("a", "b")] if writing.month_first else [("a", "b"), ("b", "a")]
    return next((order for order in orders if _exists(year, int(match[order[1]]), int(match[order[0]]))), orders[0])


def _day_month(match: re.Match[str], writing: Writing) -> Found | None:
    a, b = int(match["a"]), int(match["b"])
    if b > 31 and 1 <= a <= 12:  # "5/99"
        return _month_and_year(match, "a", "b")
    return _exact(match, *_order(match, writing, None), None)


def _month_year(match: re.Match[str], _writing: Writing) -> Found:
    return _month_and_year(match, "m", "y")


def _month_and_year(match: re.Match[str], month: str, year: str) -> Found:
    number, m = year_number(match[year]), int(match[month])
    _checked(number, m, 1)
    padded = _padded(match[month])

    def edits(move: Move) -> list[Edit]:
        moved = move.month(number, m)
        return sorted(
            [
                (*match.span(month), _figure(moved.month, padded)),
                (*match.span(year), _like_year(moved.year, match[year])),
            ]
        )

    return Found(match.start(), match.end(), edits, [match[year]])


def _only_year(match: re.Match[str], *groups: str) -> Found:
    def edits(move: Move) -> list[Edit]:
        return [
            (*match.span(group), _like_year(move.full_year(year_number(match[group])), match[group]))
            for group in groups
        ]

    return Found(match.start(), match.end(), edits, [match[group] for group in groups], only_year=True)


def _year_alone(match: re.Match[str], _writing: Writing) -> Found:
    return _only_year(match, "y")


def _year_to_year(match: re.Match[str], _writing: Writing) -> Found:
    return _only_year(match, "y", "z")


# Several days of a month, and months with names

_NUMBER: Final = re.compile(r"[0-9]+")
_SUFFIX: Final = re.compile(r"st|nd|rd|th|[ ]?[ºª°]", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Day:
    """A day of a list: its number as written, its bounds, and the end of its ordinal suffix."""

    number: str
    start: int
    end: int
    suffix_end: int


def _days(match: re.Match[str]) -> list[_Day]:
    found = []
    for number in _NUMBER.finditer(match.string, *match.span("days")):
        suffix = _SUFFIX.match(match.string, number.end(), match.end("days"))
        found.append(_Day(number[0], *number.span(), suffix.end() if suffix else number.end()))
    return found


def _day_edit(text: str, day: _Day, new: int, padded: bool) -> Edit:
    suffix = text[day.end : day.suffix_end]
    if suffix[-1:] in "ºª°":
        if int(day.number) == 1 != new:  # Spanish and Italian write only the first day of a month so
            suffix = ""
    elif suffix:
        last = new % 10 if new // 10 != 1 else 0
        plain = ("th", "st", "nd", "rd")[last] if last < 4 else "th"
        suffix = plain.upper() if suffix.isupper() else plain
    return day.start, day.suffix_end, _figure(new, padded) + suffix


def _listed(
    match: re.Match[str],
    month: int,
    written_month: Callable[[int], str],
    *,
    month_group: str,
    padded: bool,
) -> Found:
    """Days of one month. Where a move puts them into several months, each month is written with its days."""
    text, found = match.string, _days(match)
    has_year = match["y"] is not None
    year = year_number(match["y"]) if has_year else None
    for day in found:
        _checked(year, month, int(day.number))
    if any(int(day.number) > int(after.number) for day, after in pairwise(found)):
        raise ValueError("The days of a list follow each other.")
    first = match.start(month_group) < match.start("days")  # March 12-14

    def edits(move: Move) -> list[Edit]:
        moved = [move.day(year, month, int(day.number)) for day in found]
        runs = [list(run) for _, run in groupby(range(len(found)), lambda at: (moved[at].year, moved[at].month))]
        done = [_day_edit(text, day, new.day, padded) for day, new in zip(found, moved, strict=True)]
        kept = runs[0] if first else runs[-1]  # the days beside the month that is written
        done.append((*match.span(month_group), written_month(moved[kept[0]].month)))
        if has_year:
            done.append((*match.span("y"), _like_year(moved[runs[-1][0]].year, match["y"])))
        for run, after in pairwise(runs):
            day, new, following = found[run[-1]], moved[run[-1]], moved[after[0]]
            if first:
                at = found[after[0]].start
                between = text[match.end(month_group) : found[0].start]
                done.append((at, at, written_month(following.month) + between))
            else:
                between = text[found[-1].suffix_end : match.start(month_group)]
                done.append((day.suffix_end, day.suffix_end, between + written_month(new.month)))
            if has_year and new.year != following.year:
                start = match.end("days") if first else match.end(month_group)
                written = text[start : match.start("y")] + _like_year(new.year, match["y"])
                done.append((day.suffix_end, day.suffix_end, written))
        return sorted(done, key=lambda edit: edit[:2])

    years = [match["y"]] if has_year else []
    return Found(match.start(), match.end(), edits, years, has_day=True)


def _days_in_figures(match: re.Match[str], _writing: Writing) -> Found:
    padded = _padded(match["m"], *(day.number for day in _days(match)))
    month = int(match["m"])
    return _listed(match, month, lambda new: _figure(new, padded), month_group="m", padded=padded)


def _named(match: re.Match[str], writing: Writing) -> Found:
    padded = any(day.number[0] == "0" for day in _days(match))
    word = match["month"]
    if writing.language != "en" and match["y"] is None and match.start("month") == match.start():
        raise ValueError("In “marzo 12” the number may be a day or a year.")
    return _listed(
        match,
        month_number(word),
        lambda new: month_like(word, new, writing.language),
        month_group="month",
        padded=padded,
    )


_MONTH_WORD: Final = re.compile(MONTH, re.IGNORECASE)


def _months(match: re.Match[str], writing: Writing) -> Found | None:
    """Months with names, with one year after them or none."""
    found = list(_MONTH_WORD.finditer(match.string, *match.span("months")))
    year = year_number(match["y"]) if match["y"] else None
    # "marzo 12" may be a day or a year, and so may "Mar-12" in English.
    beside = match["y"] is not None and (writing.language == "en" or not match["to_year"].strip(" .,"))
    if beside and len(match["y"]) == 2 and int(match["y"]) <= 31:
        raise ValueError("The two digits may be a day or a year.")

    def edits(move: Move) -> list[Edit]:
        moved = [move.month(year, month_number(word[0])) for word in found]
        done: list[Edit] = [
            (*word.span(), month_like(word[0], new.month, writing.language))
            for word, new in zip(found, moved, strict=True)
        ]
        if match["y"]:
            done.append((*match.span("y"), _like_year(moved[-1].year, match["y"])))
            for word, (new, following) in zip(found, pairwise(moved), strict=False):
                if new.year != following.year:
                    done.append((word.end(), word.end(), match["to_year"] + _like_year(new.year, match["y"])))
        return sorted(done, key=lambda edit: edit[:2])

    return Found(match.start(), match.end(), edits, [match["y"]] if match["y"] else [])


def _weekday(match: re.Match[str], writing: Writing) -> Found:
    def edits(move: Move) -> list[Edit]:
        return [(*match.span("weekday"), weekday_like(match["weekday"], move.days, writing.language))]

    return Found(match.start(), match.end(), edits)


_READERS: Final[Sequence[tuple[re.Pattern[str], Callable[[re.Match[str], Writing], Found | None]]]] = (
    (patterns.ISO, _iso),
    (patterns.COMPACT, _iso),
    (patterns.FIGURES, _figures),
    (patterns.DAYS_FIRST, _days_in_figures),
    (patterns.DAYS_SECOND, _days_in_figures),
    (patterns.NAMED_MONTH, _named),
    (patterns.NAMED_FIRST, _named),
    (patterns.MONTH_YEAR, _month_year),
    (patterns.YEAR_MONTH, _month_year),
    (patterns.YEAR_TO_YEAR, _year_to_year),
    (patterns.MONTHS, _months),
    (patterns.YEAR_ALONE, _year_alone),
    (patterns.DAY_MONTH, _day_month),
    (patterns.DAY_OF_WEEK, _weekday),
)
