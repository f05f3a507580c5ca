"""Dates with words: months, weekdays, feasts."""

import re
from collections.abc import Callable, Iterator
from typing import Final

from models_runtime.backends.rules.codes import real_date
from models_runtime.backends.rules.dates import DATE_WORD, FREE, MEASURE, YEAR, dated
from models_runtime.backends.rules.gazetteers import RuleKind, any_of, either, listed
from models_runtime.backends.rules.phrases import after, before
from models_runtime.backends.rules.rule import DIGITS, Finder, Found, Rule, pattern, strong, words

_LONG: Final = {name: at % 12 + 1 for at, name in enumerate(listed("months"))} | {"setiembre": 9}
_SHORT: Final = {name: at % 12 + 1 for at, name in enumerate(listed("months_short"))} | {"sept": 9}
_ENGLISH: Final = frozenset(listed("months")[24:])
# Short forms that are also words or units. They need a year, or a hyphen before them.
_COMMON_SHORT: Final = frozenset({"mar", "set", "may", "sep", "ago", "gen"})
_ANY_MONTH: Final = "|".join(sorted({*_LONG, *_SHORT}, key=lambda word: (-len(word), word)))
_LONG_MONTH: Final = "|".join(sorted(_LONG, key=lambda word: (-len(word), word)))
_DAY: Final = r"(?:0?[1-9]|[12][0-9]|3[01])(?:[ ]?[°ºª]|st|nd|rd|th)?"
_THEN_YEAR: Final = (
    r"(?:\.?(?:(?:,?[ ](?:del?|dell['’]|of|del año|de este año|anno|año|,)?[ ]?|,[ ]?|[/\-.][ ]?)(?:año[ ]|anno[ ])?"
    rf"(?P<year>{YEAR}|'[0-9]{{2}})(?![0-9]|[.,/][0-9])|[/\-](?P<yy>[0-9]{{2}})(?![0-9])))?"
)
# "12 de marzo de 2018", "4 al 5 de mayo", "1° luglio 2014", "8th of June, 2021", "12-mar-19"
_DAY_MONTH: Final = (
    rf"(?i){FREE}(?P<date>(?P<day>{_DAY})(?:[ ]?(?:-|–|/|al|a|y|e|o|to|and|,)[ ]?(?:el[ ]|il[ ]|l['’])?{_DAY}){{0,3}}"
    rf"(?:[ ]?(?:de[ ]|of[ ]|di[ ]|d['’]|[\-/.][ ]?)|[ ])(?P<month>{_ANY_MONTH})(?![a-zà-ÿ]){_THEN_YEAR})"
)
_MONTH_DAY: Final = (
    rf"(?i)(?<![\w\-])(?P<date>(?P<month>{_ANY_MONTH})\b\.?[ ](?P<day>(?:0?[1-9]|[12][0-9]|3[01]))(?:st|nd|rd|th)?"
    rf"(?![0-9]|[.:/%][0-9]|[ ]?(?:mg|ml|cm|mm|%|kg))(?:(?:,[ ]?|[ ])(?P<year>{YEAR})(?![0-9]))?)"
)
_PART_OF: Final = rf"(?:(?:{any_of('date_words.part_of')})[ \-](?:(?:de|di)[ ])?)?"
_MONTH_YEAR: Final = (
    rf"(?i)(?<![\w\-])(?P<date>{_PART_OF}(?P<month>{_ANY_MONTH})\b"
    rf"(?:(?:[ ]?[\-/][ ]?|[ ](?:y|e|a|and)[ ])(?:{_LONG_MONTH}))?"
    r"\.?(?:(?:[ ]?(?:de[ ]l?|del[ ](?:año[ ])?|dell['’][ ]?(?:anno[ ])?|of[ ]|/|-|,)[ ]?|[ ])(?:año[ ])?"
    rf"(?P<year>{YEAR})(?:[\-/][0-9]{{2,4}})?|(?:[/\-]|[ ](?:of|del?)[ ]|[ ]?(?:of[ ]|del?[ ])?(?P<short>['’]))"
    r"(?P<yy>[0-9]{2})(?![ ]?(?:mg|ml|%)))(?![0-9A-Za-z]|[.,/%:\-][0-9]))"
)


def _found(expression: str, check: Callable[[re.Match[str]], bool]) -> Finder:
    find = pattern(expression, check=check, date=RuleKind.DATE)
    return lambda text, start, end: [dated(text, at, stop) for at, stop, _kind in find(text, start, end)]


