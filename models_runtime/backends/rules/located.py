"""Whether the words around a listed place name make it a location, and not the name of a scale, a trial or a strain."""

import re
from typing import Final

from models_runtime.backends.rules.gazetteers import either, listed, phrases
from models_runtime.backends.rules.kinds import Kind
from models_runtime.backends.rules.phrases import LETTER, SMALL_LETTER, UP

_PREPOSITIONS: Final = frozenset(listed("place_prepositions"))
_ARTICLES: Final = frozenset({"la", "el", "il", "the", "sud", "nord", "norte", "sur", "los", "las"})
_ZIP: Final = re.compile(r"[0-9]{5}[ ,.\-–]{1,3}\Z")
# The second of two places: "scali a Marsiglia e Palma".
_LINKS: Final = (", ", " y ", " e ", " ed ", " o ", " or ", " and ")
_SECOND: Final = re.compile(
    rf"(?:(?<![A-Za-zà-ÿ])(?i:{either('place_prepositions')})[ ]|[0-9]{{5}}[ ,.\-–]{{1,3}})"
    rf"(?:[{UP}]{LETTER}+(?:[ ][{UP}]{LETTER}+)?(?:[ ]\([^()\n]{{2,20}}\))?(?:,|[ ](?:y|e|ed|o|and|or))[ ]){{1,3}}\Z"
)
_OF: Final = frozenset({"de", "di", "of", "del", "della", "dei", "degli"})
_OF_PLACES: Final = frozenset(listed("of_places"))
# After other words than those, a town that names scales is no location: "protocolo de Seattle".
_EPONYMS: Final = frozenset(phrase.lower() for phrase in phrases("eponym_places"))
_NO_PLACE_OF: Final = re.compile(
    rf"(?:{either('eponym_heads', 'town_heads', 'named_after_places')}|.{{0,2}}|[ivx]+[ab]?|.*[0-9].*)\Z"
)
_COMMA: Final = re.compile(rf"(?:(?:\A|[ (]){SMALL_LETTER}{{3,}}|(?<!studio[ ])(?:de|di|of)[ ][{UP}]{LETTER}+),[ ]\Z")
# "Cuzco, Perú": towns stand before regions and countries; a list of trials has towns only.
_AFTER_TOWNS: Final = (Kind.COUNTRY, Kind.STATE, Kind.REGION)
_TOWN_BEFORE: Final = re.compile(rf"(?<!{LETTER})[{UP}]{LETTER}+\.?\)?,[ ]\Z")
_MORE_NAME: Final = re.compile(rf"[ ][{UP}]{SMALL_LETTER}")
# What comes before a place in an address. Institutions have a capital there: "Centro de Salud", but not "41 centros".
_ADDRESS: Final = listed("address_words")
_INSTITUTION: Final = listed("institution_words")
_NEAR_ZIP: Final = re.compile(r"[0-9]{5}[ ,.\-–]{1,3}[^0-9]{0,30}\Z")
# What follows a place at the end of an address, soon: a country, or how to reach somebody.
_CONTACT: Final = re.compile(
    r"(?i)[. ,)]{1,3}(?:\(?espa[ñn]a|\(?spain|\(?usa|[^ \n]{2,40}@|[^\n]{0,24}\b(?:e-?[ ]?mail|correo|c[oó]digo postal|"
    r"cp|tel|tlf|tfno?|fono|tel[eé]fonos?|fax|casilla)\b)"
)
# "moderada", but not "in Boston with" and "a Torino dal fratello".
_NOUN_AFTER: Final = re.compile(
    r"[ ](?!(?:and|y|e|ed|o|or|with|con|for|per|para|on|since|by|who|where|when|while|he|she|they|after|before|until|"
    r"last|this|that|ago|because|but|as|is|was|has|had|in|en|from|to|at|de|di|del|da|dal|desde|por|hace|durante|el|la|il|"
    r"su|quien|que|che|donde|dove|cuando|quando|pero|ma|se|si|ha|hasta|tras|fino|nel|nella|dopo|capital|ciudad|ieri|"
    r"oggi|domani|stamattina|hoy|ayer|mañana|yesterday|today|tomorrow|un|una|due|dos|tres|two|three|area|"
    r"zona)\b|[^ \n]*@)"
    r"[a-zà-ÿ]{2}"
)
_CARE_AFTER: Final = re.compile(
    r"[ ](?:clinic|hospital|office|campus|facility|area|airport|jail|ER|ED|station|native|resident)(?![a-z])"
)
_RESULT_AFTER: Final = re.compile(r"[ ]{1,2}(?:[0-9]{1,3}(?![0-9])|\(?[IVX]{1,4}(?![A-Za-z]))")
# As in "MoCA (Montreal) 22/30".
_SCORE_AFTER: Final = re.compile(r"\)[ ][0-9]{1,3}(?![0-9])")


