"""Ages over 89, which HIPAA's Safe Harbor aggregates (45 CFR 164.514(b)(2)(i)(C)). All other ages stay as they are.

A number over 89 becomes "90+". A number in words becomes "over 89" in its language. An age is in years unless its text
names a shorter unit. Only numbers, units and the small words of ages may be in the text.

`told_in` finds ages over 89 that nobody labeled, and years of birth that tell one.
"""

import re
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Final

from annotations.text.search import word_groups
from annotations.text.spans import Bounds

_OLDEST: Final = 89
_IMPOSSIBLE: Final = 130

_PER_YEAR: Final = {
    12: "mo mos month months mes meses mese mesi",
    52: "wk wks week weeks sem semana semanas settimana settimane",
    365: "day days día días dia dias giorno giorni",
    8760: "hour hours hora horas ora ore",
}
_UNITS: Final = {unit: count for count, units in _PER_YEAR.items() for unit in units.split()}
_SHORTER: Final = "|".join(sorted(_UNITS, key=len, reverse=True))
# With groups of three digits ("1,200", "1.200", before a unit also "1 200") or a fraction.
_FIGURES: Final = (
    rf"(?>[1-9][0-9]{{0,2}}(?:[ \u00a0\u202f][0-9]{{3}})+(?=[ \-]?(?:{_SHORTER})(?![^\W\d_]))"
    r"|[1-9][0-9]{0,2}(?:[.,'’][0-9]{3})+(?![0-9])|[0-9]+(?:[.,][0-9]+)?)"
)
_THOUSANDS: Final = re.compile(r"[.,'’ \u00a0\u202f](?=[0-9]{3}(?![0-9]))")
_NUMBER: Final = re.compile(
    rf"(?<![0-9.,/])(?P<number>{_FIGURES})(?P<tail>['’]?s(?![^\W\d_])|[ ]?\+)?"
    r"(?:[ \-]?(?P<unit>[^\W\d_]+))?",
    re.IGNORECASE,
)

_ONES_EN: Final = "one|two|three|four|five|six|seven|eight|nine"
_TENS_EN: Final = "twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety"
_ONES_ES: Final = "uno|una|un|dos|tres|cuatro|cinco|seis|siete|ocho|nueve"
_ONES_IT: Final = "uno|un|due|tre|tré|quattro|cinque|sei|sette|otto|nove"
_NINETY_EN: Final = rf"ninety(?:[ \-](?:{_ONES_EN})\b)?+"
_HUNDRED_EN: Final = (
    rf"(?:(?:a|one)[ \-])?hundred(?:[ \-](?:and[ \-])?(?:{_ONES_EN}|ten|eleven|twelve|\w+teen|{_TENS_EN})\b)?"
)
_NINETY_ES: Final = rf"noventa(?:[ ]y[ ](?:{_ONES_ES})\b)?+"
_HUNDRED_ES: Final = rf"cien|ciento(?:[ ](?:{_ONES_ES}|diez|once|doce|trece|catorce|quince))?"
_NINETY_IT: Final = rf"novant(?:a(?:{_ONES_IT})?+|uno|un|otto)"
_HUNDRED_IT: Final = r"cent(?:o\w*|un\w+|otto)"
# Words for 90 and more, by what replaces them.
_OVER: Final = tuple(
    (re.compile(rf"\b(?:{words})\b", re.IGNORECASE), over)
    for words, over in (
        (rf"{_NINETY_EN}|nineties|{_HUNDRED_EN}", "over 89"),
        (rf"{_NINETY_ES}|{_HUNDRED_ES}", "más de 89"),
        (rf"{_NINETY_IT}|{_HUNDRED_IT}", "oltre 89"),
    )
)
# Words for 0 to 89.
_UNDER: Final = re.compile(
    rf"\b(?:zero|{_ONES_EN}|ten|eleven|twelve|\w+teen|{_TENS_EN}"
    rf"|cero|{_ONES_ES}|diez|once|doce|trece|catorce|quince|diecis[eé]is|dieci\w+|veinte|veinti\w+"
    r"|treinta|cuarenta|cincuenta|sesenta|setenta|ochenta"
    rf"|{_ONES_IT}|dieci|undici|dodici|\w+dici|dicia\w+|diciotto|(?:vent|trent|quarant|cinquant|sessant|settant|ottant)\w+)\b",
    re.IGNORECASE,
)
_SMALL: Final = frozenset(word_groups(Path(__file__).with_name("data") / "words.txt")["in ages"])
_WORD: Final = re.compile(r"[^\W\d_]+")


