"""Dates: in figures, in words, in part. What the calendar doesn't have is no date."""

import re
from collections.abc import Iterator
from typing import Final

from models_runtime.backends.rules.checks import real_date
from models_runtime.backends.rules.kinds import Kind
from models_runtime.backends.rules.reading import after, before
from models_runtime.backends.rules.rule import DIGITS, Found, Rule, pattern, words

_MONTHS: Final = (
    "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre "
    "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre "
    "january february march april may june july august september october november december"
).split()
_SHORT: Final = (
    "ene feb mar abr may jun jul ago sep oct nov dic gen feb mar apr mag giu lug ago set ott nov dic "
    "jan feb mar apr may jun jul aug sep oct nov dec"
).split()
MONTHS: Final = {name: at % 12 + 1 for at, name in enumerate(_MONTHS)} | {"setiembre": 9}
SHORT: Final = {name: at % 12 + 1 for at, name in enumerate(_SHORT)} | {"sept": 9}
_NAMES: Final = "|".join(sorted({*MONTHS, *SHORT}, key=len, reverse=True))
_LONG: Final = "|".join(sorted(MONTHS, key=len, reverse=True))
_YEAR: Final = r"(?:1[89][0-9]{2}|20[0-4][0-9])"
_SEP: Final = r"[ \xa0]?[/.\-–][ \xa0]?"
_FREE: Final = r"(?<![0-9A-Za-z])(?<![0-9][.,/\-])"

_FULL: Final = re.compile(
    rf"{_FREE}(?:(?P<iso>{_YEAR})(?P<s>[\-/.])(?P<m>[0-9]{{1,2}})(?P=s)(?P<d>[0-9]{{1,2}})"
    rf"|(?P<a>[0-9]{{1,2}})(?P<t>{_SEP})(?P<b>[0-9]{{1,2}})(?:(?P=t)|{_SEP})(?P<y>[0-9]{{4}}|'?[0-9]{{2}}))(?![0-9]|[/\-.,][0-9])"
)
_MEASURE: Final = re.compile(
    r"[ ]?(?:%|mg|ml|mmhg|mm\b|cm\b|kg|mcg|µg|ug\b|g\b|gr\b|l\b|ui\b|u\b|u/|meq|mmol|mg/|bpm|lpm|x[ ]?[0-9]|°|º[cC]?|cc\b|ng|pg|"
    r"pacientes|casos|c[eé]lulas|pazienti|hz|kcal|rpm|j\b|kv|micras|puntos|/campo|por|cigar|unidades|veces|por mm)"
)


def _full(text: str, start: int, end: int) -> Iterator[Found]:
    match = _FULL.match(text, start)
    if match is None:
        return
    if match["iso"]:
        good = real_date(int(match["d"]), int(match["m"]), int(match["iso"]))
    else:
        a, b, y = int(match["a"]), int(match["b"]), match["y"].lstrip("'")
        year = int(y) if len(y) == 4 else 2000 + int(y)
        good = (real_date(a, b, year) or real_date(b, a, year)) and (len(y) == 2 or 1850 <= year <= 2049)
        if "." in match["t"] and len(y) == 2 and len(match["b"]) < 2:
            good = False
    if good and not _MEASURE.match(after(text, match.end())):
        birth = _BIRTH.search(before(text, start, 40))
        yield match.start(), match.end(), Kind.BIRTH_DATE if birth else Kind.DATE


