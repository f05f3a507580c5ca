"""Reading dates as people write them: where they stand, and how each is written after a move."""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from itertools import groupby, pairwise
from pathlib import Path
from typing import Final, NamedTuple

from annotations.release.rules.redaction import calendars
from annotations.text.search import word_groups

# Regular expressions of dates and times, and the small words that may stand between them.


_YEAR: Final = r"(?P<y>[12][0-9]{3}(?![0-9])|['’]?[0-9]{2}(?![0-9]))"
_LONG_YEAR: Final = r"(?P<y>[12][0-9]{3})(?![0-9])"
_JOINER: Final = (
    r"(?:[ ]?[\-–,/][ ]?|[ ]?,?[ ](?:al|a|y|e|o|to|and|or|through|thru|until)[ ](?:el[ ]|il[ ]|the[ ])?(?:l['’])?)"
)
_ORDINAL: Final = r"(?:[ ]?[ºª°]|(?:st|nd|rd|th)(?![^\W\d_]))?"
_DAYS: Final = rf"(?P<days>[0-9]{{1,2}}{_ORDINAL}(?:{_JOINER}[0-9]{{1,2}}{_ORDINAL}){{0,5}})"
_SEVERAL_DAYS: Final = r"(?P<days>[0-9]{1,2}(?:[ ]?[\-–,][ ]?[0-9]{1,2}|[ ](?:al?|y|e|to|and)[ ][0-9]{1,2}){1,5})"
_TO_MONTH: Final = r"(?:[ ]?[/.\-–][ ]?|,?[ ]*(?:del?[ ]+|of[ ]+|di[ ]+|d['’])?(?:mes[ ]+de[ ]+|mese[ ]+di[ ]+)?)"
_TO_YEAR: Final = (
    r"(?:[ ]?[/\-–][ ]?|\.?,?[ ]*(?:del?[ ]+|dell['’][ ]?|of[ ]+)?(?:año[ ]+|anno[ ]+)?(?:the[ ]year[ ]+)?)"
)
# Two digits after a month's name are not a year where they begin a time.
_NAMED_YEAR: Final = (
    rf"(?P<to_year>{_TO_YEAR})(?P<y>[12][0-9]{{3}}(?![0-9])"
    r"|['’]?[0-9]{2}(?![0-9]|[:.,][0-9]|[ ]?(?:h|hs|hrs|horas|ore|am|pm|a\.m|p\.m)(?![^\W\d_])))"
)


def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


ISO: Final = _compiled(r"(?P<y>[12][0-9]{3})(?P<s>[\-/.])(?P<m>[0-9]{1,2})(?P=s)(?P<d>[0-9]{1,2})(?![0-9])")
COMPACT: Final = _compiled(r"(?P<y>[12][0-9]{3})(?P<m>[0-9]{2})(?P<d>[0-9]{2})(?![0-9])")
FIGURES: Final = _compiled(
    rf"(?P<a>[0-9]{{1,2}})[ ]?(?P<s>[/.\-–]){{1,2}}[ ]?(?P<b>[0-9]{{1,2}})[ ]?(?P=s){{1,2}}[ ]?{_YEAR}(?!(?P=s)[0-9])"
)
# A date in figures within a longer text, without its year where that has another separator.
FIGURES_ANYWHERE: Final = re.compile(
    r"(?<![0-9./\-])(?P<a>[0-9]{1,2})(?P<s>[/.\-])(?P<b>[0-9]{1,2})(?:(?P=s)[0-9]{2,4})?(?![0-9]|(?P=s)[0-9])"
)
DAYS_FIRST: Final = _compiled(rf"{_SEVERAL_DAYS}(?P<s>[/.])(?P<m>[0-9]{{1,2}})(?:(?P=s){_YEAR})?(?![/.]?[0-9])")
DAYS_SECOND: Final = _compiled(rf"(?P<m>[0-9]{{1,2}})(?P<s>/){_SEVERAL_DAYS}/{_LONG_YEAR}")
MONTH_YEAR: Final = _compiled(rf"(?P<m>[0-9]{{1,2}})[/.\-–]{_LONG_YEAR}")
YEAR_MONTH: Final = _compiled(r"(?P<y>[12][0-9]{3})(?P<s>[\-/.])(?P<m>0[1-9]|1[0-2])(?![0-9]|(?P=s)[0-9])")
YEAR_TO_YEAR: Final = _compiled(r"(?P<y>[12][0-9]{3})[\-–/](?P<z>[0-9]{2})(?![0-9])")
DAY_MONTH: Final = _compiled(r"(?P<a>[0-9]{1,2})(?P<s>[/.\-])(?P<b>[0-9]{1,2})(?![0-9]|(?P=s)[0-9])")
NAMED_MONTH: Final = _compiled(
    rf"{_DAYS}(?P<to_month>{_TO_MONTH})(?P<month>{calendars.MONTH})(?P<dot>\.(?![0-9]))?(?:{_NAMED_YEAR})?"
)
NAMED_FIRST: Final = _compiled(
    rf"(?P<month>{calendars.MONTH})(?P<to_day>\.?[ ]+(?:the[ ]+)?){_DAYS}(?![0-9]|[:./\-][0-9])"
    rf"(?:(?P<to_year>,[ ]*|[ ]+(?:of[ ]+)?)(?P<y>[12][0-9]{{3}}(?![0-9])|['’][0-9]{{2}}(?![0-9])))?"
)
MONTHS: Final = _compiled(
    rf"(?P<months>{calendars.MONTH}\.?(?:{_JOINER}{calendars.MONTH}\.?){{0,3}})(?:{_NAMED_YEAR})?"
)
YEAR_ALONE: Final = _compiled(r"(?P<y>[12][0-9]{3}(?![0-9])|['’][0-9]{2}(?![0-9]))(?![^\W\d_])")
DAY_OF_WEEK: Final = _compiled(rf"(?P<weekday>{calendars.WEEKDAY})\.?")

