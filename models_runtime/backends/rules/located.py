"""Whether the words around a listed place name make it a location, and not the name of a scale, a trial or a strain."""

import re
from functools import cache
from typing import Final

from models_runtime.backends.rules.gazetteers import RuleKind, any_of, either, listed, phrases, places, word_set
from models_runtime.backends.rules.phrases import APOSTROPHE, LETTER, SMALL_LETTER, UP, window

_PREPOSITIONS: Final = frozenset(listed("place_prepositions"))
_ARTICLES: Final = frozenset({"la", "el", "il", "the", "l", "sud", "nord", "norte", "sur", "los", "las"})
_ZIP: Final = re.compile(r"[0-9]{5}[ ,.\-–]{1,3}\Z")
# The second of two places: "scali a Marsiglia e Palma".
_LINKS: Final = (", ", " y ", " e ", " ed ", " o ", " or ", " and ")
_ITEMS: Final = (
    rf"(?:[{UP}]{LETTER}+(?:[ ][{UP}]{LETTER}+)?(?:[ ]\([^()\n]{{2,20}}\))?(?:,|[ ](?:y|e|ed|o|or|and))[ ]){{1,3}}\Z"
)
_SECOND: Final = re.compile(
    rf"(?:(?<![A-Za-zà-ÿ])(?i:{either('place_prepositions')})(?:[ ]|[{APOSTROPHE}])|[0-9]{{5}}[ ,.\-–]{{1,3}}){_ITEMS}"
)
_OF: Final = frozenset({"de", "di", "of", "del", "della", "dei", "degli", "dell", "d"})
# The words before "of" and a place: "natural de Cuenca", "uomo di Napoli", "studente di Padova".
_OF_PLACES: Final = frozenset(listed("of_places", "persons", "relations", "work_es", "work_it", "work_en"))
# After "of" with another word before it, these towns are not locations, since scales are named after them.
_EPONYMS: Final = frozenset(phrase.lower() for phrase in phrases("eponym_places"))
_NAMED_AFTER: Final = re.compile(rf"(?:{either('eponym_heads', 'town_heads', 'named_after_places')})\Z")
_CODE: Final = re.compile(rf"(?:[{UP}]{{1,3}}|[IVX]+[ABab]?|.*[0-9].*)\Z")
_COMMA: Final = re.compile(rf"(?:(?:\A|[ (]){SMALL_LETTER}{{3,}}|(?<!studio[ ])(?:de|di|of)[ ][{UP}]{LETTER}+),[ ]\Z")
# "Cuzco, Perú": towns stand before regions and countries; a list of trials has towns only.
_AFTER_TOWNS: Final = (RuleKind.COUNTRY, RuleKind.STATE, RuleKind.REGION)
_TOWN_BEFORE: Final = re.compile(rf"(?<!{LETTER})[{UP}]{LETTER}+\.?\)?,[ ]\Z")
_MORE_NAME: Final = re.compile(rf"[ ](?P<word>[{UP}](?:{SMALL_LETTER}+|{LETTER}*+(?![A-Za-z0-9])))(?P<field>[ ]?:)?")
# What comes before a place in an address. Institutions have a capital there: "Centro de Salud", but not "41 centros".
_IN_ADDRESS: Final = listed("address_words")
_INSTITUTION: Final = listed("institution_words")
_NEAR_ZIP: Final = re.compile(r"[0-9]{5}[ ,.\-–]{1,3}[^0-9]{0,30}\Z")
# What follows a place at the end of an address, soon: a country, or how to reach somebody.
_CONTACT: Final = re.compile(f"(?i)[. ,)]{{1,3}}(?:{any_of('located.contact')})")
# "moderada", but not "in Boston with".
_NOUN_AFTER: Final = re.compile(rf"[ ](?!(?:{either('after_places')})\b|[^ \n]*@)[a-zà-ÿ]{{2}}")
_PLACE_TAIL: Final = re.compile(
    rf"[ ](?:{either('place_tails', 'work_es', 'work_it', 'work_en')})(?!{LETTER})|-(?:based|born|area)\b"
    r"|[ ](?:es|è|is|was|era|fue)[ ](?:su|mi|la|il|his|her|their|my)[ ]"
)
# "Boston 8", but not "Kenya 2 weeks ago".
_RESULT_AFTER: Final = re.compile(
    r"[ ]{1,2}(?:[0-9]{1,3}(?![0-9])(?![ ](?:days?|weeks?|months?|years?|d[ií]as?|semanas?|mes(?:es)?|años?|giorn[oi]|"
    r"settiman[ae]|mes[ei]|ann[oi])\b)|\(?[IVX]{1,4}(?![A-Za-z]))"
)
_DATE_AFTER: Final = re.compile(
    rf"(?i),?[ ](?:(?:l[iì]|a|el|il)[ ])?[0-9]{{1,2}}"
    rf"(?:[ ](?:de[ ])?(?:{either('months')})\b|[/.\-][0-9]{{1,2}}[/.\-][0-9])"
)
# As in "MoCA (Montreal) 22/30".
_SCORE_AFTER: Final = re.compile(rf"\)[ ][0-9]{{1,3}}(?![0-9])|,[ ](?:{any_of('located.score_after')})")
# Up to two words between, none of which begins another phrase: "Boston bowel preparation score".
_NAMED_TAIL: Final = re.compile(
    rf"(?:[ ](?:and|y|e|or|o)[ ][{UP}]{LETTER}+)?[ ](?:(?!(?:{either('after_places')})\b){LETTER}+[ ]){{0,2}}?"
    rf"(?i:{either('eponym_tails', 'town_tails', 'named_after_tails')})(?!{LETTER})|[ ]no\b"
)
# A field ("Procedencia: "), a cell of a table, or an item of a list, perhaps with other places before the name.
_JOURNEY: Final = re.compile(rf"(?P<start>{LETTER}+)(?:–|[ ][\-–][ ])\Z")
_HEADING: Final = re.compile(r"[ ]?:[ ]?(?![0-9]|[IVX]+\b)")
# Two words: "Hong Kong", "San Diego". A dash: "Madrid-Barcelona".
_NEXT: Final = re.compile(
    rf"(?P<link>,?[ ]|,?[ ](?:y|e|ed|o|or|and|to)[ ]|[ ]?[\-–/][ ]?)"
    rf"(?P<word>[{UP}]{LETTER}+)(?P<more>[ ][{UP}]{LETTER}+)?"
)
_FIELD: Final = re.compile(rf"(?P<name>{LETTER}+)[ ]?:[ ]+(?:{_ITEMS[:-2]})?\Z")
_CELL: Final = re.compile(r"(?:\A|\n)[ \t]*(?:[\-*•–][ ]+|[^|\n]*\|[ ]*)\Z")
# A name that is a whole sentence, or begins one before a colon, in lists of scales: "Yale. Rochester. Amsel."
_ALONE_BEFORE: Final = re.compile(rf"[.;][ ](?:{_ITEMS[:-2]})?\Z")
_ALONE_AFTER: Final = re.compile(rf"(?:(?:,|[ ](?:y|e|ed|o|or|and))?[ ][{UP}]{LETTER}+)*[.:;?]|[ ]*(?:\n|\Z)")