_BIRTH: Final = re.compile(
    r"(?:nacimiento|f\.? ?nac\.?|fn|nacid[oa] el|dob|born|birth|nascita|nat[oa] (?:[a-zà-ÿ' ]{1,30} )?il|nt\.)[ :.]*(?:el |on )?\Z"
)
_PART: Final = re.compile(
    rf"{_FREE}(?P<a>[0-9]{{1,2}})(?P<s>[/\-.])(?P<b>[0-9]{{1,2}})(?![0-9A-Za-z]|[/\-.,:][0-9]|[ ]?[%x/])"
)
_DATE_WORD: Final = re.compile(
    r"(?:(?<![a-zà-ÿ])(?:del|dal|il|al|el|dell['’]|l['’]|all['’]|dall['’]|on|from|since|until|till|before|by|d[ií]a|desde|hasta|"
    r"fecha|data|labs?|eco|ecocardio|echo|rx|tc|tac|rm|ct|mri|ecg|intervenci[oó]n|hemocultivos?|urocultivos?|positivo|negativo|"
    r"controlli?|control|visit|admitted|seen|filled|ingreso|alta|dimesso|exitus|cita|revisi[oó]n|c/c|date|d\.d\.|in data|e il|y el|dictated|transcribed|"
    r"tampone|tamponi|esame|started|stopped|last|given)[ :]{0,2}(?:\()?|\()\Z"
)
_SCORE: Final = re.compile(
    r"(?:p\.?a\.?|t\.?a\.?|bp|pas|pressione|tensi[oó]n|arterial|score|eva|vas|nrs|gcs|glasgow|apgar|fuerza|forza|strength|power|visus|av|vision|"
    r"agudeza|visi[oó]n|dolor|pain|murmur|soffio|soplo|grado|grade|stadio|estadio|birads|segm\w*|ratio|dosis|dose|[0-9]/|x|mmse|mec|aims|phq|n[.º°]|#|nº)[ :=de]{0,4}\Z"
)


def _part(text: str, start: int, end: int) -> Iterator[Found]:
    """Day and month without a year: said to be one by the word before, or by a month written `03`."""
    match = _PART.match(text, start)
    if match is None:
        return
    a, b = match["a"], match["b"]
    behind = before(text, start, 24)
    if _SCORE.search(behind) or _MEASURE.match(after(text, match.end())):
        return
    said = bool(_DATE_WORD.search(behind))
    padded = match["s"] == "/" and len(b) == 2 and b[0] == "0" and b != "00" and len(a) == 2
    if match["s"] != "/" and not (said and len(a) == 2 and len(b) == 2 and match["s"] == "-" and b <= "12"):
        return
    if not (said or padded or (_LIST.search(behind) and len(b) == 2)):
        return
    weak = said and not padded and _WEAK_WORD.search(behind)
    if weak and not (b[0] == "0" or a[0] == "0" or int(a) > 12):
        return
    if (
        real_date(int(a), int(b))
        or (said and real_date(int(b), int(a)) and len(b) == 2)
        or (said and real_date(int(b), int(a)))
    ):
        yield match.start(), match.end(), Kind.DATE


# Words that stand before results as often as before dates.
_WEAK_WORD: Final = re.compile(r"(?:\(|positivo|negativo|control|esame|last|given|al?|y el|by)[ :]{0,2}\Z")
_LIST: Final = re.compile(r"[0-9]{1,2}/[0-9]{2}(?:,| e| y| and)[ ](?:il |el )?\Z")
_MONTH_YEAR: Final = rf"{_FREE}(?P<date>(?:0?[1-9]|1[0-2])[/\-]{_YEAR})(?![0-9]|[/\-.][0-9])"


def _month_year_free(match: re.Match[str]) -> bool:
    return not re.search(
        r"(?:n\.|nº|n°|num\.|núm\.|sentenza|decreto|legge|l\.|d\.lgs\.|rg)[ ]?\Z", before(match.string, match.start())
    )


# "12 de marzo de 2018", "4 al 5 de mayo", "1° luglio 2014", "8th of June, 2021", "12-mar-19"
_ORD: Final = r"(?:[ ]?[°ºª]|st|nd|rd|th)?"
_DAY: Final = rf"(?:0?[1-9]|[12][0-9]|3[01]){_ORD}"
_YEARS: Final = rf"(?:(?:,?[ ](?:del?|dell['’]|of|del año|de este año|anno|año|,)?[ ]?|,[ ]?|[/\-.][ ]?)(?:año[ ]|anno[ ])?(?P<year>{_YEAR}|'[0-9]{{2}})(?![0-9]|[.,/][0-9])|[/\-](?P<yy>[0-9]{{2}})(?![0-9]))?"
_WORDED: Final = re.compile(
    rf"(?i){_FREE}(?P<date>(?P<day>{_DAY})(?:[ ]?(?:-|–|/|al|a|y|e|o|to|and|,)[ ]?(?:el[ ]|il[ ]|l['’])?(?P<day2>{_DAY})){{0,3}}"
    rf"(?:[ ]?(?:de[ ]|of[ ]|di[ ]|d['’]|[\-/.][ ]?)|[ ])(?P<month>{_NAMES})(?![a-zà-ÿ])\.?{_YEARS})"
)


