"""Dates in digits, full and partial. Only dates that exist count."""

import re
from collections.abc import Iterator
from typing import Final

from models_runtime.backends.rules.codes import real_date
from models_runtime.backends.rules.gazetteers import RuleKind, any_of, either
from models_runtime.backends.rules.phrases import after, before
from models_runtime.backends.rules.rule import DIGITS, Found, Rule, pattern, strong

YEAR: Final = r"(?:1[89][0-9]{2}|20[0-4][0-9])"
FREE: Final = r"(?<![0-9A-Za-z])(?<![0-9][.,/\-])"
_SEP: Final = r"[ \xa0]?[/.\-–][ \xa0]?"
FULL: Final = re.compile(
    rf"{FREE}(?:(?P<iso>{YEAR})(?P<s>[\-/.])(?P<m>[0-9]{{1,2}})(?P=s)(?P<d>[0-9]{{1,2}})"
    rf"|(?P<a>[0-9]{{1,2}})(?P<t>{_SEP})(?P<b>[0-9]{{1,2}})(?:(?P=t)|{_SEP})(?P<y>[0-9]{{4}}|'?[0-9]{{2}}))"
    r"(?![0-9]|[/\-.,][0-9])"
)
MEASURE: Final = re.compile(f"[ ]?(?:{any_of('dates.measure')})")
_BIRTH: Final = re.compile(rf"(?<![^\W\d_])(?:{any_of('dates.birth')})[ :.]*(?:el |on )?\Z")


def is_birth(text: str, at: int) -> bool:
    """Whether the words before `at` announce a date of birth."""
    return bool(_BIRTH.search(before(text, at, 40)))


def dated(text: str, start: int, end: int) -> Found:
    """A date, of birth if the words before it announce one."""
    return start, end, RuleKind.BIRTH_DATE if is_birth(text, start) else RuleKind.DATE


# "Apgar 9/10/10"
_APGAR: Final = re.compile(r"apgar[ :]{1,2}\Z")


def _full(text: str, start: int, end: int) -> Iterator[Found]:
    match = FULL.match(text, start)
    if (
        match is not None
        and not _APGAR.search(before(text, start, 8))
        and _exists(match)
        and not MEASURE.match(after(text, match.end()))
    ):
        yield dated(text, match.start(), match.end())


def _exists(match: re.Match[str]) -> bool:
    """Whether the date exists, as day and month or as month and day."""
    if not match["iso"] and len(match["y"]) == 2 and "-" in match["t"] and match.string[match.start("y") - 1] == "/":
        return False  # This is a range on a scale, such as 6-7/10.
    if match["iso"]:
        return real_date(int(match["d"]), int(match["m"]), int(match["iso"]))
    a, b, y = int(match["a"]), int(match["b"]), match["y"].lstrip("'")
    if len(y) == 4 and not 1850 <= int(y) <= 2049:
        return False
    numbered = len(match["y"]) == 2 and "." in match["t"] and len(match["b"]) < 2
    if numbered and not DATE_WORD.search(before(match.string, match.start(), 24)):
        return False  # This is the number of a version or a section, such as 1.2.15.
    year = int(y) if len(y) == 4 else 2000 + int(y)
    return real_date(a, b, year) or real_date(b, a, year)


PART: Final = re.compile(
    rf"{FREE}(?P<a>[0-9]{{1,2}})(?P<s>[/\-.])(?P<b>[0-9]{{1,2}})(?![0-9A-Za-z]|[/\-.,:][0-9]|[ ]?[%x/])"
)
DATE_WORD: Final = re.compile(rf"(?:(?<![a-zà-ÿ])(?:{any_of('dates.date_word')})[ :]{{0,2}}(?:\()?|\()\Z")
# Words that come before results as often as before dates.
_WEAK_WORD: Final = re.compile(rf"(?<![^\W\d_])(?:{any_of('dates.weak_word')})[ :]{{0,2}}\Z")
_SCORE: Final = re.compile(rf"(?<![^\W\d_])(?:{any_of('dates.score')})[ :=de]{{0,4}}\Z")
# "Hemocultivos 2/2 positivos", but "Hemocultivos 03/02 negativos"
_RESULT: Final = re.compile(r"[ ](?:positi|negati)")
_TIME_AFTER: Final = re.compile(r"[ ,]{1,2}(?:a las |ore |alle |h )?[0-2]?[0-9][:.][0-5][0-9](?![0-9])")
# After another date, "3/10" is not a score.
_LISTED: Final = re.compile(
    r"(?:[0-9]{1,2}/0[1-9]|(?:1[3-9]|2[0-9]|3[01])/[0-9]{1,2}|0[1-9]/[0-9]{2})(?:,| e| y| and)[ ](?:il |el )?\Z"
)


# "Feb '09 and 3/4", "12/03/2019 y 3/4"
_AFTER_DATE: Final = re.compile(
    rf"(?:(?<![a-zà-ÿ])(?:{either('months', 'months_short')})[ .\-/]{{1,2}}(?:(?:of|del?)[ ])?'?[0-9]{{2,4}}|"
    r"[0-9]{1,2}[/\-][0-9]{1,2}[/\-][0-9]{2,4})(?:,| e| y| and)[ ](?:il |el )?\Z"
)


def could_be_part(text: str, match: re.Match[str]) -> bool:
    """Whether no words around a day and month make it a score, a pressure or a measurement."""
    ahead = after(text, match.end())
    counted = len(match["a"]) == len(match["b"]) == 1 and _RESULT.match(ahead)
    return not (counted or _SCORE.search(before(text, match.start(), 24)) or MEASURE.match(ahead))