TIME: Final = _compiled(
    r"T?[0-9]{1,2}:[0-9]{2}(?::[0-9]{2}(?:[.,][0-9]+)?)?(?:Z(?![^\W\d_])|[+\-][0-9]{2}:?[0-9]{2})?(?![0-9])"
    r"|[0-9]{1,2}(?:[.,][0-9]{2})?[ ]?(?:hs|hrs?|hours|horas|ore|h|am|pm|a\.m\.?|p\.m\.?|o['’]clock)(?![^\W\d_])"
    r"|(?:ore|las|at|h)[ ]+[0-9]{1,2}(?:[.,][0-9]{2})?(?![0-9.,/\-])"
)
TIME_AFTER_DATE: Final = _compiled(r"[0-2]?[0-9]\.[0-5][0-9](?![0-9.])")
BETWEEN: Final = re.compile(r"[\s,.;:()\[\]/\-–—'’\"]+|[^\W\d_]+")
_GROUPS: Final = word_groups(Path(__file__).with_name("data") / "words.txt")
WORDS: Final = frozenset(_GROUPS["between dates"])
# Words that tell more than a year does.
FINER: Final = frozenset(_GROUPS["finer than years"])


# Spaces and hyphens as a keyboard has them; offsets stay.
_TYPED: Final = str.maketrans("\u00a0\u2009\u202f\u2010\u2011\u2212", "   ---")
_LONGEST: Final = 200  # characters; a longer text is not a date

Edit = tuple[int, int, str]
"""Start and end in the text, and what to write there."""


@dataclass(frozen=True, slots=True)
class DateMention:
    """A date in a text: where it stands, the years that it names as written, and how it is written after a move."""

    start: int
    end: int
    edits: Callable[[calendars.Move], list[Edit]]
    years: Sequence[str] = ()
    has_day: bool = False
    only_year: bool = False


@dataclass(frozen=True, slots=True)
class DateText:
    """A text that was understood: its dates, and whether times or words such as "early" stand beside them."""

    dates: Sequence[DateMention]
    finer: bool


def year_number(written: str) -> int:
    """The year that is written with four digits, or with two, which stand for 1940 to 2039."""
    year = int(written.lstrip("'’"))
    return year if year > 99 else year + (2000 if year < 40 else 1900)


def _like_year(year: int, written: str) -> str:
    digits = written.lstrip("'’")
    return written[: len(written) - len(digits)] + (str(year) if len(digits) == 4 else f"{year % 100:02d}")


class DateStyle(NamedTuple):
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
    return _read(text.translate(_TYPED), DateStyle(language, language == "en" if month_first is None else month_first))


def order_of(text: str) -> bool | None:
    """Whether the dates in figures of a text have the month first; None if both orders are possible or there are none.

    A text with dates of both orders tells nothing.
    """
    found = {b > 12 for a, b in _pairs(text) if (a > 12) != (b > 12) and max(a, b) <= 31}
    return found.pop() if len(found) == 1 else None


def is_ambiguous(text: str) -> bool:
    """Whether the text has a date in figures of which both orders are possible, and are different days."""
    return any(1 <= a <= 12 and 1 <= b <= 12 and a != b for a, b in _pairs(text))


def _pairs(text: str) -> Iterator[tuple[int, int]]:
    """The first two numbers of the dates in figures of a text: 3/4, 3.4.2019, 3 / 4 / 2019, 3–4–2019."""
    typed = text.translate(_TYPED)
    for match in (*FIGURES_ANYWHERE.finditer(typed), *FIGURES.finditer(typed)):
        if not typed[max(0, match.start() - 1) : match.start()].isdigit():
            yield int(match["a"]), int(match["b"])