def _worded(match: re.Match[str]) -> bool:
    month = match["month"].lower()
    number = MONTHS.get(month) or SHORT[month]
    day = int(re.sub(r"[^0-9]", "", match["day"]))
    # "2 mar" and "3 set" are no dates without a year; "4 dic" is.
    if month in ("mar", "set", "may", "sep", "ago", "gen") and not (match["year"] or match["yy"]):
        return month != "set" and match["date"][match.end("day") - match.start("date")] in "-/"
    year = match["year"]
    return real_date(day, number, int(year) if year and year.isdigit() else None)


_MONTH_FIRST: Final = re.compile(
    rf"(?i)(?<![\w\-])(?P<date>(?P<month>{_NAMES})\b\.?[ ](?P<day>(?:0?[1-9]|[12][0-9]|3[01]))(?:st|nd|rd|th)?(?![0-9]|[.:/%][0-9]|[ ]?(?:mg|ml|cm|mm|%|kg))"
    rf"(?:(?:,[ ]?|[ ])(?P<year>{_YEAR})(?![0-9]))?)"
)
_MONTH_OF: Final = re.compile(
    rf"(?i)(?<![\w\-])(?P<date>(?:(?:principios|mediados|finales|fine|inizio|metà|early|mid|late)[ \-](?:(?:de|di)[ ])?)?(?P<month>{_NAMES})\b\.?"
    rf"(?:(?:[ ]?[\-/][ ]?|[ ](?:y|e|a|and)[ ])(?:{_LONG}))?(?:[ ]?(?:de[ ]l?|del[ ](?:año[ ])?|dell['’][ ]?(?:anno[ ])?|of[ ]|/|-|,)[ ]?|[ ])(?:año[ ])?(?P<year>{_YEAR})(?:[\-/][0-9]{{2,4}})?(?![0-9]|[.,/][0-9]))"
)
_ALONE: Final = re.compile(rf"(?i)(?:(?<![\w\-])|(?<=mid-))(?P<date>(?P<month>{_LONG}))(?![\w\-])")
_IN_MONTH: Final = re.compile(
    r"(?:(?<![a-zà-ÿ])(?:en|de|desde|hasta|a|in|nel|dal|al|dello scorso|lo scorso|scorso|di|since|until|till|last|this|next|during|was|by|mes de|mese di|"
    r"(?:a )?(?:principios|mediados|finales|primeros|[uú]ltimos) de|fine|inizio|metà|entre|every|mid-|for|y|e|and|pasado|from)[ ]{1,2}|mid-|\()\Z"
)


def _month_alone(text: str, start: int, end: int) -> Iterator[Found]:
    match = _ALONE.match(text, start)
    if match is None:
        return
    word = match["month"]
    english = word.lower() in _MONTHS[24:]
    if english and not word[0].isupper():
        return
    if word.lower() in ("may", "march") and not re.search(
        r"(?:in|since|last|this|next|of|until|early|late|mid-)[ ]?\Z", before(text, start)
    ):
        return
    behind = before(text, start)
    if _IN_MONTH.search(behind):
        lead = 4 if behind.endswith("mid-") else 0
        yield start - lead, match.end(), Kind.MONTH


_YEAR_WORD: Final = re.compile(r"(?P<lead>(?<![a-zà-ÿ])(?:años?|anno|anni|year)[ ])?\Z")
_IN_YEAR: Final = re.compile(
    r"(?:(?<![a-zà-ÿ])(?:en(?: el)?|el|desde|hasta|in|nel|dal|del|al|since|until|by|from|de|a|y|e|and|circa|anno|dell['’]anno|año|años|year|of|to|late|early|"
    r"primavera|verano|otoño|invierno|estate|autunno|inverno|spring|summer|fall|autumn|winter|around|before|after|sigma|triennio|biennio|ca)"
    r"(?: de[l]?)?[ ]{1,2}|dell['’]|\((?:[^()]{0,40}[ ,])?|,[ ])\Z"
)
_YEAR_ALONE: Final = re.compile(
    rf"{_FREE}(?P<year>{_YEAR})(?P<range>[ ]?[\-–/][ ]?(?:{_YEAR}|[0-9]{{2}}))?(?![0-9A-Za-z]|[.,:/\-][0-9])"
)


