"""Dates with words: months, weekdays, feasts."""

import re
from collections.abc import Callable, Iterator
from typing import Final

from models_runtime.backends.rules.checks import real_date
from models_runtime.backends.rules.dates import FREE, MEASURE, YEAR, is_birth
from models_runtime.backends.rules.gazetteers import either, listed
from models_runtime.backends.rules.kinds import RuleKind
from models_runtime.backends.rules.phrases import after, before
from models_runtime.backends.rules.rule import DIGITS, Finder, Found, Rule, pattern, words

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
_PART_OF: Final = (
    r"(?:(?:primeros|principios|mediados|finales|inicios|fine|inizio|metà|early|mid|late)[ \-](?:(?:de|di)[ ])?)?"
)
_MONTH_YEAR: Final = (
    rf"(?i)(?<![\w\-])(?P<date>{_PART_OF}(?P<month>{_ANY_MONTH})\b"
    rf"(?:(?:[ ]?[\-/][ ]?|[ ](?:y|e|a|and)[ ])(?:{_LONG_MONTH}))?"
    r"\.?(?:(?:[ ]?(?:de[ ]l?|del[ ](?:año[ ])?|dell['’][ ]?(?:anno[ ])?|of[ ]|/|-|,)[ ]?|[ ])(?:año[ ])?"
    rf"(?P<year>{YEAR})(?:[\-/][0-9]{{2,4}})?|(?:[/\-]|[ ](?:of|del?)[ ]|[ ]?(?:of[ ]|del?[ ])?(?P<short>['’]))"
    r"(?P<yy>[0-9]{2})(?![ ]?(?:mg|ml|%)))(?![0-9A-Za-z]|[.,/%:\-][0-9]))"
)


def _found(expression: str, check: Callable[[re.Match[str]], bool] | None = None) -> Finder:
    compiled = re.compile(expression)

    def find(text: str, start: int, end: int) -> Iterator[Found]:
        match = compiled.match(text, start)
        if match is not None and (check is None or check(match)):
            yield (
                match.start("date"),
                match.end("date"),
                RuleKind.BIRTH_DATE if is_birth(text, start) else RuleKind.DATE,
            )

    return find


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
_IN_MONTH: Final = re.compile(
    r"(?:(?<![a-zà-ÿ])(?:en|de|desde|hasta|a|in|nel|dal|al|dello scorso|lo scorso|scorso|di|since|until|till|last|this|"
    r"next|during|was|by|mes de|mese di|(?:a )?(?:principios|mediados|finales|primeros|[uú]ltimos) de|fine|inizio|metà|"
    r"entre|every|for|y|e|and|pasado|from|against)[ ]{1,2}|mid-|\()\Z"
)
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
    match = _WEEKDAY.match(text, start)
    if match is not None and match["rest"] and 1 <= int(match["day"]) <= 31:
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


_NIGHT: Final = re.compile(r"(?:noche|tarde|madrugada|mañana|notte|night)(?: del| of| tra il)[ ]\Z")
_ON_DAY: Final = re.compile(r"(?:\bel|desde el|hasta el|\bil|\bdal|\bal)[ ]\Z")
_SHORT_WEEKDAY: Final = r"(?P<date>Mon|Tues?|Weds?|Thu(?:rs?)?|Fri|Sat|Sun)\b"
_FEAST: Final = (
    r"(?i)(?<!\w)(?P<date>navidad(?:es)?|nochebuena|nochevieja|semana santa|año nuevo|natale|capodanno|ferragosto|"
    r"pasqua|epifania|befana|ognissanti|d[ií]a de reyes|todos los santos|"
    r"pasquetta|christmas(?: eve| day)?|thanksgiving|easter|halloween|new year'?s(?: eve| day)?|super bowl sunday|"
    r"labor day|memorial day|fourth of july)(?!\w)"
)
# The disease and the factor named after Christmas: "enfermedad de Christmas".
_FEAST_BEFORE: Final = re.compile(
    r"(?:(?:factor|fattore)(?:[ ]ix)?|enfermedad|malattia|morbo)[ ](?:\(|de[ ]|di[ ]|d[ie]l[ ])?\Z"
)
_FEAST_AFTER: Final = re.compile(r"[ ](?:factor|disease|eggs?|candy|tree|cactus|rose|island|diet|menu|cookies?)\b")
_EN: Final = frozenset({"en"})
_ALL_MONTHS: Final = frozenset((*_LONG, *_SHORT))
_WEEKDAYS: Final = frozenset(listed("weekdays", "weekdays_en"))