def located(text: str, start: int, end: int, kind: Kind) -> bool:
    """Whether a preposition, a bracket or a comma makes the name a location."""
    line = _line_before(text, start, 60)
    words = line.lower().split(" ")
    last = words[-2].lstrip("(") if len(words) > 1 and not words[-1] else ""
    if last in _PREPOSITIONS or (last in _ARTICLES and words[-3:-2] and words[-3] in _PREPOSITIONS):
        return True
    if _ZIP.search(line[-8:]):
        return True
    nouned = _NOUN_AFTER.match(text, end) is not None
    if line.endswith(_LINKS) and _SECOND.search(line):
        return not nouned
    if _RESULT_AFTER.match(text, end):
        return False
    if line.endswith("(") or (line.endswith((", ", ". ")) and line.rfind("(") > line.rfind(")")):
        return not _SCORE_AFTER.match(text, end)
    if _MORE_NAME.match(text, end) and not (last in _OF and words[-3:-2] and words[-3] in _OF_PLACES):
        return False
    if line.endswith(", "):
        if kind in _AFTER_TOWNS and _TOWN_BEFORE.search(line[-24:]):
            return not nouned
        return text[end : end + 1] in ("", "\n", ")") or (not nouned and _COMMA.search(line[-24:]) is not None)
    if last in _ARTICLES and line.endswith(f" {last} ") and words[-3:-2] and words[-3] in _OF:
        del words[-2]
        last = words[-2]
    return last in _OF and _of_place(words[-3] if len(words) > 2 else "", text[start:end].lower(), nouned)


def _of_place(head: str, place: str, nouned: bool) -> bool:
    """Whether the word before "de" or "of" belongs to a place: "natural de Praga", but not "cera di Siena"."""
    head = head.lstrip("(").rstrip(".")
    if head in _OF_PLACES:
        return True
    return place not in _EPONYMS and not _NO_PLACE_OF.match(head) and not nouned


def addressed(text: str, start: int, end: int) -> bool:
    """Whether a place name without a preposition stands in an address, in a heading, or before a word of care."""
    if _CARE_AFTER.match(text, end):
        return True
    if _NOUN_AFTER.match(text, end) or _RESULT_AFTER.match(text, end):
        return False
    if _CONTACT.match(text, end):
        return True
    line = _line_before(text, start, 110)
    if len(line) < 2 and text[end : end + 1] in ("", "\n", ","):
        return True
    words = line[-24:].lower().split(" ")
    if len(words) > 2 and words[-2] in _OF and len(words[-3]) > 2:
        return False
    small = line.lower()
    return (
        _NEAR_ZIP.search(line) is not None
        or any(word in small for word in _ADDRESS)
        or any(word in line for word in _INSTITUTION)
    )


def _line_before(text: str, at: int, length: int) -> str:
    """Up to `length` characters before `at` within the line, as written."""
    low = max(0, at - length)
    return text[max(low, text.rfind("\n", low, at) + 1) : at]