def _year(text: str, start: int, end: int) -> Iterator[Found]:
    match = _YEAR_ALONE.match(text, start)
    if match is None or _MEASURE.match(after(text, match.end())):
        return
    behind = before(text, start)
    if not (_IN_YEAR.search(behind) or match["range"]):
        return
    if re.search(r"(?:n\.|nº|n°|calle|dosis de|[0-9][ ]?)[ ]?\Z", behind) and not match["range"]:
        return
    word = re.search(r"(?<![a-zà-ÿ])(?:año|años)[ ]\Z", behind)
    yield match.start(), match.end(), Kind.YEAR
    yield match.start() - (len(word[0]) if word else 0), match.end(), Kind.YEAR_WORDS


_WEEKDAY_ES_IT: Final = (
    "lunes martes miércoles miercoles jueves viernes sábado domingo lunedì lunedi martedì martedi mercoledì mercoledi "
    "giovedì giovedi venerdì venerdi sabato domenica"
).split()
_WEEKDAY_EN: Final = "monday tuesday wednesday thursday friday saturday sunday".split()
_WEEKDAY_SHORT: Final = "mon tue tues wed thu thur thurs fri sat sun".split()
_WEEKDAY_DATE: Final = re.compile(
    rf"(?i)(?P<date>{'|'.join(_WEEKDAY_ES_IT + _WEEKDAY_EN)})(?![a-zà-ÿ])(?P<rest>,?[ ](?:día[ ]|the[ ])?(?P<day>[0-9]{{1,2}})(?:st|nd|rd|th)?(?![0-9]|[:.,][0-9]|h|[ ]?(?:h\b|am|pm|mg|%))"
    rf"(?:[ ](?:de[ ]|of[ ])?(?:{_LONG})(?:[ ](?:de[l]?[ ])?{_YEAR})?|/[0-9]{{1,2}}(?:/[0-9]{{2,4}})?)?)?"
)
_HABIT: Final = re.compile(r"(?:\b(?:los|las|i|le|ogni|every|cada|on|de|dal?|from|to|a|al)[ ]\Z)")


def _weekday(text: str, start: int, end: int) -> Iterator[Found]:
    match = _WEEKDAY_DATE.match(text, start)
    if match is None:
        return
    if match["rest"]:
        return
    word = match["date"].lower()
    if word in _WEEKDAY_EN and not match["date"][0].isupper():
        return
    ahead, behind = after(text, match.end("date")), before(text, start)
    if re.match(
        r"[ ](?:a|al|to|through|thru|y|e|and)[ ](?:el[ ]|il[ ])?(?:" + "|".join(_WEEKDAY_ES_IT + _WEEKDAY_EN) + ")",
        ahead,
    ):
        return
    if re.search(r"\b(?:los|ogni|every|cada|i)[ ]\Z", behind) or re.search(
        r"[a-zì]{4,}[ ](?:a|al|to|through)[ ]\Z", behind
    ):
        return
    yield match.start(), match.end("date"), Kind.LOOSE_DATE


def _weekday_dated(text: str, start: int, end: int) -> Iterator[Found]:
    match = _WEEKDAY_DATE.match(text, start)
    if match is not None and match["rest"] and 1 <= int(match["day"]) <= 31:
        yield match.start(), match.end(), Kind.DATE


_FEASTS: Final = (
    r"(?i)(?<![\w])(?P<date>navidad(?:es)?|nochebuena|nochevieja|semana santa|año nuevo|natale|capodanno|ferragosto|pasqua|pasquetta|christmas(?: eve| day)?|"
    r"thanksgiving|easter|halloween|new year'?s(?: eve| day)?|super bowl sunday|labor day|memorial day|fourth of july)(?![\w])"
)
_NIGHT: Final = re.compile(r"(?:noche|tarde|madrugada|mañana|notte|night)(?: del| of| tra il)[ ]\Z")

_ALL_MONTHS: Final = frozenset((*MONTHS, *SHORT))