def _real(match: re.Match[str]) -> bool:
    month, year = match["month"].lower(), match["year"]
    if month in _COMMON_SHORT and not (year or match["yy"]):
        return month != "set" and match.string[match.start("month") - 1] in "-/"
    day = int(re.sub(r"[^0-9]", "", match["day"]))
    return real_date(day, _LONG.get(month) or _SHORT[month], int(year) if year and year.isdigit() else None)


def _capital_month(match: re.Match[str]) -> bool:
    month = match["month"]
    return month.lower() not in ("mar", "set", "may", "gen", "ago", "dic", "march") or month[0].isupper()


def _month_and_year(match: re.Match[str]) -> bool:
    """Whether a month with two figures of a year is one, and no gene or range: `Mar-98`, `April of 87`."""
    if match["year"] or match["short"]:
        return True
    month = match["month"]
    return (month[0].isupper() or month in _LONG) and not MEASURE.match(after(match.string, match.end()))


_ALONE: Final = re.compile(rf"(?i)(?:(?<![\w\-])|(?<=mid-))(?P<month>{_LONG_MONTH})(?![\w\-])")
_IN_MONTH: Final = re.compile(rf"(?:(?<![a-zà-ÿ])(?:{any_of('date_words.in_month')})[ ]{{1,2}}|mid-|\()\Z")
_IN_MAY: Final = re.compile(r"(?:in|since|last|this|next|of|until|early|late|mid-)[ ]?\Z")


def _month_alone(text: str, start: int, end: int) -> Iterator[Found]:
    """A month without day and year, after a word that announces one."""
    match = _ALONE.match(text, start)
    if match is None:
        return
    word, behind = match["month"], before(text, start)
    if word.lower() in _ENGLISH and not word[0].isupper():
        return
    if word.lower() in ("may", "march") and not _IN_MAY.search(behind):
        return
    if _IN_MONTH.search(behind):
        yield start - (4 if behind.endswith("mid-") else 0), match.end(), RuleKind.MONTH


_WEEKDAY: Final = re.compile(
    rf"(?i)(?P<day_name>{either('weekdays', 'weekdays_en')})(?![a-zà-ÿ])"
    r"(?P<rest>,?[ ](?:día[ ]|the[ ])?(?P<day>[0-9]{1,2})(?:st|nd|rd|th)?"
    r"(?![0-9]|[:.,][0-9]|h|[ ]?(?:h\b|am|pm|mg|%|a[ ][0-9]))"
    rf"(?:[ ](?:de[ ]|of[ ])?(?:{_LONG_MONTH})(?:[ ](?:de[l]?[ ])?{YEAR})?|/[0-9]{{1,2}}(?:/[0-9]{{2,4}})?)?)?"
)
_TO_WEEKDAY: Final = re.compile(
    rf"[ ](?:a|al|to|through|thru|y|e|and)[ ](?:el[ ]|il[ ])?(?:{either('weekdays', 'weekdays_en')})"
)
_EVERY: Final = re.compile(r"(?:\b(?:los|ogni|every|cada|i)|[a-zì]{4,}[ ](?:a|al|to|through|y|and))[ ]\Z")


def _weekday_dated(text: str, start: int, end: int) -> Iterator[Found]:
    """`sabato 28`, `viernes 2 de marzo de 2018`."""
    if (match := _WEEKDAY.match(text, start)) and match["rest"] and 1 <= int(match["day"]) <= 31:
        yield match.start(), match.end(), RuleKind.DATE


def _weekday(text: str, start: int, end: int) -> Iterator[Found]:
    """A weekday alone, unless it is a habit, as in `los lunes` and `de lunes a viernes`."""
    match = _WEEKDAY.match(text, start)
    if match is None or match["rest"]:
        return
    if text[start:end].lower() in listed("weekdays_en") and not text[start].isupper():
        return
    if not _TO_WEEKDAY.match(after(text, end)) and not _EVERY.search(before(text, start)):
        yield match.start(), match.end(), RuleKind.LOOSE_DATE


_FEAST: Final = rf"(?i)(?<!\w)(?P<date>{any_of('date_words.feast')})(?!\w)"
# The disease and the factor named after Christmas: "enfermedad de Christmas".
_FEAST_BEFORE: Final = re.compile(rf"(?:{any_of('date_words.feast_before')})[ ](?:\(|de[ ]|di[ ]|d[ie]l[ ])?\Z")
_FEAST_AFTER: Final = re.compile(r"[ ](?:factor|disease|eggs?|candy|tree|cactus|rose|island|diet|menu|cookies?)\b")
_ALL_MONTHS: Final = frozenset((*_LONG, *_SHORT))
_WEEKDAYS: Final = frozenset(listed("weekdays", "weekdays_en"))


def _is_feast(match: re.Match[str]) -> bool:
    behind, ahead = before(match.string, match.start(), 24), after(match.string, match.end())
    return not (_FEAST_BEFORE.search(behind) or _FEAST_AFTER.match(ahead))


