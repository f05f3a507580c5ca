"""Dates whose day or year is written in words: `tres de marzo de dos mil diecinueve`, `March the third, 2019`."""

import re
from collections.abc import Iterator
from typing import Final

from models_runtime.backends.rules.dates import YEAR, is_birth
from models_runtime.backends.rules.gazetteers import listed
from models_runtime.backends.rules.kinds import RuleKind
from models_runtime.backends.rules.rule import Found, Rule

_TENS_EN: Final = "twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety"
_ONES_EN: Final = "one|two|three|four|five|six|seven|eight|nine"
_TEENS_EN: Final = "ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|eighteen|nineteen"
_NUMBER_EN: Final = rf"(?:(?:{_TENS_EN})(?:[ \-](?:{_ONES_EN}))?|{_TEENS_EN}|{_ONES_EN})"
_ORDINAL_EN: Final = (
    r"(?:(?:(?:twenty|thirty)[ \-])?(?:first|second|third|fourth|fifth|sixth|seventh|eighth|ninth)|tenth|eleventh|"
    r"twelfth|(?:thir|four|fif|six|seven|eigh|nine)teenth|twentieth|thirtieth)"
)
_ONES_ES: Final = "uno|dos|tr[eé]s|cuatro|cinco|s[eé]is|siete|ocho|nueve"
_NUMBER_ES: Final = (
    rf"(?:dieci(?:s[eé]is|siete|ocho|nueve)|diez|once|doce|trece|catorce|quince|veinti(?:{_ONES_ES}|ún|dós)|veinte|"
    rf"(?:treinta|cuarenta|cincuenta|sesenta|setenta|ochenta|noventa)(?:[ ]y[ ](?:{_ONES_ES}))?|{_ONES_ES})"
)
_ONES_IT: Final = "uno|due|tr[eé]|quattro|cinque|sei|sette|otto|nove"
_NUMBER_IT: Final = (
    r"(?:(?:vent|trent|quarant|cinquant|sessant|settant|ottant|novant)"
    rf"(?:[iae]?(?:{_ONES_IT})|[ia])|dici(?:assette|otto|annove)|dieci|"
    rf"(?:un|do|tre|quattor|quin|se)dici|{_ONES_IT})"
)
_DAY: Final = (
    rf"(?:{_ORDINAL_EN}(?:[ ]day)?[ ](?P<of>of[ ])?|(?:primero|{_NUMBER_ES})[ ](?:del?[ ](?:mes[ ]de[ ])?)|"
    rf"(?:primo|{_NUMBER_IT})[ ](?:di[ ])?|(?P<figures>[0-9]{{1,2}})(?:st|nd|rd|th|[°ºª])?[ ](?:(?:de|of|di)[ ])?)"
)
_BEFORE: Final = re.compile(rf"(?<![\w\-.,/])(?P<day>{_DAY})\Z".replace("[ ]", r"\s"), re.IGNORECASE)
_YEAR_WORDS: Final = (
    rf"(?:two[ ]thousand(?:[ ](?:and[ ])?{_NUMBER_EN})?|(?:eighteen|nineteen|twenty)[ \-](?:hundred(?:[ ]and)?[ ]|"
    rf"(?:oh?|zero)[ \-])?{_NUMBER_EN}|(?:dos[ ]mil|mil[ ](?:nove|ocho)cientos)(?:[ ]{_NUMBER_ES})?|"
    rf"(?:due[ ]?mila|mille[ ]?(?:nove|otto)cento)(?:[ ]?e?[ ]?{_NUMBER_IT})?)"
)
_YEAR: Final = (
    rf"(?:,?[ ](?:de[ ]|del[ ](?:año[ ])?|of[ ]|dell['’]anno[ ]|di[ ])?"
    rf"(?:(?P<words>{_YEAR_WORDS})|(?P<year>{YEAR}(?![0-9]|[.,][0-9]))))"
)
_YEAR_AFTER: Final = re.compile(rf"{_YEAR}(?![\w\-])".replace("[ ]", r"\s"), re.IGNORECASE)
_DAY_AFTER: Final = re.compile(
    rf"[ ](?:(?P<the>the[ ])(?:{_ORDINAL_EN}|[0-9]{{1,2}}(?:st|nd|rd|th))|{_ORDINAL_EN}|(?P<number>{_NUMBER_EN}))"
    rf"{_YEAR}?(?![\w\-])".replace("[ ]", r"\s"),
    re.IGNORECASE,
)
_REACH: Final = 48
_ENGLISH: Final = frozenset(listed("months")[24:])


def _spoken(text: str, start: int, end: int) -> Iterator[Found]:
    """The day before the month, or in English after it. The trigger is the month."""
    low = max(0, start - _REACH)
    before, year = _BEFORE.search(text[low:start]), _YEAR_AFTER.match(text, end)
    english = text[start:end].lower() in _ENGLISH
    if before is not None:
        if (not english or before["of"] or year) and (not before["figures"] or (year and year["words"])):
            yield from _dated(text, low + before.start("day"), year.end() if year else end)
    elif english and text[start].isupper() and (after := _DAY_AFTER.match(text, end)):
        known = after["words"] or after["year"]
        if known or after["the"] or (not after["number"] and text[start:end].lower() != "may"):
            yield from _dated(text, start, after.end())


def _dated(text: str, start: int, end: int) -> Iterator[Found]:
    yield start, end, RuleKind.BIRTH_DATE if is_birth(text, start) else RuleKind.DATE


RULES: Final = (Rule("date.spoken", frozenset((*listed("months"), "setiembre")), _spoken, 0.9, rank=75, strong=True),)