@lru_cache(maxsize=1 << 10)
def _read(text: str, writing: DateStyle) -> DateText | None:
    dates: list[DateMention] = []
    finer = False
    at = 0
    while at < len(text):
        if time := TIME.match(text, at) or (dates and dates[-1].has_day and TIME_AFTER_DATE.match(text, at)):
            finer, at = True, time.end()
        elif found := _date_at(text, at, writing):
            dates.append(found)
            at = found.end
        elif between := BETWEEN.match(text, at):
            word = between[0].lower()
            if word[0].isalnum() and word not in WORDS and word not in FINER:
                return None
            finer, at = finer or word in FINER, between.end()
        else:
            return None
    return DateText(dates, finer) if dates else None


def _date_at(text: str, at: int, writing: DateStyle) -> DateMention | None:
    if not (text[at].isalnum() or text[at] in "'’") or (at and text[at - 1].isdigit() and text[at].isdigit()):
        return None
    for pattern, read in _READERS:
        if match := pattern.match(text, at):
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


def _exact(match: re.Match[str], day: str | None, month: str, year: str | None) -> DateMention:
    """A date whose day, month and year are groups of digits with these names; without a day, a month of a year."""
    year_written = match[year] if year else None
    number = year_number(year_written) if year_written else None
    d, m = int(match[day]) if day else 1, int(match[month])
    _checked(number, m, d)
    padded = _padded(*(match[group] for group in (day, month) if group))

    def edits(move: calendars.Move) -> list[Edit]:
        moved = move.day(number, m, d) if day else move.month(number, m)
        new = {month: _figure(moved.month, padded)}
        if day:
            new[day] = _figure(moved.day, padded)
        if year and year_written:
            new[year] = _like_year(moved.year, year_written)
        return sorted((*match.span(group), written) for group, written in new.items())

    years = [year_written] if year_written else []
    return DateMention(match.start(), match.end(), edits, years, has_day=bool(day))


def _figures(match: re.Match[str], writing: DateStyle) -> DateMention:
    return _exact(match, *_order(match, writing, year_number(match["y"])), "y")


def _order(match: re.Match[str], writing: DateStyle, year: int | None) -> tuple[str, str]:
    """The groups of the day and the month."""
    orders = [("b", "a"), ("a", "b")] if writing.month_first else [("a", "b"), ("b", "a")]
    return next((order for order in orders if _exists(year, int(match[order[1]]), int(match[order[0]]))), orders[0])


def _day_month(match: re.Match[str], writing: DateStyle) -> DateMention | None:
    a, b = int(match["a"]), int(match["b"])
    if b > 31 and 1 <= a <= 12:  # "5/99"
        return _exact(match, None, "a", "b")
    return _exact(match, *_order(match, writing, None), None)


def _only_year(match: re.Match[str], *groups: str) -> DateMention:
    def edits(move: calendars.Move) -> list[Edit]:
        return [
            (*match.span(group), _like_year(move.day(year_number(match[group]), 7, 2).year, match[group]))
            for group in groups
        ]

    return DateMention(match.start(), match.end(), edits, [match[group] for group in groups], only_year=True)


# Several days of a month, and months with names

# A day of a list, with its ordinal suffix.
_DAY: Final = re.compile(r"(?P<number>[0-9]+)(?P<suffix>st|nd|rd|th|[ ]?[ºª°]|)", re.IGNORECASE)


def _days(match: re.Match[str]) -> list[re.Match[str]]:
    return list(_DAY.finditer(match.string, *match.span("days")))


def _day_edit(day: re.Match[str], new: int, padded: bool) -> Edit:
    suffix = day["suffix"]
    if suffix[-1:] in "ºª°":
        if int(day["number"]) == 1 != new:  # Spanish and Italian write only the first day of a month so
            suffix = ""
    elif suffix:
        last = new % 10 if new // 10 != 1 else 0
        plain = ("th", "st", "nd", "rd")[last] if last < 4 else "th"
        suffix = plain.upper() if suffix.isupper() else plain
    return *day.span(), _figure(new, padded) + suffix