def located(text: str, start: int, end: int, kind: RuleKind, unambiguous: bool) -> bool:
    """Whether the words around the name make it a location.

    A name that means nothing else is one unless the words around it say otherwise.
    """
    line = _line_before(text, start, 60)
    if _among_places(text, start, end, kind, line):
        return True
    if not unambiguous or _weak(text[start:end].lower(), kind):
        fielded = unambiguous and _in_field(text, start, end, line)
        return fielded and not (_denied_after(text, end) or _more_name(text, end))
    return not (_alone(text, end, kind, line) or _denied_before(line) or _denied_after(text, end))


@cache
def _weak(place: str, kind: RuleKind) -> bool:
    """Whether scales, persons or everyday things have this name too."""
    town = kind is RuleKind.CITY and (
        place in _EPONYMS or place in listed("everyday_names", "eponym_given", "everyday_towns")
    )
    return town or place in word_set("surnames")


def _among_places(text: str, start: int, end: int, kind: RuleKind, line: str) -> bool:
    """Whether a preposition, a bracket or a comma makes the name a location, whatever else it may mean."""
    words = line.split()
    last = words[-1].lower().lstrip("(") if line.endswith(" ") and words else ""
    head = words[-2] if len(words) > 1 else ""
    if line.endswith(" A ") and head.lower() in listed("graded"):  # "Influenza A Hong Kong"
        return False
    if last in _PREPOSITIONS:
        return True
    if last in _ARTICLES and head.lower() in _PREPOSITIONS:  # "in the Cleveland series"
        return _PLACE_TAIL.match(text, end) is not None or not _NAMED_TAIL.match(text, end)
    if _ZIP.search(line[-8:]):
        return True
    nouned = _NOUN_AFTER.match(text, end) is not None
    if line.endswith(_LINKS) and _SECOND.search(line):
        return not nouned
    if _RESULT_AFTER.match(text, end) and not _DATE_AFTER.match(text, end):
        return False
    if line.endswith("(") or (line.endswith((", ", ". ")) and line.rfind("(") > line.rfind(")")):
        return not (_SCORE_AFTER.match(text, end) or _NAMED_TAIL.match(text, end))
    if _more_name(text, end) and not (last in _OF and head.lower() in _OF_PLACES):
        return False
    if line.endswith(", "):
        if last.strip(",") in _OF_PLACES:
            return not nouned
        if kind in _AFTER_TOWNS and _TOWN_BEFORE.search(line):
            return not nouned
        return text[end : end + 1] in ("", "\n", ")") or (not nouned and _COMMA.search(line) is not None)
    if last in _ARTICLES and head.lower() in _OF:
        last, head = head.lower(), words[-3] if len(words) > 2 else ""
    return last in _OF and _of_place(head, text[start:end].lower(), nouned)


