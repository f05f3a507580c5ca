"""Streets with number, floor and door, and the town after a street."""

import re
from collections.abc import Iterator
from typing import Final

from models_runtime.backends.rules.gazetteers import RuleKind, any_of, either, listed, word_set
from models_runtime.backends.rules.phrases import APOSTROPHE, LETTER, TOWN, UP, cut_town
from models_runtime.backends.rules.rule import DIGITS, Finder, Found, Rule, strong, words

_CAP: Final = rf"[{UP}]{LETTER}*+(?:[{APOSTROPHE}\-·]{LETTER}++)*+"
_STEP: Final = re.compile(
    rf"[ \xa0]{{0,2}}(?:(?i:{either('street_links')})(?:[ \xa0]|[{APOSTROPHE}][ ]?)){{0,4}}+[\"“]?"
    rf"(?P<word>(?:{_CAP}|[0-9]{{1,2}}(?=[ ]de[ ][{UP}{UP.lower()}]))[\"”]?(?P<dot>\.?))"
)
_NUMBER: Final = re.compile(
    r"[ \xa0]?[,.\-–]?[ \xa0]{0,2}(?:(?:n[ ]?[ºo°]?\.?|nº|#|núm\.?|num\.?|numero|número|no\.?|civ\.?)[ ]?)?"
    r"(?:[0-9]{1,4}(?:[ ]?[\-–/y][ ]?[0-9]{1,4}(?![0-9]|[ ]?\.?[ºª°]))?+(?![0-9]|[.,][0-9]{3})(?:[ ]?bis|[ ]?ter|"
    r"/?[A-Za-z](?![A-Za-zà-ÿ./:]))?|s[/. ]?n[.º°]?(?![a-z])|(?:km|kil[oó]metro)\.?[ ]?[0-9]{1,4}(?:[.,][0-9]{1,3})?)",
    re.IGNORECASE,
)
_SIDE: Final = r"dcha|dch|derecha|izq|izda|iz|izquierda"
_DETAIL: Final = re.compile(
    r"[ \xa0]?[,.;\-–]?[ \xa0]{0,2}(?:"
    # 2º dcha, 4.º E, 1.o F
    rf"[0-9]{{1,2}}[ ]?(?:\.?[ºª°o]|\.a|er)\.?(?:[ ,\-]{{0,3}}(?:{_SIDE}|[A-Z](?![A-Za-zà-ÿ/]|-[0-9]{{4}})|"
    rf"[0-9]{{1,2}}[ºª°]))?\.?(?![A-Za-zà-ÿ])"
    # Floors, blocks and staircases: piso 3, bloque 2, esc. A
    rf"|(?:{any_of('streets.parts')})\.?[ ]?(?:[0-9]{{1,4}}[ºª°]?|[A-Z](?![a-z]))[A-Z]?(?![A-Za-zà-ÿ])"
    rf"|(?:bajo|ático|atico|entlo|entresuelo|principal|ppal|{_SIDE}|km\.?[ ]?[0-9]{{1,4}}(?:[.,][0-9]{{1,3}})?|"
    rf"s/n)\.?(?![a-zà-ÿ])"
    # 23, 5 B
    r"|(?<=[,.\- ])[0-9]{1,3}(?:[ ]?[\-,][ ]?[0-9]{1,2})?[ ]?[A-Ha-h]?(?![0-9A-Za-zà-ÿº°/:%]|[.,][0-9])|"
    r"(?<=[,\- 0-9])(?:[A-L](?![A-Za-zà-ÿ/0-9]|[ ]?-[ ]?[0-9]{4,5}|\.[A-Z])|P[0-9](?![0-9])))",
    re.IGNORECASE,
)


def read_street(text: str, at: int) -> tuple[int, bool]:
    """The end of the street whose type ends at `at`, and whether it has a number; `at` if no name follows."""
    end = at
    for _ in range(7):
        step = _STEP.match(text, end)
        if step is None or (end > at and not text[end : end + 1].isspace() and text[end - 1] != "."):
            break
        word = step["word"].rstrip('."”').lower()
        if word in _STOPS:
            break
        if step["dot"] and (word in listed("street_short") or len(word) == 1):
            end = step.end()
            continue
        end = step.end() - len(step["dot"])
        if step["dot"]:
            break
    number = _NUMBER.match(text, end) if end > at else None
    if number is None:
        return end, False
    end = number.end()
    for _ in range(4):
        detail = _DETAIL.match(text, end)
        if detail is None or detail.end() == end:
            break
        end = detail.end()
    return end, True


