"""Dates in digits, full and partial. Only dates that exist count."""

import re
from collections.abc import Iterator
from typing import Final

from models_runtime.backends.rules.codes import real_date
from models_runtime.backends.rules.gazetteers import RuleKind, either
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
MEASURE: Final = re.compile(
    r"[ ]?(?:%|mg|ml|mmhg|mm\b|cm\b|kg|mcg|µg|ug\b|g\b|gr\b|l\b|ui\b|u\b|u/|meq|mmol|mg/|bpm|lpm|x[ ]?[0-9]|°|º[cC]?|"
    r"cc\b|ng|pg|pacientes|casos|c[eé]lulas|pazienti|hz|kcal|rpm|j\b|kv|micras|puntos|/campo|por (?:campo|mm|min)|"
    r"cigar|unidades|veces|d[ií]as|(?:wom[ae]n|men|patients|subjects|participants|adults|children|controls|cases|"
    r"people|deaths|events|births|samples|records|admissions|mujeres|hombres|sujetos|niños|controles|personas|"
    r"individuos|adultos|muestras|fallecidos|donne|uomini|soggetti|controlli|casi|bambini|persone|adulti|eventi|"
    r"decessi|campioni|interventi|euros?|dollars|passi|pasos|steps)\b)"
)
_BIRTH: Final = re.compile(
    r"(?<![^\W\d_])(?:nacimiento|f\.? ?nac\.?|nac|fn|nacid[oa] el|dob|d\.o\.b\.|born|birth|nascita|"
    r"nat[oa] (?:[a-zà-ÿ' ]{1,30} )?il|nt\.)[ :.]*(?:el |on )?\Z"
)


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
DATE_WORD: Final = re.compile(
    r"(?:(?<![a-zà-ÿ])(?:del|dal|il|al|el|dell['’]|l['’]|all['’]|dall['’]|on|from|since|until|till|before|by|d[ií]a|"
    r"desde|hasta|fecha|data|labs?|eco|ecocardio|echo|rx|tc|tac|rm|ct|mri|ecg|intervenci[oó]n|hemocultivos?|"
    r"urocultivos?|positivo|negativo|controlli?|control|visit|admitted|seen|filled|ingreso|alta|dimesso|exitus|cita|"
    r"revisi[oó]n|date|d\.d\.|in data|e il|y el|dictated|transcribed|tampone|tamponi|esame|started|stopped|last|given|"
    r"surgery|see|next|biopsy|contact|done|bx|bcx|us|transmission|return|fuera|destete|retorno|tiempo|"
    r"dal[l]?)[ :]{0,2}(?:\()?|\()\Z"
)
# Words that come before results as often as before dates.
_WEAK_WORD: Final = re.compile(
    r"(?<![^\W\d_])(?:\(|positivo|negativo|control|esame|last|given|al?|y el|by|see|us|tiempo)[ :]{0,2}\Z"
)
_SCORE: Final = re.compile(
    r"(?<![^\W\d_])(?:p\.?a\.?|t\.?a\.?|bp|pas|pressione|tensi[oó]n|arterial|score|eva|vas|nrs|gcs|glasgow|apgar|fuerza|forza|"
    r"strength|power|visus|av|vision|agudeza|visi[oó]n|dolor|pain|murmur|soffio|soplo|grado|grade|stadio|estadio|"
    r"birads|segm\w*|ratio|dosis|dose|[0-9]/|x|mmse|mec|aims|phq|n[.º°]|#|nº)[ :=de]{0,4}\Z"
)
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


_NUMBER_BEFORE: Final = re.compile(
    r"(?<![^\W\d_])(?:n\.|nº|n°|num\.|núm\.|sentenza|decreto|legge|l\.|d\.lgs\.|rg|(?<![a-z])(?:"
    r"ley(?: org[aá]nica)?|l\.o\.|reglamento|regolamento|directiva|direttiva|dgr))[ ]?\Z"
)
_MONTH_YEAR: Final = rf"{FREE}(?P<date>(?:0?[1-9]|1[0-2])[/\-]{YEAR})(?![0-9]|[/\-.][0-9])"
_IN_YEAR: Final = re.compile(
    r"(?:(?<![a-zà-ÿ])(?:en(?: el)?|el|il|desde|hasta|in|nel|dal|del|al|since|until|by|from|de|a|y|e|and|circa|anno|"
    r"año|años|year|of|to|late|early|primavera|verano|otoño|invierno|estate|autunno|inverno|spring|summer|fall|autumn|"
    r"winter|around|before|after|sigma|triennio|biennio|ca|operat[oa]|trasplantado|trasplantada)(?: del?)?[ ]{1,2}|"
    r"dell['’](?:anno )?|\((?:[^()]{0,40}[ ,])?|,[ ])\Z"
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
    r"(?<![a-zà-ÿ])(?:criteri\w*|nomenclatur\w*|clasificaci\w*|classifica\w*|guidelines?|gu[ií]as?|line[ae] guida|"
    r"cochrane|meta-?an[aá]li[sz]\w+|metaan[aá]lisis|metanalisi|consens\w*|definici[oó]n|definition|definizione|"
    r"recomendaci\w*|recommendations?|raccomandazioni|(?:american|royal|european) (?:college|"
    r"society))[ ](?P<between>[^.;,]{0,50}?)(?:de|del|of|di|dell['’]|from|d['’])[ ]?\Z"
)
# "Recomendaciones tras el ingreso de 2019" is the year of an admission.
_EVENT: Final = re.compile(rf"(?<![a-zà-ÿ])(?:{either('clinical_events')})(?![a-zà-ÿ])")
# "Of these, 1932 had an event."
_COUNT_BEFORE: Final = re.compile(
    r"(?:(?:of|among) (?:these|those|them|whom|which)|(?:de|entre) (?:est[oa]s|es[oa]s|ell[oa]s|l[oa]s cuales)|"
    r"(?:di|tra|fra) (?:quest[ie]|cui|ess[ie])|overall|altogether|in total|in all|en total|in totale|complessivamente|"
    r"(?:\A|[.;] )(?:of|among|entre|tra|fra) [^.;,]{1,36}|(?:\A|[.;] )(?:de|di) [0-9]{2,5} [^.;,]{1,36}), \Z"
)
# "Of 2010 eligible participants, 1987 completed", but "De 2010 a 2015" and "De 2015 conserva informe"
_OPENS_COUNT: Final = re.compile(r"(?:\A|[.;] )(?:of|de|di|among|entre|tra|fra) \Z")
_COUNTED_AFTER: Final = re.compile(
    r"[ ](?!(?:a|al|to|through|until|till|hasta|y|e|and|en|in)\b)[a-zà-ÿ]{4}[^.;,]{0,40},[ ][0-9]"
)
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
