"""Towns, regions, states, countries and postal codes: by word lists, by fields, and next to postal codes."""

import re
from collections.abc import Iterator
from functools import cache
from typing import Final

from models_runtime.backends.rules.bare import GIVEN
from models_runtime.backends.rules.gazetteers import alternatives, any_of, either, is_month, listed, places, word_set
from models_runtime.backends.rules.located import addressed, located
from models_runtime.backends.rules.phrases import GIVEN_OR_SURNAMES, LETTER, TOWN, UP, before, cut_town, is_service
from models_runtime.backends.rules.rule import DIGITS, Finder, Found, Rule, RuleKind, strong, words
from models_runtime.backends.rules.running import FIELD_OF_WORK

_FIRST: Final = re.compile(rf"{LETTER}+")
_CAPITALS: Final = frozenset({"usa", "uk", "u.s.a.", "u.k.", "ee. uu.", "ee.uu.", "eeuu", "e.e.u.u."})


@cache
def by_first_word() -> dict[str, tuple[str, ...]]:
    """The lower-cased place names by their first word, longer names first."""
    found: dict[str, list[str]] = {}
    for phrase in places():
        if first := _FIRST.match(phrase):
            found.setdefault(first[0], []).append(phrase)
    return {first: tuple(sorted(phrases, key=len, reverse=True)) for first, phrases in found.items()}


def _listed(text: str, start: int, end: int) -> Iterator[Found]:
    """A listed place name with a capital letter, where the words around it make it a location."""
    if not text[start].isupper() or (start and text[start - 1] in "-_@./"):
        return
    for phrase in by_first_word()[text[start:end].lower()]:
        stop = start + len(phrase)
        piece, beyond = text[start:stop], text[stop : stop + 1]
        if piece.lower() != phrase or beyond.isalnum() or beyond in ("@", "_"):
            continue
        kind, unambiguous = places()[phrase]
        if phrase in _CAPITALS and not piece.isupper():
            return
        accepted = located(text, start, stop, kind, unambiguous)
        # An ambiguous name needs a comma before it in an address: "Hospital Regional, Concepción. Chile".
        if not accepted and (unambiguous or text[start - 2 : start] == ", "):
            accepted = addressed(text, start, stop)
        accepted = accepted and (unambiguous or not piece.isupper())
        if accepted:
            yield start, stop, kind
        return


_ZIP_TOWN: Final = re.compile(
    rf"(?<![0-9.,])(?:(?<=E-)|(?<![A-Za-z]-))(?P<zip>[0-9]{{5}})(?![0-9%]|[.,][0-9])"
    rf"(?:[ ]?[,.\-–)]{{0,2}}[ ]{{0,2}}(?P<town>{TOWN}))?"
)
_BRACKETED: Final = re.compile(rf"[ ]?[,.]?[ ]?\([ ]?(?P<town>{TOWN})[ ]?\)")
_ZIP_FIELD: Final = re.compile(r"(?:\bcp|c\.p\.?|c[oó]digo postal|\bcap|zip(?: code)?)[ :.]{0,3}\Z")
_INSTITUTION: Final = alternatives(word.lower() for word in listed("institution_words"))
_ADDRESSED: Final = re.compile(
    rf"(?:{_INSTITUTION}|{either('address_words')}|c\.?p\.?[ :]|camino|residente|"
    r"[0-9][ ]?[,.\-–]{0,2}[ ]*(?:e-)?\Z|\bno?[.º°]{0,2}[ ]?[0-9]|\be-\Z|[a-z],[ ]\Z)"
)


def _zip_town(text: str, start: int, end: int) -> Iterator[Found]:
    """A postal code in an address, the town after it, and the region in brackets after the town."""
    match = _ZIP_TOWN.match(text, start)
    if match is None or int(match["zip"][:2]) > 98:
        return
    behind = before(text, start, 110)
    fielded = _ZIP_FIELD.search(behind)
    town = cut_town(match["town"] or "")
    bracketed = behind.endswith("(") and text[match.end("zip") : match.end("zip") + 1] == ")"
    sentence = text[match.end("zip") : match.end("zip") + 1] == "."
    unit = len(town) < 4 and town.isupper()
    known = town.lower() in places()
    is_addressed = town and (known or (not sentence and not unit and _ADDRESSED.search(behind)))
    if not (fielded or bracketed or is_addressed):
        return
    yield match.start("zip"), match.end("zip"), RuleKind.ZIP
    if town and text[match.end("zip")] in " ,-.–":
        at = match.start("town") + len(town)
        yield match.start("town"), at, RuleKind.CITY
        if (more := _BRACKETED.match(text, at)) and cut_town(more["town"]) == more["town"]:
            yield more.start("town"), more.end("town"), RuleKind.REGION


