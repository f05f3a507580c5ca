"""Dates as people write them in English, Spanish and Italian: shifted in their own format, or reduced to the year.

A text is a date only if it is understood completely: dates, times and the small words between them. Everything else is
undecipherable, and the caller masks it. Days come before months, except in English, where 3/12 is 12 March, unless the
caller knows another order; an order that is impossible gives way to the other one. Offsets are code points,
end-exclusive.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress

from annotations.release.rules.redaction.calendars import Move
from annotations.release.rules.redaction.date_reading import DateMention, Edit, read_dates, year_number
from annotations.text.spans import replaced


def shifted(
    text: str, days: int, language: str, year: int | None = None, month_first: bool | None = None
) -> str | None:
    """The text with every date moved by `days`, in its own format and precision; None if it is undecipherable.

    `month_first`: the order of dates in figures, if the note tells it. `year` is the year of dates that name none
    ("3/12"), if the note tells it. A year in the text itself goes first. See
    `calendars.Move` for dates that name only a month or a year. Weekdays move as well; times stay.
    """
    understood = read_dates(text, language, month_first)
    if understood is None:
        return None
    edits: list[Edit] = []
    with suppress(ValueError, OverflowError):
        for found, near in zip(understood.dates, _years_near(understood.dates), strict=True):
            edits += found.edits(Move(days, near or year))
        return replaced(text, edits)
    return None


def year_of(text: str, language: str) -> str | None:
    """The text reduced to its years; None if it is undecipherable or names no year.

    A text that holds only years stays as it is ("año 2000"). Two digits stay two ("12/03/21" gives "'21").
    """
    understood = read_dates(text, language)
    if understood is None:
        years = [found[0] for found in re.finditer(r"(?<!\w)(?:1[89]|20)[0-9]{2}(?!['’]?\w)", text)]
        return years[0] if len(re.findall(r"[0-9]+", text)) == len(years) == 1 else None
    if not understood.finer and all(found.only_year for found in understood.dates):
        return text
    written = [year if len(year) != 2 else f"'{year}" for found in understood.dates for year in found.years]
    return "-".join(dict.fromkeys(written)) or None


def years(text: str, language: str) -> list[int]:
    """The years that the text names, in order; two digits stand for 1940 to 2039. Empty if it is undecipherable."""
    understood = read_dates(text, language)
    return [year_number(year) for found in understood.dates for year in found.years] if understood else []


def names_day(text: str, language: str) -> bool:
    """Whether the text names a day, or is undecipherable: not merely months, years and weekdays."""
    understood = read_dates(text, language)
    return understood is None or any(found.has_day for found in understood.dates)


def _years_near(dates: Sequence[DateMention]) -> Iterator[int | None]:
    """For each date the year that it belongs to: that of the first date from it on that names one, else before it."""
    named = [year_number(found.years[0]) if found.years else None for found in dates]
    for at in range(len(named)):
        yield next((year for year in [*named[at:], *reversed(named[:at])] if year is not None), None)