def _is_feast(match: re.Match[str]) -> bool:
    behind, ahead = before(match.string, match.start(), 24), after(match.string, match.end())
    return not (_FEAST_BEFORE.search(behind) or _FEAST_AFTER.match(ahead))


RULES: Final = (
    Rule("date.worded", frozenset(DIGITS[1:3]), _found(_DAY_MONTH, _real), 0.97, rank=74, strong=True),
    Rule("date.month_first", _ALL_MONTHS, _found(_MONTH_DAY, _capital_month), 0.93, rank=57),
    Rule(
        "date.month_of_year",
        _ALL_MONTHS | words("primeros principios mediados finales inicios fine inizio metà early mid late"),
        _found(_MONTH_YEAR, _month_and_year),
        0.95,
        rank=62,
        strong=True,
    ),
    Rule("date.month", frozenset(_LONG), _month_alone, 0.8, rank=40),
    Rule("date.weekday.dated", _WEEKDAYS, _weekday_dated, 0.95, rank=77, strong=True),
    Rule("date.weekday", _WEEKDAYS, _weekday, 0.8, rank=44),
    Rule(
        "date.weekday.short",
        frozenset(listed("weekdays_short")),
        pattern(
            rf"{_SHORT_WEEKDAY}(?=[ ](?:night|morning|am\b|pm\b|afternoon|evening|call|[0-9]{{1,2}}/)|[,.)\n]|[ ]*$)"
            r"(?!,?[ ][0-9]{2,3}%)",
            date=RuleKind.LOOSE_DATE,
        ),
        0.7,
        rank=40,
        languages=_EN,
    ),
    Rule(
        "date.weekday.short.by",
        words("by since on until this next last"),
        pattern(
            rf"(?:by|[Ss]ince|on|until|this|next|last)[ ]{_SHORT_WEEKDAY}(?![ ]?[0-9]{{2,3}}%)",
            date=RuleKind.LOOSE_DATE,
        ),
        0.85,
        rank=41,
        languages=_EN,
    ),
    Rule(
        "date.feast",
        words(
            "navidad navidades nochebuena nochevieja semana año natale capodanno ferragosto pasqua pasquetta christmas "
            "epifania befana ognissanti día dia todos "
            "thanksgiving easter halloween new super labor memorial fourth"
        ),
        pattern(_FEAST, check=_is_feast, date=RuleKind.LOOSE_DATE),
        0.8,
        rank=46,
    ),
    Rule(
        "date.day_of",
        words("día giorno"),
        pattern(
            r"(?i)(?P<date>(?:día|giorno)[ ][0-9]{1,2})(?![0-9]|[ ]?(?:de|di|post|del|dopo)\b)",
            check=lambda match: bool(_ON_DAY.search(before(match.string, match.start()))),
            date=RuleKind.LOOSE_DATE,
        ),
        0.7,
        rank=38,
    ),
    Rule(
        "date.night",
        frozenset(DIGITS[1:3]),
        pattern(
            rf"(?P<date>{_DAY}[ ](?:al|to|e il)[ ]{_DAY})(?![0-9/])",
            check=lambda match: bool(_NIGHT.search(before(match.string, match.start()))),
            date=RuleKind.LOOSE_DATE,
        ),
        0.75,
        rank=39,
    ),
)