_FIELD_GAP: Final = re.compile(rf"[ ]?(?:{any_of('places.field_gap')})?[ ]?:[ \t]{{0,6}}", re.IGNORECASE)
_VALUE: Final = re.compile(rf"[{UP}]{LETTER}*+(?:[ .'’´`\-]{{1,2}}(?:{LETTER}++|\([^()\n]{{1,30}}\))){{0,7}}+")
_NEXT_FIELD: Final = re.compile(r"[ ]{2}|[ ](?:CP|C\.P|NHC|Edad|Tel|Sexo|Fecha|Teléfono)\b")


def _field(kind: RuleKind) -> Finder:
    """The value of a field for a place name, up to the next field."""

    def find(text: str, start: int, end: int) -> Iterator[Found]:
        gap = _FIELD_GAP.match(text, end)
        value = _VALUE.match(text, gap.end()) if gap else None
        if value is not None:
            cut = _NEXT_FIELD.search(text, value.start(), value.end())
            yield value.start(), cut.start() if cut else value.end(), kind

    return find


_LONGEST_CODE: Final = 5
_PERSONS: Final = GIVEN | GIVEN_OR_SURNAMES
_CALL: Final = re.compile(rf"\b(?:{any_of('places.call')})[ ]\Z")
_FROM: Final = re.compile(f"(?i:{any_of('places.from')})[ ](?P<town>{TOWN})")


def _from(text: str, start: int, end: int) -> Iterator[Found]:
    """`natural de Cuenca`, `nato a Nuoro`, `lives in Erie`. After `from`, the town must be listed or end the phrase."""
    match = _FROM.match(text, start)
    town = cut_town(match["town"]) if match else ""
    listed_town = town.lower() in places()
    if match is None or len(town) < 4 or (not listed_town and is_month(town.split(" ")[0])):
        return
    at = match.start("town")
    if text[start:end].lower() == "from" and not listed_town:
        if town.isupper() and text[start].islower() and len(town) <= _LONGEST_CODE:
            return  # "cirrhosis from MASH"
        if " " not in town and _CALL.search(before(text, start, 24)):
            if town.lower() in _PERSONS:  # "phone call from Travis"
                yield at, at + len(town), RuleKind.PERSON
                return
            if is_service(town) or FIELD_OF_WORK.match(town.lower()):  # "call from Pharmacy"
                return
        if text[at + len(town) : at + len(town) + 1] not in ",.\n":
            return
    yield at, at + len(town), places().get(town.lower(), (RuleKind.CITY, True))[0]
    more = _BRACKETED.match(text, at + len(town))
    if more and cut_town(more["town"]) == more["town"]:  # "procedente de Marruecos (Nador)"
        yield *more.span("town"), places().get(more["town"].lower(), (RuleKind.CITY, True))[0]


_BORN: Final = re.compile(
    r"(?:nat[oa] (?:il|in data)|nacid[oa] el|born (?:on )?)[ ]?"
    r"(?P<day>[0-9]{1,4}[./\-][0-9]{1,2}[./\-][0-9]{2,4}|[0-9]{1,2}(?: de| °)? [a-z]{3,10}(?: de| del)? [0-9]{4})"
    rf",? (?:a|ad|in|en) (?P<town>{TOWN})",
    re.IGNORECASE,
)


def _born(text: str, start: int, end: int) -> Iterator[Found]:
    """`nato il 12/03/1950 a Borgonovo`."""
    match = _BORN.match(text, start)
    town = cut_town(match["town"]) if match and match["town"][0].isupper() else ""
    if match and len(town) > 2 and not is_month(town.split(" ")[0]):
        yield match.start("town"), match.start("town") + len(town), RuleKind.CITY


# Codes that are also words, degrees or wards.
_COMMON_CODES: Final = words("md mi ma pa or in me hi ok la de co al id ca ct mt ms")
_STATE: Final = re.compile(r"(?P<state>[A-Z]{2})(?![A-Za-z0-9])(?:[ ]{1,2}(?P<zip>[0-9]{5}(?:-[0-9]{4})?)(?![0-9]))?")
_CITY_BEFORE: Final = re.compile(r"(?P<city>(?:(?:St\.|[A-Z][A-Za-z'’\-]+)[ ]){0,2}[A-Z][A-Za-z'’\-]+),[ ]\Z")


def _town_before(text: str, start: int) -> tuple[int, str] | None:
    """Start and text of the town that, with a comma, comes right before `start`."""
    city = _CITY_BEFORE.search(text, max(0, start - 48), start)
    if city is None or cut_town(city["city"]) != city["city"]:
        return None
    return city.start("city"), city["city"]