def generalized_age(text: str) -> str | None:
    """The text with ages over 89 aggregated; None if it holds no age that can be read."""
    numbers = list(_NUMBER.finditer(text))
    if any(_undecided(match) for match in numbers):
        return None
    if any(not _is_known(word) for word in _WORD.findall(text)):
        return None
    # Numbers go first, since the words that replace numbers in words contain one.
    new = _NUMBER.sub(_number, text)
    for words, aggregated in _OVER:
        new, count = words.subn(aggregated, new)
        if count:
            return new
    return new if numbers or _UNDER.search(text) else None


def _is_known(word: str) -> bool:
    lower = word.lower()
    return (
        lower in _SMALL
        or lower in _UNITS
        or _UNDER.fullmatch(word) is not None
        or any(words.fullmatch(word) for words, _ in _OVER)
        or len(word) == 1
    )


def _undecided(match: re.Match[str]) -> bool:
    """Whether a number over 89 is not an age in years: too large, or with a shorter unit, or a letter for one."""
    unit = match["unit"] or ""
    return _years(match) >= _IMPOSSIBLE or (
        _years(match) > _OLDEST and (unit.lower() in _UNITS or (len(unit) == 1 and unit.lower() in "dhmw"))
    )


def _number(match: re.Match[str]) -> str:
    if _years(match) <= _OLDEST:
        return match[0]
    return "90+" + match[0][match.end("tail" if match["tail"] else "number") - match.start() :]


def _years(match: re.Match[str]) -> float:
    return _value(match["number"]) / _UNITS.get((match["unit"] or "").lower(), 1)


def _value(number: str) -> float:
    whole = _THOUSANDS.sub("", number) if number[0] != "0" else number
    return float(whole.replace(",", "."))


_FIGURE_RUNS: Final = re.compile(r"[0-9]+")  # where numbers begin, in a third of the time of `_NUMBER_AT`
_NUMBER_AT: Final = re.compile(_FIGURES, re.IGNORECASE)
# What stands after the number of an age, "94-year-old", "94 yo", "94 años", "94th birthday", "1,200 months", or before
# it, "aged 94", "Age/sex: 94", "turned 94", "mujer de 94", "età di 94", "in her 90s". Then no other unit follows.
_UNIT_AFTER: Final = re.compile(
    r"(?:[ ]and[ ]a[ ]half|[ ]y[ ]medio|[ ]e[ ]mezzo)?\s?\+?[\s\-]?"
    r"(?:(?:years?|yrs?\.?)(?![ ]ago)(?:[\s\-]?(?:old|of[ ]age))?|y[ \-]?(?:old|of[ ]age)|y/?o[mf]?|y\.o|años|anni|aa"
    r"|enn[ei]|(?:st|nd|rd|th|[º°])?[ ]?(?:birthday|cumpleaños|compleanno)"
    r"|ans|jahren?|jährig\w{0,2}|jaar|jarige?|anos|anys|(?P<unit>" + _SHORTER + r"))(?![^\W\d_])",
    re.IGNORECASE,
)
_AGED_BEFORE: Final = re.compile(
    r"\b(?:(?:aged?|edad|età)(?:[ ]?\((?:in[ ])?(?:years|años|anni)\)|[ ]?/[ ]?(?:sex|gender|sexo|sesso)|[ ]anni)?"
    r"|di[ ]anni|anni(?=:)|turn(?:s|ed|ing)|cumpl(?:e|ió|ir|irá|ido)|compi(?:e|uto)"
    r"|(?:wom[ae]n|m[ae]n|lady|male|patient|mujer|hombre|var[oó]n|señora?|ancian[oa]|paciente|donna|uomo|signora?|paziente)"
    r"(?=[ ](?:of|de|di)\b)|in[ ](?:his|her|their)(?:[ ](?:early|mid|late))?)"
    r"\s?(?:[:=]|of\b|is\b|de\b|di\b)?[ ]?\Z",
    re.IGNORECASE,
)
_END_AFTER: Final = re.compile(
    rf"(?:['’]?s)?(?![^\W\d_]|%|/(?![FMVHDfmvhd]\b)|[ \-]?(?:{_SHORTER}|kg|kilos?|chili|cm|lbs?|pounds?)(?![^\W\d_]))",
    re.IGNORECASE,
)
_BORN_BEFORE: Final = re.compile(
    r"\b(?:born|birth|[dy]ob|b\.|nacid[oa]|naci[oó]|nacimiento|f\.?[ ]?nac|quinta|nat[oa]|nascita"
    r"|classe|geb(?:oren)?|née?)(?![^\W\d_])"
    r"(?:[^\d\n]|[0-9]{1,2}(?![0-9])){0,20}\Z",
    re.IGNORECASE,
)
_BEFORE: Final = 36  # code points that these may have
# "94/F"; "94 a.", "94a", "94 a, acude": a Spanish or Italian age. "A 94 a. m." is a time, "94 a 98" a range.
_SHORT_AFTER: Final = re.compile(
    r"(?:[ ]?[aA]\.(?![ ]?(?:[0-9]|[mM]\b))|a(?![\w\-]|[ ][0-9])|[ ]a(?=[ ]?(?:[,;)\n]|\Z)|[ ](?:con|che|que|sin)\b)"
    r"|/[FMVHD]\b)"
)
# Narrow enough that common words such as "centro" and "adyacente" have none of them.
_HUNDREDS: Final = ("cento", "centun", "centen", "centes", "centés", "hundred", "cien a", "ciento ")
_IN_WORDS: Final = ("nonag", "novant", "ninet", "noventa", *_HUNDREDS)
# After a number it is not an age: ninety percent, noventa por ciento, novanta battiti. Decades are "anni novanta".
_OTHER_AFTER: Final = (
    rf"(?![ \-](?:{_SHORTER}|per|por|percent|%|hundred|thousand|mil|mila|min\w*|sec\w*|seg\w*|degrees?|grad[oi]s?|"
    r"beats?|latidos|pulsaciones|battiti|m[gl]|mcg|kg|kilos?|chil[oi]|cm|pounds?|lbs?|units?|unidades|unità|cases|"
    r"patients|casos|pacientes|casi|pazienti|euros?|dollars)(?![^\W\d_]))"
)
_YEARS_AFTER: Final = r"(?:[ \-]+years?[ \-]old|[ ](?:years[ ]of[ ]age|años|anni)|['’]anni)"
_WORDS_OVER: Final = re.compile(
    r"\b(?:nonagenari\w{1,3}|(?:super|ultra)?centenari\w{1,3}"
    r"|(?:ninet\w{2,4}|ninety[ \-]\w{3,6}|nonagésim[oa]|novantesimo|hundredth|cent[eé]simo)[ ]"
    r"(?:birthday|year|cumpleaños|compleanno)|(?:ultra)?(?:novant|cento)\w{0,10}enn[ei]"
    rf"|(?:{_HUNDRED_EN}|{_HUNDRED_ES}|{_HUNDRED_IT}|novant){_YEARS_AFTER}"
    r"|(?:his|her|their)[ ](?:(?:early|mid|late)[ \-])?nineties"
    rf"|(?<!años )(?<!anni )(?<!los )(?<!gli )(?:{_NINETY_EN}|{_NINETY_ES}|{_NINETY_IT})\b{_OTHER_AFTER}"
    rf"(?:{_YEARS_AFTER})?|(?:{_NINETY_ES}|{_NINETY_IT}){_YEARS_AFTER})(?![^\W\d_])",
    re.IGNORECASE,
)
_OR_MORE: Final = re.compile(r"[ ]?\+|[ ](?:or|o)[ ](?:older|over|more|m[aá]s|più)")
_YEAR: Final = re.compile(r"(?:19|20)[0-9]{2}(?<![0-9]{5})(?![0-9]|[.,][0-9]|[ ]?(?:[mkµ]?[gl]|mmol|kcal|cc|ui|iu)\b)")