def _of_place(head: str, place: str, nouned: bool) -> bool:
    """Whether the word before "de" or "of" belongs to a place: "natural de Praga", but not "cera di Siena"."""
    if head.lower().strip("(.") in _OF_PLACES:
        return True
    return place not in _EPONYMS and not _names_things(head) and not nouned


def _names_things(head: str) -> bool:
    """Whether things of this name are called after places, or it is a code: "protocolo", "C2M4"."""
    word = head.strip("(.,;:")
    return _NAMED_AFTER.match(word.lower()) is not None or _CODE.match(word) is not None


def _alone(text: str, end: int, kind: RuleKind, line: str) -> bool:
    """Whether the name is a sentence of its own or a heading within a line. No scales are called after countries."""
    if kind is RuleKind.COUNTRY and text[end : end + 1] != ":":
        return False
    return _ALONE_BEFORE.search(line) is not None and _ALONE_AFTER.match(text, end) is not None


def _in_field(text: str, start: int, end: int, line: str) -> bool:
    """Whether the name is a field's value, begins a line's item, or has a date, a place or "police" after it."""
    if _DATE_AFTER.match(text, end) or _PLACE_TAIL.match(text, end) or _place_follows(text, end):
        return True
    if (journey := _JOURNEY.search(line)) and journey["start"].lower() in places():
        return True
    if (not start or text[start - 1] == "\n") and _HEADING.match(text, end):
        return True
    if field := _FIELD.search(line):
        return not _NAMED_AFTER.match(field["name"].lower())
    return _CELL.search(text, max(0, start - 60), start) is not None


def _place_follows(text: str, end: int) -> bool:
    """Whether a name of places only comes next, or a state's code: "Chicago and Detroit", "Philadelphia PA"."""
    following = _NEXT.match(text, end)
    if following is None:
        return False
    if following["link"] == " " and _state_code(following["word"]):
        return True
    word, stop = following["word"].lower(), following.end("word")
    if following["more"] and word + following["more"].lower() in places():
        word, stop = word + following["more"].lower(), following.end("more")
    kind, unambiguous = places().get(word, (RuleKind.CITY, False))
    # "Sydney to London" and "Madrid-Barcelona" are journeys, while "Milwaukee y Boston" may be two braces.
    journey = following["link"].strip() in ("-", "–", "to")
    return unambiguous and (journey or not _weak(word, kind)) and not _denied_after(text, stop)


def _state_code(word: str) -> bool:
    return word.isupper() and word.lower() in listed("state_codes")