def _city_state(text: str, start: int, end: int) -> Iterator[Found]:
    """`Dunmore, OH 44107-2210`. The state's code counts only after a town and a comma."""
    match, town = _STATE.match(text, start), _town_before(text, start)
    if match is None or town is None:
        return
    if match["state"].lower() in _COMMON_CODES and not match["zip"] and town[1].lower() not in places():
        return
    yield town[0], town[0] + len(town[1]), RuleKind.CITY
    yield match.start("state"), match.end("state"), RuleKind.STATE
    if match["zip"]:
        yield match.start("zip"), match.end("zip"), RuleKind.ZIP


def _city_region(text: str, start: int, end: int) -> Iterator[Found]:
    """The town before the name of a state or region: `Nájera, La Rioja`, `East Harbor, Maine`."""
    if text[start - 2 : start] != ", ":
        return
    if any(kind in (RuleKind.STATE, RuleKind.REGION) for _, _, kind in _listed(text, start, end)):
        town = _town_before(text, start)
        if town is not None and text[max(0, town[0] - 2) : town[0]] not in ("y ", "e "):
            yield town[0], town[0] + len(town[1]), RuleKind.CITY


_CLOSED: Final = re.compile(r"\)(?:[.,;\n]|\Z)")
_LINE_TOWN: Final = re.compile(rf"(?:\A|\n)(?P<town>{TOWN})[ ]\(\Z")


def _line_town(text: str, start: int, end: int) -> Iterator[Found]:
    """The town that begins a line before a place in brackets: `Bembibre (León), natural de Oviedo`."""
    line = _LINE_TOWN.search(text, max(0, start - 40), start) if _CLOSED.match(text, end) else None
    if line and _may_be_town(line["town"]) and cut_town(line["town"]) == line["town"] and not is_service(line["town"]):
        yield *line.span("town"), RuleKind.CITY


_TOWN_BRACKET: Final = re.compile(
    rf"(?:[{UP}]{LETTER}+(?:[ ](?:di|del|della|sul|in|d['’]))?[ ]){{0,2}}[{UP}]{LETTER}+(?=[ ]\(\Z)"
)


# Words before a town that need not be listed.
_OF_TOWN: Final = re.compile(rf"(?:{any_of('places.of_town')})[ ]\Z")


def _starts(town: str) -> list[int]:
    """The starts of the words of a town."""
    return [0, *(at + 1 for at, letter in enumerate(town) if letter == " ")]


def _province(text: str, start: int, end: int) -> Iterator[Found]:
    """An Italian town and its province in brackets: `Conegliano (TV)`."""
    if not text[start:end].isupper() or text[start - 1 : start] != "(" or text[end : end + 1] != ")":
        return
    town = _TOWN_BRACKET.search(text, max(0, start - 40), start)
    if town is None or town[0].isupper():
        return
    known = next((at for at in _starts(town[0]) if town[0][at:].lower() in places()), None)
    if known is None and not _OF_TOWN.search(before(text, town.start(), 60)):
        return
    yield start, end, RuleKind.CITY
    yield town.start() + (known or 0), town.end(), RuleKind.CITY


_BRITISH: Final = re.compile(r"(?<![A-Za-z0-9])[A-Z]{1,2}[0-9][0-9A-Z]?[ ][0-9][ABD-HJLNP-UW-Z]{2}(?![A-Za-z0-9])")


def _british_code(text: str, start: int, end: int) -> Iterator[Found]:
    """A British postal code, such as `SL7 9QX`. The trigger is its first digit."""
    for back in (1, 2):
        match = _BRITISH.match(text, start - back) if start >= back else None
        if match is not None:
            yield match.start(), match.end(), RuleKind.ZIP


# Towns, listed or not, after what somebody does there: lives, was born, works, comes from, spends the summer.


