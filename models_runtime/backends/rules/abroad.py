"""Names, addresses and dates by their shape, in texts whose language the rules don't know: `Mme Durand`, `12 mars`."""

import re
from collections.abc import Iterator
from typing import Final

from models_runtime.backends.rules.dates import YEAR
from models_runtime.backends.rules.gazetteers import RuleKind, any_of, either, listed, word_set
from models_runtime.backends.rules.phrases import LETTER, TOWN, UP, read_name
from models_runtime.backends.rules.rule import DIGITS, Found, strong

_STAFF: Final = frozenset(listed("abroad_staff"))
_MORE_TITLES: Final = rf"(?:(?i:{either('abroad_titles', 'abroad_staff')}|med|dent|nat|rer|dipl)\.?\s{{1,2}}){{0,3}}+"
_TITLE_GAP: Final = re.compile(rf"(?P<dot>\.?)\s{{1,2}}{_MORE_TITLES}(?=[{UP}]|(?:{any_of('abroad.title_gap')})\s?)")
_FIELD_GAP: Final = re.compile(rf"(?:[ ][^\s:]{{1,12}}){{0,3}}[ \xa0]?:\s{{1,4}}{_MORE_TITLES}(?=[{UP}])")


def _titled(text: str, start: int, end: int) -> Iterator[Found]:
    """`Mme Durand`, `Dr. med. Hans Weber`. "M. Crohn" is a disease in German."""
    gap, title = _TITLE_GAP.match(text, end), text[start:end]
    if gap is None or (len(title) == 1 and not (title.isupper() and gap["dot"])):
        return
    stop = read_name(text, gap.end(), announced=True)
    if stop > gap.end() and not (len(title) == 1 and text[gap.end() : stop].lower() in word_set("eponyms")):
        yield gap.end(), stop, RuleKind.STAFF if title.lower() in _STAFF else RuleKind.PERSON


def _field(text: str, start: int, end: int) -> Iterator[Found]:
    """`Nom : DURAND`, `Name des Patienten: Weber, Hans`."""
    gap = _FIELD_GAP.match(text, end)
    if gap is not None and (stop := read_name(text, gap.end(), comma=True, announced=True)) > gap.end():
        yield gap.end(), stop, RuleKind.PERSON


_LINKS: Final = r"(?:(?:de|du|des|la|le|les|da|das|do|dos|del|dels|st\.?|ste\.?)\s|[ld]['’]){0,3}+"
_NUMBER: Final = rf"[0-9]{{1,4}}(?:\s?(?:bis|ter|[A-Za-z]))?(?!{LETTER}|[0-9])"
_NUMBER_BEFORE: Final = re.compile(rf"(?<![\w.,/\-]){_NUMBER},?\s\Z")
_STREET_NAME: Final = re.compile(
    rf"\.?\s{_LINKS}(?:[0-9]{{1,2}}\s|[{UP}]{LETTER}{{0,2}}\.\s)?[{UP}]{LETTER}*(?:[\s\-]{_LINKS}[{UP}]{LETTER}*){{0,4}}"
    rf"(?:,?\s(?:n[º°.]{{0,2}}\s?)?{_NUMBER})?"
)


def _street(text: str, start: int, end: int) -> Iterator[Found]:
    """`12 bis, rue de la République`, `Rua das Flores, 12`."""
    if name := _STREET_NAME.match(text, end):
        number = _NUMBER_BEFORE.search(text, max(0, start - 14), start)
        yield number.start() if number else start, name.end(), RuleKind.STREET


_CAPITALIZED: Final = rf"(?:[{UP}]{LETTER}*[ \-])"
_ENDING: Final = re.compile(
    rf"(?<![\w\-])(?:{_CAPITALIZED}{{1,2}}|{_CAPITALIZED}{{0,2}}[{UP}]{LETTER}{{1,24}}?)"
    rf"(?i:{either('abroad_street_ends')})[ ]\Z"
)
_HOUSE: Final = re.compile(_NUMBER)


def _ending(text: str, start: int, end: int) -> Iterator[Found]:
    """`Hauptstraße 5a`, `Berliner Str. 12`. The trigger is the number."""
    street, house = _ENDING.search(text, max(0, start - 48), start), _HOUSE.match(text, start)
    if street is not None and house is not None:
        yield street.start(), house.end(), RuleKind.STREET


_ZIP_BEFORE: Final = re.compile(r"(?:(?P<country>(?<![\w\-])[A-Z]{1,2}-)|(?:\A|[,;(\n]|[0-9][a-z]?)[ ]?)\Z")
_ZIP: Final = re.compile(rf"(?P<zip>[0-9]{{4,5}}(?:-[0-9]{{3}}|\s?[A-Z]{{2}})?)\s(?P<town>{TOWN})")
_LIKE_YEAR: Final = re.compile(r"(?:19|20)[0-9]{2}\Z")


def _zip(text: str, start: int, end: int) -> Iterator[Found]:
    """`, 75011 Paris`, `D-10115 Berlin`, `1012 AB Amsterdam`, at the start of a line or after what ends a street."""
    before, found = _ZIP_BEFORE.search(text[max(0, start - 4) : start]), _ZIP.match(text, start)
    if before is not None and found is not None and (before["country"] or not _LIKE_YEAR.match(found["zip"])):
        yield *found.span("zip"), RuleKind.ZIP
        yield *found.span("town"), RuleKind.CITY


_DAY_BEFORE: Final = re.compile(r"(?<![\w.,/\-])[0-9]{1,2}(?:\.|er|e|º|ª)?\s(?:de\s)?\Z")
_YEAR_AFTER: Final = re.compile(rf",?\s(?:del?\s)?{YEAR}(?![0-9]|[.,][0-9])")


def _dated(text: str, start: int, end: int) -> Iterator[Found]:
    """`le 12 mars 2019`, `am 3. März`. The trigger is the month."""
    day, year = _DAY_BEFORE.search(text, max(0, start - 9), start), _YEAR_AFTER.match(text, end)
    if day is not None:
        yield day.start(), year.end() if year else end, RuleKind.DATE


RULES: Final = (
    strong("abroad.date", _dated, 74),
    strong("abroad.title", _titled, 70, listed("abroad_titles", "abroad_staff")),
    strong("abroad.field", _field, 71),
    strong("abroad.street", _street, 72),
    strong("abroad.ending", _ending, 72, DIGITS[1:5]),
    strong("abroad.zip", _zip, 60, DIGITS[4:6]),
)