def _part(text: str, start: int, end: int) -> Iterator[Found]:
    """A day and month without a year, if the word before or a month with a leading zero makes it a date."""
    match = PART.match(text, start)
    if match is None or not could_be_part(text, match):
        return
    a, b, behind = match["a"], match["b"], before(text, start, 24)
    announced = bool(DATE_WORD.search(behind)) or bool(_TIME_AFTER.match(text, match.end()))
    padded = len(a) == 2 and len(b) == 2 and b[0] == "0" and b != "00"
    if match["s"] == "/":
        fits = announced or padded or bool(_LISTED.search(behind) and len(b) == 2) or bool(_AFTER_DATE.search(behind))
        if announced and not padded and _WEAK_WORD.search(behind):
            fits = b[0] == "0" or a[0] == "0" or int(a) > 12
    else:
        fits = announced and len(a) == len(b) == 2 and (match["s"] == "-" or padded)
    if not fits:
        return
    if real_date(int(a), int(b)) or (announced and match["s"] == "/" and real_date(int(b), int(a))):
        yield match.start(), match.end(), RuleKind.DATE


_NUMBER_BEFORE: Final = re.compile(rf"(?<![^\W\d_])(?:{any_of('dates.number_before')})[ ]?\Z")
_MONTH_YEAR: Final = rf"{FREE}(?P<date>(?:0?[1-9]|1[0-2])[/\-]{YEAR})(?![0-9]|[/\-.][0-9])"
_IN_YEAR: Final = re.compile(
    rf"(?:(?<![a-zà-ÿ])(?:{any_of('dates.in_year')})(?: del?)?[ ]{{1,2}}|dell['’](?:anno )?|\((?:[^()]{{0,40}}[ ,])?|"
    r",[ ])\Z"
)
_YEAR_ALONE: Final = re.compile(
    rf"{FREE}(?P<year>{YEAR})(?P<range>[ ]?[\-–/][ ]?(?:{YEAR}|[0-9]{{2}}))?(?![0-9A-Za-z]|[.,:/\-][0-9])"
)
_NO_YEAR: Final = re.compile(r"(?<![^\W\d_])(?:n\.|nº|n°|calle|dosis de|euro|(?<![a-z])n ?=|[0-9])[ ]?\Z")
# The year of a classification or guideline: "WHO 2010", "criterios EULAR 2010", "ESC guidelines 2021".
_EDITION: Final = re.compile(
    rf"(?<![a-zà-ÿ])(?:{either('guidelines')})(?:/[a-z]{{2,6}})*(?:[ ](?:[a-z]{{3,6}}|de|di|of|del|dell['’]|"
    rf"guidelines?))?,?[ ](?:\(|del?[ ])?\Z"
)
# "Criteria of the American College of Rheumatology of 1990", "nomenclatura de Chapel Hill de 2012"
_PUBLISHED: Final = re.compile(
    f"(?<![a-zà-ÿ])(?:{any_of('dates.published')})[ ](?P<between>[^.;,]{{0,50}}?)(?:de|del|of|di|dell['’]|from|d['’])"
    r"[ ]?\Z"
)
# "Recomendaciones tras el ingreso de 2019" is the year of an admission.
_EVENT: Final = re.compile(rf"(?<![a-zà-ÿ])(?:{either('clinical_events')})(?![a-zà-ÿ])")
# "Of these, 1932 had an event."
_COUNT_BEFORE: Final = re.compile(rf"(?:{any_of('dates.count_before')}), \Z")
# "Of 2010 eligible participants, 1987 completed", but "De 2010 a 2015" and "De 2015 conserva informe"
_OPENS_COUNT: Final = re.compile(r"(?:\A|[.;] )(?:of|de|di|among|entre|tra|fra) \Z")
_COUNTED_AFTER: Final = re.compile(rf"[ ](?!(?:{any_of('dates.counted_after')})\b)[a-zà-ÿ]{{4}}[^.;,]{{0,40}},[ ][0-9]")
_EARLIER: Final = re.compile(rf"(?:(?<![0-9]){YEAR}(?:,|,? (?:y|e|and))[ ]){{1,5}}\Z")
_YEAR_WORD: Final = re.compile(r"(?<![a-zà-ÿ])(?:año|años)[ ]\Z")


def _year(text: str, start: int, end: int) -> Iterator[Found]:
    """A year after a word or bracket that announces one, or a range of two years."""
    match = _YEAR_ALONE.match(text, start)
    if match is None or MEASURE.match(after(text, match.end())):
        return
    behind = before(text, start)
    # "Guidelines of 2019, 2021 and 2023": what the first year belongs to, the others belong to as well.
    first = start - len(earlier[0]) if (earlier := _EARLIER.search(behind)) else start
    published = _PUBLISHED.search(before(text, first, 80))
    if (
        _EDITION.search(before(text, first))
        or _COUNT_BEFORE.search(behind)
        or (published and not _EVENT.search(published["between"]))
    ):
        return
    if _OPENS_COUNT.search(behind) and _COUNTED_AFTER.match(text, match.end()):
        return
    if not match["range"] and (not _IN_YEAR.search(behind) or _NO_YEAR.search(behind)):
        return
    word = _YEAR_WORD.search(behind)
    yield match.start(), match.end(), RuleKind.YEAR
    yield match.start() - (len(word[0]) if word else 0), match.end(), RuleKind.YEAR_WORDS


RULES: Final = (
    strong("date.figures", _full, 76, (*DIGITS[1:3], DIGITS[4])),
    Rule("date.part", _part, 48, DIGITS[1:3]),
    Rule(
        "date.month_year",
        pattern(
            _MONTH_YEAR,
            check=lambda match: not _NUMBER_BEFORE.search(before(match.string, match.start())),
            date=RuleKind.DATE,
        ),
        58,
    ),
    Rule("date.year", _year, 42, (DIGITS[4],)),
)