_NEXT: Final = re.compile(rf"[ ](?:(?:la|las|los|el|the|l['’])[ ]?(?=[{UP}]))?(?P<town>{TOWN})(?P<end>[ ][a-zà-ÿ]+|)")
_WORDS: Final = r"(?:[ ](?!(?:y|e|and|but|pero|ma)[ ])[a-zà-ÿ0-9]+){0,3}"
_STAYS: Final = re.compile(rf"(?<!{LETTER})(?:{either('stay_stems')})[a-zà-ÿ]{{0,8}}{_WORDS}[ ]\Z", re.IGNORECASE)
# The English "a" is not a preposition.
_STAYS_EN: Final = re.compile(rf"(?<!{LETTER})(?:{either('stay_stems_en')})[a-z]{{0,8}}{_WORDS}[ ]\Z", re.IGNORECASE)
_WHENCE: Final = re.compile(rf"(?<!{LETTER})(?:{either('origin_stems')})[a-zà-ÿ]{{0,8}}[ ]\Z", re.IGNORECASE)
_NEAR: Final = re.compile(rf"(?<!{LETTER})(?:{either('near_towns')})[ ]\Z", re.IGNORECASE)
_IS: Final = re.compile(r"(?<![a-zà-ÿ])(?:es|è|is|was|era|son|are|sono|originally)[ ]\Z", re.IGNORECASE)
_NO_TOWNS: Final = word_set("not_names").union(
    word_set("drugs"),
    ("sept",),
    listed("months", "months_short", "weekdays", "weekdays_en", "work_es", "work_it", "work_en", "no_towns"),
)
_LINK: Final = re.compile(r"[ ](?:y|e|i)[ ]")
_NAMED_AFTER: Final = re.compile(rf"[ ](?:{either('eponym_tails', 'town_tails', 'named_after_tails')})(?!{LETTER})")
# "Malattie Infettive", "Atención Primaria", "Neuropediatría"
_FIELD_OF_WORK: Final = re.compile(rf"\w+(?:{any_of('places.field_of_work')})\Z")
_OF: Final = frozenset({"de", "del", "di", "dal", "dalla", "dall", "da", "from", "desde"})
_FROM_WORDS: Final = frozenset({"from", "desde", "da", "dal", "dalla"})
_PHRASE_ENDS: Final = re.compile(r"[\n.;:,!?()]")
_IN: Final = frozenset({"en", "in", "a", "ad", "to", "outside", "near", "at", "around", "hasta"})


def _staying(text: str, start: int, end: int) -> Iterator[Found]:
    """`Trabaja de camarero en Mayorga`, `weekends are spent in Eye`, `Paciente de Glasgow`."""
    ahead = text[end + 1 : end + 2]
    match = _NEXT.match(text, end) if ahead.isupper() or ahead in ("l", "e", "t") else None
    if match is None:
        return
    at, town = match.start("town"), _LINK.split(cut_town(match["town"]))[0]
    if len(town) < 3 or not _may_be_town(town) or _NAMED_AFTER.match(text, at + len(town)):
        return
    behind = _PHRASE_ENDS.split(before(text, start, 60))[-1]
    if not _somebody_there(text[start:end].lower(), behind, town):
        return
    article = text[end + 1 : at].strip().capitalize()
    if article and f"{article} {town}".lower() in places():
        at, town = end + 1, text[end + 1 : at + len(town)]
    yield at, at + len(town), places().get(town.lower(), (RuleKind.CITY, True))[0]


def _first(town: str) -> str:
    parts = town.lower().split(" ")
    return parts[1] if len(parts) > 1 and parts[0] in listed("town_starts") else parts[0]


def _may_be_town(town: str) -> bool:
    if _first(town) in _NO_TOWNS or (town.isupper() and len(town) < 5):
        return False
    return town.lower() in places() or not (town.isupper() or _FIELD_OF_WORK.match(_first(town)))


def _somebody_there(word: str, behind: str, town: str) -> bool:
    """Whether the preposition `word`, and what comes before it, tell where somebody is or comes from."""
    known, person = town.lower() in places(), _first(town) in GIVEN
    if person and not known and word not in ("en", "in", "outside", "near"):
        return False
    if word in _OF and (_WHENCE.search(behind) or _NEAR.search(behind)):
        return True
    if word in _OF and (known or not person) and _IS.search(behind):
        return True
    if word not in _IN and word not in _FROM_WORDS:
        return False
    return bool(_STAYS.search(behind)) or (word not in ("a", "ad") and bool(_STAYS_EN.search(behind)))


RULES: Final = (
    Rule("place.listed", _listed, 30, by_first_word(), capital=True),
    strong("place.zip", _zip_town, 54, (DIGITS[5],)),
    strong("place.field.town", _field(RuleKind.CITY), 67),
    strong("place.field.country", _field(RuleKind.COUNTRY), 67),
    Rule("place.from", _from, 46),
    strong("place.born", _born, 62, words("nato nata nacido nacida born")),
    strong("place.city_state", _city_state, 56, listed("state_codes"), capital=True, language="en"),
    Rule("place.city_region", _city_region, 31, by_first_word(), capital=True),
    Rule("place.line_town", _line_town, 31, by_first_word(), capital=True, language="es"),
    Rule("place.province", _province, 47, capital=True, language="it"),
    Rule("place.zip.uk", _british_code, 60, DIGITS[1:3], language="en"),
    strong("place.stay", _staying, 33, _OF | _IN),
)