# Dates with Roman months, and with months in a row with figures: `5/XI/98`, `12Dec19`, `12.Dec.19`, `2019-Dec-12`.


_ROMAN: Final = {name: at for at, name in enumerate(listed("roman_months"), 1)}
_MONTHS: Final = frozenset((*listed("months", "months_short"), "sept", "setiembre"))
_NUMERAL_DAY: Final = r"(?:0?[1-9]|[12][0-9]|3[01])"
_ANY_YEAR: Final = rf"(?:{YEAR}|'?[0-9]{{2}})"
_END: Final = r"(?![0-9A-Za-zà-ÿ]|[.,/\-][0-9])"
_DAY_OR_YEAR_BEFORE: Final = re.compile(
    rf"{FREE}(?:(?P<day>{_NUMERAL_DAY})|(?P<year>{YEAR}))(?P<gap>[ ]?[/.\-–][ ]?|[ ]|)\Z"
)
_YEAR_BEHIND: Final = re.compile(rf"(?P<gap>[ ]?[/.\-–][ ]?|[ ]|)(?P<year>{_ANY_YEAR}){_END}")
_DAY_BEHIND: Final = re.compile(rf"[ /.\-]?{_NUMERAL_DAY}{_END}")
_DAY_AND_YEAR: Final = re.compile(rf"[/.\-]?{_NUMERAL_DAY}[,/.\-][ ]?{_ANY_YEAR}{_END}")
_ENDS: Final = re.compile(_END)


def _date(text: str, start: int, end: int) -> Iterator[Found]:
    if not MEASURE.match(after(text, end)):
        yield dated(text, start, end)


def _by_numeral(text: str, start: int, end: int) -> Iterator[Found]:
    """`5/XI/98`, `5 XI 1998` in capitals, and after a word that announces a date `5-XI`. The trigger is the month."""
    first = _DAY_OR_YEAR_BEFORE.search(text, max(0, start - 5), start)
    if first is None or not first["day"] or not first["gap"]:
        return
    if not real_date(int(first["day"]), _ROMAN[text[start:end].lower()]):
        return
    year, capitals = _YEAR_BEHIND.match(text, end), text[start:end].isupper()
    if year is not None and year["gap"] == first["gap"]:
        if first["gap"] != " " or (capitals and len(year["year"]) == 4):
            yield from _date(text, first.start(), year.end())
        return
    announced = DATE_WORD.search(before(text, first.start(), 24)) is not None
    if announced and capitals and first["gap"] in "-/" and _ENDS.match(text, end):
        yield from _date(text, first.start(), end)


def _in_a_row(text: str, start: int, end: int) -> Iterator[Found]:
    """`12Dec19`, `12.Dec.19`, `2019-Dec-12`, `Dec-12-2019`. The trigger is the month."""
    first = _DAY_OR_YEAR_BEFORE.search(text, max(0, start - 7), start)
    if first is None:
        match = _DAY_AND_YEAR.match(text, end) if text[start - 1 : start] not in _JOINED else None
    elif first["year"]:
        match = _DAY_BEHIND.match(text, end)
    else:
        if (match := _YEAR_BEHIND.match(text, end)) and match["gap"] != first["gap"]:
            return
    if match is not None:
        yield from _date(text, first.start() if first else start, match.end())


_JOINED: Final = frozenset("-/.0123456789")


# Dates whose day or year is written in words: `tres de marzo de dos mil diecinueve`, `March the third, 2019`.