def _listed(
    match: re.Match[str], month: int, written_month: Callable[[int], str], *, month_group: str, padded: bool
) -> DateMention:
    """Days of one month. Where a move puts them into several months, each month is written with its days."""
    text, found = match.string, _days(match)
    has_year = match["y"] is not None
    year = year_number(match["y"]) if has_year else None
    numbers = [int(day["number"]) for day in found]
    for number in numbers:
        _checked(year, month, number)
    if numbers != sorted(numbers):
        raise ValueError("The days of a list follow each other.")
    first = match.start(month_group) < match.start("days")  # March 12-14

    def edits(move: calendars.Move) -> list[Edit]:
        moved = [move.day(year, month, number) for number in numbers]
        runs = [list(run) for _, run in groupby(range(len(found)), lambda at: (moved[at].year, moved[at].month))]
        done = [_day_edit(day, new.day, padded) for day, new in zip(found, moved, strict=True)]
        kept = runs[0] if first else runs[-1]  # the days beside the month that is written
        done.append((*match.span(month_group), written_month(moved[kept[0]].month)))
        if has_year:
            done.append((*match.span("y"), _like_year(moved[runs[-1][0]].year, match["y"])))
        for run, after in pairwise(runs):
            day, new, following = found[run[-1]], moved[run[-1]], moved[after[0]]
            if first:
                at = found[after[0]].start()
                between = text[match.end(month_group) : found[0].start()]
                done.append((at, at, written_month(following.month) + between))
            else:
                between = text[found[-1].end() : match.start(month_group)]
                done.append((day.end(), day.end(), between + written_month(new.month)))
            if has_year and new.year != following.year:
                start = match.end("days") if first else match.end(month_group)
                written = text[start : match.start("y")] + _like_year(new.year, match["y"])
                done.append((day.end(), day.end(), written))
        return sorted(done, key=lambda edit: edit[:2])

    years = [match["y"]] if has_year else []
    return DateMention(match.start(), match.end(), edits, years, has_day=True)


def _days_in_figures(match: re.Match[str], _writing: DateStyle) -> DateMention:
    padded = _padded(match["m"], *(day["number"] for day in _days(match)))
    month = int(match["m"])
    return _listed(match, month, lambda new: _figure(new, padded), month_group="m", padded=padded)


def _named(match: re.Match[str], writing: DateStyle) -> DateMention:
    padded = any(day["number"][0] == "0" for day in _days(match))
    word = match["month"]
    if writing.language != "en" and match["y"] is None and match.start("month") == match.start():
        raise ValueError("In “marzo 12” the number may be a day or a year.")
    return _listed(
        match,
        calendars.month_number(word),
        lambda new: calendars.month_like(word, new, writing.language),
        month_group="month",
        padded=padded,
    )


_MONTH_WORD: Final = re.compile(calendars.MONTH, re.IGNORECASE)


def _months(match: re.Match[str], writing: DateStyle) -> DateMention | None:
    """Months with names, with one year after them or none."""
    found = list(_MONTH_WORD.finditer(match.string, *match.span("months")))
    year = year_number(match["y"]) if match["y"] else None
    # "marzo 12" may be a day or a year, and so may "Mar-12" in English.
    beside = match["y"] is not None and (writing.language == "en" or not match["to_year"].strip(" .,"))
    if beside and len(match["y"]) == 2 and int(match["y"]) <= 31:
        raise ValueError("The two digits may be a day or a year.")

    def edits(move: calendars.Move) -> list[Edit]:
        moved = [move.month(year, calendars.month_number(word[0])) for word in found]
        done: list[Edit] = [
            (*word.span(), calendars.month_like(word[0], new.month, writing.language))
            for word, new in zip(found, moved, strict=True)
        ]
        if match["y"]:
            done.append((*match.span("y"), _like_year(moved[-1].year, match["y"])))
            for word, (new, following) in zip(found, pairwise(moved), strict=False):
                if new.year != following.year:
                    done.append((word.end(), word.end(), match["to_year"] + _like_year(new.year, match["y"])))
        return sorted(done, key=lambda edit: edit[:2])

    return DateMention(match.start(), match.end(), edits, [match["y"]] if match["y"] else [])


def _weekday(match: re.Match[str], writing: DateStyle) -> DateMention:
    def edits(move: calendars.Move) -> list[Edit]:
        return [(*match.span("weekday"), calendars.weekday_like(match["weekday"], move.days, writing.language))]

    return DateMention(*match.span(), edits)


_READERS: Final[Sequence[tuple[re.Pattern[str], Callable[[re.Match[str], DateStyle], DateMention | None]]]] = (
    (ISO, lambda match, _writing: _exact(match, "d", "m", "y")),
    (COMPACT, lambda match, _writing: _exact(match, "d", "m", "y")),
    (FIGURES, _figures),
    (DAYS_FIRST, _days_in_figures),
    (DAYS_SECOND, _days_in_figures),
    (NAMED_MONTH, _named),
    (NAMED_FIRST, _named),
    (MONTH_YEAR, lambda match, _writing: _exact(match, None, "m", "y")),
    (YEAR_MONTH, lambda match, _writing: _exact(match, None, "m", "y")),
    (YEAR_TO_YEAR, lambda match, _writing: _only_year(match, "y", "z")),
    (MONTHS, _months),
    (YEAR_ALONE, lambda match, _writing: _only_year(match, "y")),
    (DAY_MONTH, _day_month),
    (DAY_OF_WEEK, _weekday),
)