_STOPS: Final = word_set("not_names") - frozenset(listed("street_words", "street_short"))
_TOWN_AFTER: Final = re.compile(rf"[ ]?[,\-–][ ]{{1,2}}(?P<town>{TOWN})(?=[ ]*(?:[,.;(\n]|\Z)|[ ](?:il|el|e|y|con)\b)")


def _with_town(text: str, start: int, stop: int) -> Iterator[Found]:
    yield start, stop, RuleKind.STREET
    if (town := _TOWN_AFTER.match(text, stop)) and cut_town(town["town"]) == town["town"]:
        yield town.start("town"), town.end("town"), RuleKind.CITY


# "Polígono de Willis" is an artery, "Camino de Santiago" a pilgrimage.
_NO_STREETS: Final = ("de Willis", "de Santiago")


def _typed(*, number: bool) -> Finder:
    """A street type and a name. `number`: a number must follow, because the type is also a common word."""

    def find(text: str, start: int, end: int) -> Iterator[Found]:
        if text[start:end] == "AV":  # In a note, AV is short for visual acuity.
            return
        dot = _DOT.match(text, end)
        at = dot.end() if dot else end
        stop, numbered = read_street(text, at)
        if stop > at and numbered:
            yield from _with_town(text, start, stop)
        elif stop > at and text[start].isupper() and not number and text[at:stop] not in _NO_STREETS:
            yield start, stop, RuleKind.STREET
        elif not number and (small := _SMALL_NAME.match(text, at)):
            yield start, small.end(), RuleKind.STREET

    return find


# "calle embajadores, 23": a name in lower case counts if a number follows.
_SMALL_NAME: Final = re.compile(
    r"(?:(?:de|del|la|los|las)[ ]){0,2}(?!desde|hace|por|con|sin|durante|"
    r"cuando)[a-zà-ÿ]{3,15}(?:[ ][a-zà-ÿ]{3,15}){0,2},?[ ](?:nº[ ]?)?[0-9]{1,3}(?![0-9]|[.,/][0-9]|[ ]?(?:mg|ml|cm|mm|"
    r"kg|años|días|meses|semanas|horas|veces|%))(?:,[ ][0-9]{1,2}[ºª]?(?:[ ][A-Z](?![a-z]))?)?"
)
_DOT: Final = re.compile(r"\.?[ ]?")
_SLASH: Final = re.compile(r"(?i)(?<![a-z0-9])c[ ]?[/\\]\.?[ ]?")
_SHORT_ITALIAN: Final = re.compile(r"(?<![A-Za-z])(?:[Pp]\.(?:za|zza|le)|[Vv]\.le|[Cc]\.so|[Ll]\.go)[ ]")


def _abbreviated(abbreviation: re.Pattern[str]) -> Finder:
    """`C/ Mayor 3` and `c/ Mayor`. A name must follow, so that `5 mg c/8h` and `c/o` don't match."""

    def find(text: str, start: int, end: int) -> Iterator[Found]:
        if match := abbreviation.match(text, start):
            stop, numbered = read_street(text, match.end())
            if numbered:
                yield from _with_town(text, start, stop)
            elif stop > match.end():
                yield start, stop, RuleKind.STREET

    return find


_ENGLISH: Final = re.compile(
    r"(?<![0-9.,/\-])[0-9]{1,5}[A-Z]?[ ](?:[NSEW]\.?[ ]|North[ ]|South[ ]|East[ ]|West[ ])?"
    rf"(?:[{UP}0-9][A-Za-z0-9.'’\-]{{0,20}}[ ]){{1,3}}"
    rf"(?:(?:{either('street_types_short')})\b\.?|(?:{either('street_types_en')})\b)"
    r"(?:,?[ ](?:Apt|Apartment|Suite|Ste|Unit|Flat|Floor|Fl|Room|Rm|#)\.?[ ]?[0-9A-Z]{1,5}\b)?"
)


def _english(text: str, start: int, end: int) -> Iterator[Found]:
    if match := _ENGLISH.match(text, start):
        yield from _with_town(text, match.start(), match.end())