_TENS_EN: Final = "twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety"
_ONES_EN: Final = "one|two|three|four|five|six|seven|eight|nine"
_TEENS_EN: Final = "ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|eighteen|nineteen"
_NUMBER_EN: Final = rf"(?:(?:{_TENS_EN})(?:[ \-](?:{_ONES_EN}))?|{_TEENS_EN}|{_ONES_EN})"
_ORDINAL_EN: Final = f"(?:{any_of('date_words.ordinal_en')})"
_ONES_ES: Final = "uno|dos|tr[eé]s|cuatro|cinco|s[eé]is|siete|ocho|nueve"
_NUMBER_ES: Final = (
    rf"(?:dieci(?:s[eé]is|siete|ocho|nueve)|diez|once|doce|trece|catorce|quince|veinti(?:{_ONES_ES}|ún|dós)|veinte|"
    rf"(?:treinta|cuarenta|cincuenta|sesenta|setenta|ochenta|noventa)(?:[ ]y[ ](?:{_ONES_ES}))?|{_ONES_ES})"
)
_ONES_IT: Final = "uno|due|tr[eé]|quattro|cinque|sei|sette|otto|nove"
_NUMBER_IT: Final = (
    rf"(?:(?:vent|trent|quarant|cinquant|sessant|settant|ottant|novant)(?:[iae]?(?:{_ONES_IT})|[ia])|dici(?:assette|"
    rf"otto|annove)|dieci|(?:un|do|tre|quattor|quin|se)dici|{_ONES_IT})"
)
_SPOKEN_DAY: Final = (
    rf"(?:{_ORDINAL_EN}(?:[ ]day)?[ ](?P<of>of[ ])?|(?:primero|{_NUMBER_ES})[ ](?:del?[ ](?:mes[ ]de[ ])?)|"
    rf"(?:primo|{_NUMBER_IT})[ ](?:di[ ])?|(?P<figures>[0-9]{{1,2}})(?:st|nd|rd|th|[°ºª])?[ ](?:(?:de|of|di)[ ])?)"
)
_SPOKEN_BEFORE: Final = re.compile(rf"(?<![\w\-.,/])(?P<day>{_SPOKEN_DAY})\Z".replace("[ ]", r"\s"), re.IGNORECASE)
_YEAR_WORDS: Final = (
    rf"(?:two[ ]thousand(?:[ ](?:and[ ])?{_NUMBER_EN})?|(?:eighteen|nineteen|twenty)[ \-](?:hundred(?:[ ]and)?[ ]|"
    rf"(?:oh?|zero)[ \-])?{_NUMBER_EN}|(?:dos[ ]mil|mil[ ](?:nove|ocho)cientos)(?:[ ]{_NUMBER_ES})?|"
    rf"(?:due[ ]?mila|mille[ ]?(?:nove|otto)cento)(?:[ ]?e?[ ]?{_NUMBER_IT})?)"
)
_SPOKEN_YEAR: Final = (
    rf"(?:,?[ ](?:de[ ]|del[ ](?:año[ ])?|of[ ]|dell['’]anno[ ]|di[ ])?"
    rf"(?:(?P<words>{_YEAR_WORDS})|(?P<year>{YEAR}(?![0-9]|[.,][0-9]))))"
)
_SPOKEN_YEAR_AFTER: Final = re.compile(rf"{_SPOKEN_YEAR}(?![\w\-])".replace("[ ]", r"\s"), re.IGNORECASE)
_SPOKEN_DAY_AFTER: Final = re.compile(
    rf"[ ](?:(?P<the>the[ ])(?:{_ORDINAL_EN}|[0-9]{{1,2}}(?:st|nd|rd|th))|{_ORDINAL_EN}|(?P<number>{_NUMBER_EN}))"
    rf"{_SPOKEN_YEAR}?(?![\w\-])".replace("[ ]", r"\s"),
    re.IGNORECASE,
)
_REACH: Final = 48
_ENGLISH_MONTHS: Final = frozenset(listed("months")[24:])


def _spoken(text: str, start: int, end: int) -> Iterator[Found]:
    """The day before the month, or in English after it. The trigger is the month."""
    before, year = _SPOKEN_BEFORE.search(text, max(0, start - _REACH), start), _SPOKEN_YEAR_AFTER.match(text, end)
    english = text[start:end].lower() in _ENGLISH_MONTHS
    if before is not None:
        if (not english or before["of"] or year) and (not before["figures"] or (year and year["words"])):
            yield dated(text, before.start("day"), year.end() if year else end)
    elif english and text[start].isupper() and (after := _SPOKEN_DAY_AFTER.match(text, end)):
        known = after["words"] or after["year"]
        if known or after["the"] or (not after["number"] and text[start:end].lower() != "may"):
            yield dated(text, start, after.end())


RULES: Final = (
    strong("date.worded", _found(_DAY_MONTH, _real), 74, DIGITS[1:3]),
    Rule("date.month_first", _found(_MONTH_DAY, _capital_month), 57, _ALL_MONTHS),
    strong(
        "date.month_of_year",
        _found(_MONTH_YEAR, _month_and_year),
        62,
        _ALL_MONTHS | words("primeros principios mediados finales inicios fine inizio metà early mid late"),
    ),
    Rule("date.month", _month_alone, 40, _LONG),
    strong("date.weekday.dated", _weekday_dated, 77, _WEEKDAYS),
    Rule("date.weekday", _weekday, 44, _WEEKDAYS),
    Rule("date.feast", pattern(_FEAST, check=_is_feast, date=RuleKind.LOOSE_DATE), 46),
    strong("date.numeral", _by_numeral, 75, _ROMAN),
    strong("date.row", _in_a_row, 75, _MONTHS),
    strong("date.spoken", _spoken, 75, (*listed("months"), "setiembre")),
)