RULES: Final = (
    Rule("date.figures", frozenset((*DIGITS[1:3], DIGITS[4])), _full, 0.99, rank=76, strong=True),
    Rule("date.part", frozenset(DIGITS[1:3]), _part, 0.85, rank=48),
    Rule(
        "date.month_year",
        frozenset(DIGITS[1:3]),
        pattern(_MONTH_YEAR, check=_month_year_free, date=Kind.DATE),
        0.93,
        rank=58,
    ),
    Rule(
        "date.worded",
        frozenset(DIGITS[1:3]),
        lambda text, start, end: _spans(_WORDED, _worded, text, start),
        0.97,
        rank=74,
        strong=True,
    ),
    Rule(
        "date.month_first",
        _ALL_MONTHS,
        lambda text, start, end: _spans(
            _MONTH_FIRST,
            lambda m: m["month"].lower() not in ("mar", "set", "may", "gen", "ago", "dic") or m["month"][0].isupper(),
            text,
            start,
        ),
        0.93,
        rank=57,
    ),
    Rule(
        "date.month_of_year",
        frozenset((*_ALL_MONTHS, *words("principios mediados finales fine inizio metà early mid late"))),
        lambda text, start, end: _spans(_MONTH_OF, None, text, start),
        0.95,
        rank=62,
        strong=True,
    ),
    Rule("date.month", frozenset(MONTHS), _month_alone, 0.8, rank=40),
    Rule("date.year", frozenset({DIGITS[4]}), _year, 0.88, rank=42),
    Rule("date.weekday.dated", frozenset((*_WEEKDAY_ES_IT, *_WEEKDAY_EN)), _weekday_dated, 0.95, rank=77, strong=True),
    Rule("date.weekday", frozenset((*_WEEKDAY_ES_IT, *_WEEKDAY_EN)), _weekday, 0.8, rank=44),
    Rule(
        "date.weekday.short",
        frozenset(_WEEKDAY_SHORT),
        pattern(
            r"(?P<date>Mon|Tues?|Wed|Thu(?:rs?)?|Fri|Sat|Sun)\b(?=[ ](?:night|morning|am\b|pm\b|afternoon|evening|call|[0-9]{1,2}/)|[,.)\n]|[ ]*$)(?!,?[ ][0-9]{2,3}%)",
            date=Kind.LOOSE_DATE,
        ),
        0.7,
        rank=40,
        languages=frozenset({"en"}),
    ),
    Rule(
        "date.weekday.short.by",
        words("by since on until this next last"),
        pattern(
            r"(?:by|[Ss]ince|on|until|this|next|last)[ ](?P<date>Mon|Tues?|Wed|Thu(?:rs?)?|Fri|Sat|Sun)\b(?![ ]?[0-9]{2,3}%)",
            date=Kind.LOOSE_DATE,
        ),
        0.85,
        rank=41,
        languages=frozenset({"en"}),
    ),
    Rule(
        "date.feast",
        words(
            "navidad navidades nochebuena nochevieja semana año natale capodanno ferragosto pasqua pasquetta christmas thanksgiving easter halloween new super labor memorial fourth"
        ),
        pattern(_FEASTS, date=Kind.LOOSE_DATE),
        0.8,
        rank=46,
    ),
    Rule(
        "date.day_of",
        words("día giorno"),
        pattern(
            r"(?i)(?P<date>(?:día|giorno)[ ][0-9]{1,2})(?![0-9]|[ ]?(?:de|di|post|del|dopo)\b)",
            check=lambda m: bool(
                re.search(r"(?:\bel|desde el|hasta el|\bil|\bdal|\bal)[ ]\Z", before(m.string, m.start()))
            ),
            date=Kind.LOOSE_DATE,
        ),
        0.7,
        rank=38,
    ),
    Rule(
        "date.night",
        frozenset(DIGITS[1:3]),
        pattern(
            rf"(?P<date>{_DAY}[ ](?:al|to|e il)[ ]{_DAY})(?![0-9/])",
            check=lambda m: bool(_NIGHT.search(before(m.string, m.start()))),
            date=Kind.LOOSE_DATE,
        ),
        0.75,
        rank=39,
    ),
)


def _spans(expression: re.Pattern[str], check: object, text: str, start: int) -> Iterator[Found]:
    match = expression.match(text, start)
    if match is not None and (check is None or check(match)):  # type: ignore[operator]
        birth = _BIRTH.search(before(text, start, 40))
        yield match.start("date"), match.end("date"), Kind.BIRTH_DATE if birth else Kind.DATE
