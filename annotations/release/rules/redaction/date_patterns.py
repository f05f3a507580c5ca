"""Regular expressions of dates and times, and the small words that may stand between them."""

import re
from typing import Final

from annotations.release.rules.redaction.calendars import MONTH, WEEKDAY

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
# Two digits after a month's name are no year where they begin a time.
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
    rf"{_DAYS}(?P<to_month>{_TO_MONTH})(?P<month>{MONTH})(?P<dot>\.(?![0-9]))?(?:{_NAMED_YEAR})?"
)
NAMED_FIRST: Final = _compiled(
    rf"(?P<month>{MONTH})(?P<to_day>\.?[ ]+(?:the[ ]+)?){_DAYS}(?![0-9]|[:./\-][0-9])"
    rf"(?:(?P<to_year>,[ ]*|[ ]+(?:of[ ]+)?)(?P<y>[12][0-9]{{3}}(?![0-9])|['’][0-9]{{2}}(?![0-9])))?"
)
MONTHS: Final = _compiled(rf"(?P<months>{MONTH}\.?(?:{_JOINER}{MONTH}\.?){{0,3}})(?:{_NAMED_YEAR})?")
YEAR_ALONE: Final = _compiled(r"(?P<y>[12][0-9]{3}(?![0-9])|['’][0-9]{2}(?![0-9]))(?![^\W\d_])")
DAY_OF_WEEK: Final = _compiled(rf"(?P<weekday>{WEEKDAY})\.?")

TIME: Final = _compiled(
    r"T?[0-9]{1,2}:[0-9]{2}(?::[0-9]{2}(?:[.,][0-9]+)?)?(?:Z(?![^\W\d_])|[+\-][0-9]{2}:?[0-9]{2})?(?![0-9])"
    r"|[0-9]{1,2}(?:[.,][0-9]{2})?[ ]?(?:hs|hrs?|hours|horas|ore|h|am|pm|a\.m\.?|p\.m\.?|o['’]clock)(?![^\W\d_])"
    r"|(?:ore|las|at|h)[ ]+[0-9]{1,2}(?:[.,][0-9]{2})?(?![0-9.,/\-])"
)
TIME_AFTER_DATE: Final = _compiled(r"[0-2]?[0-9]\.[0-5][0-9](?![0-9.])")
BETWEEN: Final = re.compile(r"[\s,.;:()\[\]/\-–—'’\"]+|[^\W\d_]+")
_WORDS_LIST: Final = (
    "of the on in at to from through thru and or until till since between day month year week date de del "
    "el la las los al a y o e en desde hasta entre día dia días dias mes año años fecha di d dal dall "
    "dalla dello dell della nel nell nei il lo l all alle tra fra fino giorno giorni mese anno data"
)
WORDS: Final = frozenset(_WORDS_LIST.split())
# Words that tell more than a year does.
_FINER_LIST: Final = (
    "early mid late beginning end middle morning afternoon evening night noon midnight am pm a.m p.m "
    "principios mediados finales inicios comienzos mañana tarde noche madrugada mediodía horas hora hs "
    "inizio metà fine mattina pomeriggio sera notte mezzogiorno mezzanotte ore ora h utc gmt"
)
FINER: Final = frozenset(_FINER_LIST.split())