def _denied_before(line: str) -> bool:
    """Whether the words before an unambiguous name make it part of another name: "Antígeno Australia"."""
    words = line.split()
    if not line.endswith(" ") or not words:
        return False
    last, head = words[-1], words[-2] if len(words) > 1 else ""
    if last.lower() in _ARTICLES and head.lower() in _OF and len(words) > 2:
        last, head = head, words[-3]
    if last.lower() in _OF:
        return head.lower().strip("(.") not in _OF_PLACES and _names_things(head)
    if last.lower() in ("and", "y", "e", "ed", "o", "or"):
        return head[:1].isupper() and head.lower() not in places()
    if last[-1:] in ".,;":
        return False
    if _names_things(last):
        return True
    if last.endswith(":"):
        return False
    opened = len(words) == 1 or head[-1:] in ".;:"
    return last[:1].isupper() and not opened and last.lower() not in _OF_PLACES


def _denied_after(text: str, end: int) -> bool:
    """Whether what follows a name makes it a scale, a food, a strain or a result."""
    if _PLACE_TAIL.match(text, end) or _DATE_AFTER.match(text, end):
        return False
    if _RESULT_AFTER.match(text, end) or _SCORE_AFTER.match(text, end):
        return True
    more = _MORE_NAME.match(text, end)
    # "Minnesota ALG", "Newcastle Ottawa 7"
    if more is not None and not more["field"] and _result_like(text, more):
        return True
    return _NAMED_TAIL.match(text, end) is not None or _compound(text, end)


def _result_like(text: str, more: re.Match[str]) -> bool:
    """Whether an abbreviation other than a state's follows a name, or a word with a result after it."""
    word = more["word"]
    return (word.isupper() and word.lower() not in places() and not _state_code(word)) or _result(text, more.end())


def _compound(text: str, end: int) -> bool:
    """Whether the name is the first part of one with a dash: "Newcastle-Ottawa 7", but not "Madrid-Barcelona"."""
    if text[end : end + 1] not in ("-", "–", "/") or not text[end + 1 : end + 2].isalpha():
        return False
    following = _NEXT.match(text, end)
    return following is None or following["word"].lower() not in places() or _result(text, following.end("word"))


def _more_name(text: str, end: int) -> bool:
    """Whether another capitalized word follows that is neither a place nor the name of the next field."""
    more = _MORE_NAME.match(text, end)
    if more is None or more["field"] or _state_code(more["word"]):
        return False
    return more["word"].lower() not in places() or _result(text, more.end())


def _result(text: str, end: int) -> bool:
    return _RESULT_AFTER.match(text, end) is not None


def addressed(text: str, start: int, end: int) -> bool:
    """Whether a place name without a preposition stands in an address, in a heading, or before a word of care."""
    if _PLACE_TAIL.match(text, end):
        return True
    if _NOUN_AFTER.match(text, end) or _RESULT_AFTER.match(text, end):
        return False
    if _CONTACT.match(text, end):
        return True
    line = _line_before(text, start, 110)
    if (not start or text[start - 1] == "\n") and text[end : end + 1] in ("", "\n", ","):
        return True
    words = line[-24:].lower().split(" ")
    if len(words) > 2 and words[-2] in _OF and len(words[-3]) > 2:
        return False
    small = line.lower()
    return (
        _NEAR_ZIP.search(line) is not None
        or any(word in small for word in _IN_ADDRESS)
        or any(word in line for word in _INSTITUTION)
    )


_BREAK: Final = re.compile(r"[ \t]*\n[ \t]*")
_BLANKS: Final = re.compile(r"[ \t\xa0]+")


def _line_before(text: str, at: int, length: int) -> str:
    """Up to `length` characters before `at` within the paragraph, as written, with one blank for white space.

    An elided word before the name loses its apostrophe: "dall'India" is read like "da India".
    """
    _, _, piece = window(text, at, length).rpartition("\n\n")
    if "\n" in piece or "  " in piece or "\t" in piece or "\xa0" in piece:
        piece = _BLANKS.sub(" ", _BREAK.sub(" ", piece))
    return f"{piece[:-1]} " if piece[-1:] in APOSTROPHE and piece else piece