_COLON: Final = re.compile(r"(?: \(?[a-zà-ÿ]{2,12}\)?)?[ ]?:[ \t]{0,6}")
_FIELD_STOP: Final = re.compile(any_of("streets.field_stop"))
_TYPE: Final = re.compile(
    rf"(?i)(?:c[ ]?[/\\]\.?|(?:{either('street_types_es', 'street_types_it')})\b\.?|p\.za|v\.le|c\.so|p\.le)[ ]{{0,2}}"
)
_LONGEST_FIELD: Final = 120


def _field(text: str, start: int, end: int) -> Iterator[Found]:
    """The value of an address field: the street if its end is clear, otherwise the whole line."""
    colon = _COLON.match(text, end)
    if colon is None:
        return
    at = colon.end()
    cut = _FIELD_STOP.search(text, at, at + _LONGEST_FIELD)
    stop = cut.start() if cut else min(len(text), at + _LONGEST_FIELD)
    while stop > at and text[stop - 1] in " .,;-–\t":
        stop -= 1
    if kind := _TYPE.match(text, at) or _NUMBERED.match(text, at):
        street, numbered = read_street(text, kind.end())
        if numbered and street < stop and _TOWN_AFTER.match(text, street):
            yield from _with_town(text, at, street)
            return
        if numbered and street < stop and re.match(rf"[ ]?[,(][ ]?[{UP}]", text[street : street + 4]):
            stop = street
    if stop > at and text[start].isupper():
        yield at, stop, RuleKind.STREET


_NUMBERED: Final = re.compile(r"(?=[0-9])")
_UNTYPED: Final = re.compile(
    rf"(?P<street>(?:{_CAP}\.?[ ](?:(?:de|del|la|los|las|y|i)[ ]){{0,2}}){{0,4}}{_CAP}"
    r"(?:,?[ ](?:n[ºo°.]{1,2}[ ]?)?[0-9]{1,3}(?:[\-/][0-9]{1,3})?(?:[, ]{1,2}[0-9]{1,2}[ºª°]?[ ]?[A-H]?)?|,?[ ]s/n))"
    r"[ .,\-–]{1,4}(?:E-|C\.?P\.?[ :]{0,2})?\Z"
)
_AFTER_ZIP: Final = re.compile(rf"[0-9]{{5}}(?![0-9])[ .,\-–(]{{1,3}}[{UP}]{LETTER}")
_LAST_NUMBER: Final = re.compile(
    r"(?<=[A-Za-zà-ÿ,] )(?P<number>[0-9]{1,3}(?:-[0-9]{1,3})?|s/n)[ .,\-–]{1,4}(?:E-)?(?=[0-9]{5})"
)
_CAPITAL: Final = re.compile(rf"(?<![\w.])[{UP}]")


def _before_zip(text: str, start: int, end: int) -> Iterator[Found]:
    """A street without a type, right before a postal code: "Cartagena, 340-350 - 08025 Barcelona"."""
    if not _AFTER_ZIP.match(text, start):
        return
    low = max(0, start - 90)
    line = max(text.rfind("\n", low, start), text.rfind(": ", low, start)) + 1
    sentence = text.rfind(". ", low, max(low, start - 4)) + 1
    for match in _CAPITAL.finditer(text, max(line, sentence, low), start):
        found = _UNTYPED.match(text, match.start(), start)
        if found is not None and not {word.strip(".,").lower() for word in found["street"].split()} & _STOPS:
            yield *found.span("street"), RuleKind.STREET
            return


def _number_before_zip(text: str, start: int, end: int) -> Iterator[Found]:
    """A house number right before a postal code, if the street's name became part of a hospital's name."""
    found = _LAST_NUMBER.search(text, max(0, start - 24), end) if _AFTER_ZIP.match(text, start) else None
    if found is not None and found.end() == start:
        yield *found.span("number"), RuleKind.STREET


RULES: Final = (
    strong("street.field", _field, 80),
    strong("street.c", _abbreviated(_SLASH), 79, words("c")),
    strong("street.it.short", _abbreviated(_SHORT_ITALIAN), 79),
    strong("street.es", _typed(number=False), 79, listed("street_types_es")),
    strong("street.it", _typed(number=True), 79, listed("street_types_it")),
    strong("street.en", _english, 79, DIGITS[1:6]),
    Rule("street.number", _number_before_zip, 29, (DIGITS[5],)),
    Rule("street.untyped", _before_zip, 52, (DIGITS[5],)),
)