def latest_year(text: str) -> int | None:
    """The latest year in figures that a text names, up to this one."""
    return max((year for found in _YEAR.findall(text) if (year := int(found)) <= date.today().year), default=None)


def told_in(text: str, latest: int | None) -> Iterator[Bounds]:
    """The ages over 89 in a text, and the years of birth that tell one beside the note's latest year.

    Bounds are in code points, end-exclusive. "90+" is not an age over 89, but the group of all of them.
    """
    end = 0
    for run in _FIGURE_RUNS.finditer(text):
        found = _NUMBER_AT.match(text, run.start()) if run.start() >= end else None
        if found is None:
            continue
        start, end = found.span()
        value = _value(found[0])
        if value <= _OLDEST or text[max(0, start - 1) : start] in (*"/.,", *"0123456789"):
            continue
        before = text[max(0, start - _BEFORE) : start]
        if latest is not None and found[0].isdigit() and _OLDEST < latest - value < _IMPOSSIBLE:
            if _BORN_BEFORE.search(before):
                yield start, end
            continue
        if value == _OLDEST + 1 and _OR_MORE.match(text, end):
            continue
        if unit := _UNIT_AFTER.match(text, end):
            if _OLDEST < value / _UNITS.get((unit["unit"] or "").lower(), 1) < _IMPOSSIBLE:
                yield start, unit.end()
        elif value < _IMPOSSIBLE and not before[-1:].isalpha() and (short := _SHORT_AFTER.match(text, end)):
            yield start, short.end()
        elif value < _IMPOSSIBLE and (aged := _AGED_BEFORE.search(before)) and (rest := _END_AFTER.match(text, end)):
            yield start - len(before) + aged.start(), rest.end()
    folded = text.lower()
    if any(word in folded for word in _IN_WORDS):
        yield from (found.span() for found in _WORDS_OVER.finditer(text))
