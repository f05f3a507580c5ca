"""Dates with Roman months, and with months in a row with figures: `5/XI/98`, `12Dec19`, `12.Dec.19`, `2019-Dec-12`."""

import re
from collections.abc import Iterator
from typing import Final

from models_runtime.backends.rules.checks import real_date
from models_runtime.backends.rules.dates import DATE_WORD, FREE, MEASURE, YEAR, is_birth
from models_runtime.backends.rules.gazetteers import listed
from models_runtime.backends.rules.kinds import RuleKind
from models_runtime.backends.rules.phrases import after, before
from models_runtime.backends.rules.rule import Found, Rule

_ROMAN: Final = {name: at for at, name in enumerate(listed("roman_months"), 1)}
_MONTHS: Final = frozenset((*listed("months", "months_short"), "sept", "setiembre"))
_DAY: Final = r"(?:0?[1-9]|[12][0-9]|3[01])"
_YEAR: Final = rf"(?:{YEAR}|'?[0-9]{{2}})"
_END: Final = r"(?![0-9A-Za-zà-ÿ]|[.,/\-][0-9])"
_BEFORE: Final = re.compile(rf"{FREE}(?:(?P<day>{_DAY})|(?P<year>{YEAR}))(?P<gap>[ ]?[/.\-–][ ]?|[ ]|)\Z")
_YEAR_AFTER: Final = re.compile(rf"(?P<gap>[ ]?[/.\-–][ ]?|[ ]|)(?P<year>{_YEAR}){_END}")
_DAY_AFTER: Final = re.compile(rf"[ /.\-]?{_DAY}{_END}")
_DAY_AND_YEAR: Final = re.compile(rf"[/.\-]?{_DAY}[,/.\-][ ]?{_YEAR}{_END}")
_ENDS: Final = re.compile(_END)


def _found(text: str, start: int, end: int) -> Iterator[Found]:
    if not MEASURE.match(after(text, end)):
        yield start, end, RuleKind.BIRTH_DATE if is_birth(text, start) else RuleKind.DATE


def _by_numeral(text: str, start: int, end: int) -> Iterator[Found]:
    """`5/XI/98`, `5 XI 1998` in capitals, and after a word that announces a date `5-XI`. The trigger is the month."""
    first = _BEFORE.search(text, max(0, start - 5), start)
    if first is None or not first["day"] or not first["gap"]:
        return
    if not real_date(int(first["day"]), _ROMAN[text[start:end].lower()]):
        return
    year, capitals = _YEAR_AFTER.match(text, end), text[start:end].isupper()
    if year is not None and year["gap"] == first["gap"]:
        if first["gap"] != " " or (capitals and len(year["year"]) == 4):
            yield from _found(text, first.start(), year.end())
        return
    announced = DATE_WORD.search(before(text, first.start(), 24)) is not None
    if announced and capitals and first["gap"] in "-/" and _ENDS.match(text, end):
        yield from _found(text, first.start(), end)


def _in_a_row(text: str, start: int, end: int) -> Iterator[Found]:
    """`12Dec19`, `12.Dec.19`, `2019-Dec-12`, `Dec-12-2019`. The trigger is the month."""
    first = _BEFORE.search(text, max(0, start - 7), start)
    if first is None:
        match = _DAY_AND_YEAR.match(text, end) if text[start - 1 : start] not in _JOINED else None
    elif first["year"]:
        match = _DAY_AFTER.match(text, end)
    else:
        match = _YEAR_AFTER.match(text, end)
        if match is not None and match["gap"] != first["gap"]:
            return
    if match is not None:
        yield from _found(text, first.start() if first else start, match.end())


_JOINED: Final = frozenset("-/.0123456789")
RULES: Final = (
    Rule("date.numeral", frozenset(_ROMAN), _by_numeral, 0.95, rank=75, strong=True),
    Rule("date.row", _MONTHS, _in_a_row, 0.95, rank=75, strong=True),
)
