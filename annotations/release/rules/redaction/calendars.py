"""Names of months and weekdays in English, Spanish and Italian, and how a date moves by a number of days."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Final

from annotations.text.search import word_groups
from annotations.text.spans import Bounds

_YEAR_DAYS: Final = 365
_COMMON_YEAR: Final = 2001  # any year without a leap day

_GROUPS: Final = word_groups(Path(__file__).with_name("data") / "calendar.txt")


@dataclass(frozen=True, slots=True)
class Name:
    """A name of a month or weekday: its index from 0, its language, and whether it is the short form."""

    at: int
    language: str
    short: bool


def _table(what: str) -> dict[str, list[Name]]:
    found: dict[str, list[Name]] = {}
    for group, words in _GROUPS.items():
        for at, listed in enumerate(words if group.endswith(f" {what}") else ()):
            word, _sign, number = listed.partition("=")
            found.setdefault(word, []).append(Name(int(number or at), group[:2], " short " in group))
    return found


MONTH_NAMES: Final = _table("months")
_WEEKDAY_NAMES: Final = _table("weekdays")


def _either(names: dict[str, list[Name]]) -> str:
    return "|".join(sorted(names, key=lambda word: (-len(word), word)))


MONTH: Final = rf"(?:{_either(MONTH_NAMES)})(?![^\W\d_])"
WEEKDAY: Final = rf"(?:{_either(_WEEKDAY_NAMES)})(?![^\W\d_])"


_LONG_WEEKDAY: Final = "|".join(sorted(word for word, forms in _WEEKDAY_NAMES.items() if not forms[0].short))
# Those of other languages aren't moved: a date beside one is undecipherable.
_FOREIGN: Final = (
    "lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche|montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonnabend"
    "|sonntag|(?:segunda|terça|quarta|quinta|sexta)-feira|sábado|domingo|dilluns|dimarts|dimecres|dijous|divendres"
    "|dissabte|diumenge|maandag|dinsdag|woensdag|donderdag|vrijdag|zaterdag|zondag"
)
_BEFORE: Final = re.compile(
    rf"(?<![^\W\d_])(?:{WEEKDAY}|(?:{_FOREIGN})(?![^\W\d_]))\.?[\s,(\-–—]{{1,3}}"
    r"(?:(?:the|den|le|día|dia|el|il|giorno|a|al|on)\s){0,2}$",
    re.IGNORECASE,
)
# "Sat 98%" after a date is not a Saturday, so only long names count there, and short ones in brackets.
_AFTER: Final = re.compile(
    rf"[\s,(\-–—]{{0,3}}(?:{_LONG_WEEKDAY}|{_FOREIGN})(?![^\W\d_])\)?|\s?\({WEEKDAY}\.?\)", re.IGNORECASE
)
_REACH: Final = 32


def with_weekday(text: str, start: int, end: int) -> Bounds:
    """The bounds of a date with the weekday that stands beside it: `Friday, 03/12/2021`, `12/03/2021 (viernes)`."""
    low = max(0, start - _REACH)
    before = _BEFORE.search(text[low:start])
    after = _AFTER.match(text, end)
    return low + before.start() if before else start, after.end() if after else end


def month_number(word: str) -> int:
    """The month from 1 to 12. Languages never give a word to different months."""
    return MONTH_NAMES[word.lower()][0].at + 1


def month_like(word: str, month: int, language: str) -> str:
    """The name of another month in the language, length and case of `word`."""
    return _like(word, month - 1, language, MONTH_NAMES, "months")


def weekday_like(word: str, days: int, language: str) -> str:
    """The name of the weekday that many days after `word`, in its language, length, case and accents."""
    at = _chosen(_WEEKDAY_NAMES[word.lower()], language).at
    other = _like(word, (at + days) % 7, language, _WEEKDAY_NAMES, "weekdays")
    # Someone who writes "sabado" writes "miercoles", but "lunes" tells nothing.
    return other.translate(_BARE) if word.lower() in _UNACCENTED else other


_BARE: Final = str.maketrans("éáìÉÁÌ", "eaiEAI")
_UNACCENTED: Final = frozenset(
    listed.partition("=")[0] for group in ("es", "it") for listed in _GROUPS[f"{group} other weekdays"]
)


def _chosen(names: Sequence[Name], language: str) -> Name:
    return next((name for name in names if name.language == language), names[0])


def _like(word: str, at: int, language: str, names: dict[str, list[Name]], what: str) -> str:
    name = _chosen(names[word.lower()], language)
    if name.at == at:
        return word
    return _cased(_GROUPS[f"{name.language} {'short ' if name.short else ''}{what}"][at], word)


def _cased(word: str, like: str) -> str:
    if like.isupper() and len(like) > 1:
        return word.upper()
    return word.capitalize() if like[0].isupper() else word


class Move:
    """Moves dates by a number of days.

    `year` is the year of dates that name none, where the note tells it. Without it they move in a year of 365 days, in
    which 29 February counts as 28 February. A date whose precision is a month or a year moves as the middle of the
    period: the 15th of the month, or 2 July. Raises ValueError or OverflowError for a date that doesn't exist, or whose
    new year has not four digits.
    """

    def __init__(self, days: int, year: int | None = None) -> None:
        self.days = days
        self.year = year

    def day(self, year: int | None, month: int, day: int) -> date:
        """The new date. Without a year, only its month and day mean something."""
        if year is not None:
            return _four_digits(date(year, month, day) + timedelta(days=self.days))
        date(2000, month, day)  # the day exists in some year
        if self.year is not None and (month, day) != (2, 29):
            return _four_digits(date(self.year, month, day) + timedelta(days=self.days))
        of_year = date(_COMMON_YEAR, month, min(day, 28) if month == 2 else day).timetuple().tm_yday
        return date(_COMMON_YEAR, 1, 1) + timedelta(days=(of_year - 1 + self.days) % _YEAR_DAYS)

    def month(self, year: int | None, month: int) -> date:
        return self.day(year, month, 15)


def _four_digits(moved: date) -> date:
    if moved.year < 1000:
        raise ValueError("The year has fewer than four digits.")
    return moved


# By how many days dates move: those of a text, and birth dates in codes.


LEAST_DAYS: Final = 31
MOST_DAYS: Final = 334
"""The smallest and the largest offset of dates, either way. A month becomes another month: with fewer days many would
stay as they are written, and with more than 334 so would those that name no year. No age or calendar year moves by more
than one.
"""
_COUNT: Final = MOST_DAYS - LEAST_DAYS + 1


def offset_of(number: int) -> int:
    """The offset in days that a random number stands for: LEAST_DAYS to MOST_DAYS, forward or back."""
    back, days = divmod(number % (2 * _COUNT), _COUNT)
    return -(LEAST_DAYS + days) if back else LEAST_DAYS + days
