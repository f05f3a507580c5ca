"""Towns, regions, states, countries and postal codes: by word lists, by fields, and beside postal codes."""

import re
from collections.abc import Iterator
from functools import cache
from typing import Final

from models_runtime.backends.rules.gazetteers import places, word_set
from models_runtime.backends.rules.kinds import Kind
from models_runtime.backends.rules.reading import APOSTROPHE, LETTER, UP, after, before
from models_runtime.backends.rules.rule import DIGITS, Finder, Found, Rule, pattern, words

_FIRST: Final = re.compile(rf"[{UP.lower()}a-zà-ÿ]+")
_CAPITALS: Final = frozenset({"usa", "uk", "u.s.a.", "u.k.", "ee. uu.", "ee.uu.", "eeuu", "e.e.u.u."})


@cache
def by_first_word() -> dict[str, tuple[str, ...]]:
    """The lower-cased place names by their first word, longer ones first."""
    found: dict[str, list[str]] = {}
    for phrase in places():
        first = _FIRST.match(phrase)
        if first:
            found.setdefault(first[0], []).append(phrase)
    return {first: tuple(sorted(phrases, key=len, reverse=True)) for first, phrases in found.items()}


_PLACE_WORD: Final = re.compile(
    r"(?:(?<![a-zà-ÿ])(?:a|ad|da|in|en|di|de|desde|from|to|at|near|hacia|por|natural de|residente en|via|nat[oa] a|"
    r"residente in|località|comune di|provincia de|city of|lives in)[ ]|\(|[0-9]{5}[ ,.\-–]{1,3}|[a-zà-ÿ],[ ])\Z"
)


def _listed(text: str, start: int, end: int) -> Iterator[Found]:
    """A listed place, written with a capital, standing free; an unsure one after a word of place."""
    if not text[start].isupper():
        return
    for phrase in by_first_word()[text[start:end].lower()]:
        stop = start + len(phrase)
        piece = text[start:stop]
        if piece.lower() != phrase or text[stop : stop + 1].isalnum():
            continue
        if phrase in _CAPITALS and not piece.isupper():
            return
        if text[start - 1 : start] in ("-", "_", "@", ".", "/") and start or text[stop : stop + 1] in ("@", "_"):
            return
        kind, sure = places()[phrase]
        if not sure and not (_PLACE_WORD.search(before(text, start)) and not piece.isupper()):
            return
        if " " in phrase or all(word[:1].isupper() for word in piece.split()):
            yield start, stop, kind
        return


_TOWN: Final = rf"[{UP}]{LETTER}++(?:[{APOSTROPHE}\-]{LETTER}++)*+(?:[ ](?:(?:de|del|la|las|los|el|y|i|di|do|da|d['’]|sul|in|al)[ ]){{0,3}}+[{UP}]{LETTER}++(?:[{APOSTROPHE}\-]{LETTER}++)*+){{0,4}}+"
_ZIP_TOWN: Final = re.compile(
    rf"(?<![0-9.,])(?:(?<=E-)|(?<![A-Za-z]-))(?P<zip>[0-9]{{5}})(?![0-9%]|[.,][0-9])(?:[ ]?[,.\-–)]{{0,2}}[ ]{{0,2}}(?P<town>{_TOWN}))?"
    rf"(?P<rest>(?:[ ]?[,.\-–]{{0,1}}[ ]?\(?(?P<more>{_TOWN})\)?)?)"
)
_ADDRESS: Final = re.compile(
    r"(?:\bc[/\\]|calle|avda|avenida|avinguda|\bav\b|\bavd|plaza|plaça|paseo|passeig|ctra|carretera|camino|carrer|hospital|cl[ií]nica|\bs/n|c\.?p\.?[ :]|[ºª]|"
    r"via |viale|piazza|corso|residente|centro|universi|instituto|[0-9][ ]?[,.\-–]{0,2}[ ]*(?:e-)?\Z|apartado|servicio|edificio|\bno?\b|\be-\Z|[a-z],[ ]\Z)"
)


def _zip_town(text: str, start: int, end: int) -> Iterator[Found]:
    """A postal code in an address, the town after it, and what is in brackets after that."""
    match = _ZIP_TOWN.match(text, start)
    if match is None or int(match["zip"][:2]) > 98:
        return
    behind = before(text, start, 110)
    fielded = re.search(r"(?:\bcp|c\.p\.?|c[oó]digo postal|\bcap|zip(?: code)?)[ :.]{0,3}\Z", behind)
    town = match["town"]
    if town:
        town = _cut(town)
    if not fielded:
        in_brackets = behind.endswith("(") and text[match.end("zip") : match.end("zip") + 1] == ")"
        if in_brackets:
            yield match.start("zip"), match.end("zip"), Kind.ZIP
            return
        if not town or not (_ADDRESS.search(behind) or town.lower() in places()):
            return
    yield match.start("zip"), match.end("zip"), Kind.ZIP
    if town and (not fielded or text[match.end("zip") : match.end("zip") + 1] in " ,-"):
        yield match.start("town"), match.start("town") + len(town), Kind.CITY
        at = match.start("town") + len(town)
        more = _BRACKETED.match(text, at)
        if more and _cut(more["more"]) == more["more"]:
            yield more.start("more"), more.end("more"), Kind.REGION


_BRACKETED: Final = re.compile(rf"[ ]?[,.]?[ ]?\([ ]?(?P<more>{_TOWN})[ ]?\)")


def _cut(town: str) -> str:
    """The town without words that begin something else."""
    stops = word_set("not_names")
    parts = town.split(" ")
    for at, part in enumerate(parts):
        if part.lower() in stops and part.lower() not in _SMALL_STARTS:
            parts = parts[:at]
            break
    while parts and parts[-1].islower():
        parts.pop()
    return " ".join(parts)


_SMALL_STARTS: Final = frozenset("el la los las il lo le de del y i di san".split())
_FIELD_GAP: Final = re.compile(
    r"[ ]?(?:/[ ]?(?:provincia|municipio|pa[ií]s)|de nacimiento|di nascita|of birth)?[ ]?:[ \t]{0,6}", re.IGNORECASE
)
_VALUE: Final = re.compile(rf"[{UP}]{LETTER}*+(?:[ .'’´`\-]{{1,2}}(?:{LETTER}++|\([^()\n]{{1,30}}\))){{0,7}}+")


def _field(kind: Kind) -> Finder:
    def find(text: str, start: int, end: int) -> Iterator[Found]:
        gap = _FIELD_GAP.match(text, end)
        value = _VALUE.match(text, gap.end()) if gap else None
        if value is None:
            return
        stop = value.end()
        if (double := text.find("  ", value.start(), stop)) > 0:
            stop = double
        cut = re.search(r"[ ](?:CP|C\.P|NHC|Edad|Tel|Sexo|Fecha|Teléfono)\b", text[value.start() : stop])
        yield value.start(), value.start() + cut.start() if cut else stop, kind

    return find


_FROM: Final = re.compile(
    rf"(?i:natural(?: y residente)? (?:de|en)|residente (?:en|in|a)|residenti (?:in|a)|procedente de|vive en|viv[ií]a en|nacid[oa] en|oriund[oa] de|originari[oa] (?:de|di)|nat[oa] (?:a|ad|in)|"
    rf"domiciliat[oa] (?:in|a)|proveniente da|abita a|lives in|living in|born in|native of|resident of|from|trasladad[oa] desde|viaje a|viajado a|emigr\w+ (?:de|a|desde)|sbarcat[oa] a|rientrat[oa] da)"
    rf"[ ](?P<town>{_TOWN})"
)


def _from(text: str, start: int, end: int) -> Iterator[Found]:
    match = _FROM.match(text, start)
    if match is None:
        return
    town = _cut(match["town"])
    if (
        town
        and len(town) > 3
        and not (
            text[start:end].lower() == "from"
            and town.lower() not in places()
            and after(text, match.end())[:1] not in ",. "
        )
    ):
        yield match.start("town"), match.start("town") + len(town), places().get(town.lower(), (Kind.CITY, True))[0]


_STATES: Final = "al ak az ar ca co ct de fl ga hi id il in ia ks ky la me md ma mi mn ms mo mt ne nv nh nj nm ny nc nd oh ok or pa ri sc sd tn tx ut vt va wa wv wi wy dc"
# Codes that are words, degrees or wards as well.
_COMMON_CODES: Final = frozenset("md mi ma pa or in me hi ok la de co al id ca ct mt ms".split())
_CITY_STATE: Final = re.compile(
    rf"(?P<state>[A-Z]{{2}})(?![A-Za-z0-9])(?:[ ]{{1,2}}(?P<zip>[0-9]{{5}}(?:-[0-9]{{4}})?)(?![0-9]))?"
)
_CITY_BEFORE: Final = re.compile(rf"(?P<city>(?:(?:St\.|[A-Z][A-Za-z'’\-]+)[ ]){{0,2}}[A-Z][A-Za-z'’\-]+),[ ]\Z")


def _city_state(text: str, start: int, end: int) -> Iterator[Found]:
    """`Dunmore, OH 44107-2210`; the state alone counts only where a town and a comma stand before it."""
    match = _CITY_STATE.match(text, start)
    if match is None:
        return
    low = max(0, start - 48)
    city = _CITY_BEFORE.search(text[low:start])
    if city is None or city["city"].split(" ")[-1].lower() in word_set("not_names"):
        return
    if match["state"].lower() in _COMMON_CODES and not match["zip"] and city["city"].lower() not in places():
        return
    yield match.start("state"), match.end("state"), Kind.STATE
    if match["zip"]:
        yield match.start("zip"), match.end("zip"), Kind.ZIP
    yield low + city.start("city"), low + city.end("city"), Kind.CITY


_PROVINCE: Final = re.compile(rf"(?P<town>{_TOWN})[ ]\((?P<province>[A-Z]{{2}})\)")
_PROVINCES: Final = frozenset(
    "AG AL AN AO AP AQ AR AT AV BA BG BI BL BN BO BR BS BT BZ CA CB CE CH CL CN CO CR CS CT CZ EN FC FE FG FI FM FR GE GO GR IM IS KR LC LE LI LO LT LU MB MC ME MI MN "
    "MO MS MT NA NO NU OR PA PC PD PE PG PI PN PO PR PT PU PV PZ RA RC RE RG RI RM RN RO SA SI SO SP SR SS SU SV TA TE TN TO TP TR TS TV UD VA VB VC VE VI VR VT VV".split()
)


def _province(text: str, start: int, end: int) -> Iterator[Found]:
    """The Italian `(BG)` after a town."""
    if text[start:end] not in _PROVINCES or text[start - 1 : start] != "(" or text[end : end + 1] != ")":
        return
    low = max(0, start - 40)
    town = re.search(
        rf"(?:[{UP}]{LETTER}+(?:[ ](?:di|del|della|sul|in|d['’]))?[ ]){{0,2}}[{UP}]{LETTER}+(?=[ ]\(\Z)",
        text[low:start],
    )
    if (
        town is not None
        and town[0].isascii()
        and not town[0].isupper()
        and town[0].split(" ")[0].lower() not in word_set("not_names")
    ):
        yield start, end, Kind.CITY
        yield low + town.start(), low + town.end(), Kind.CITY


RULES: Final = (
    Rule("place.listed", frozenset(by_first_word()), _listed, 0.85, rank=30),
    Rule("place.zip", frozenset({DIGITS[5]}), _zip_town, 0.95, rank=54, strong=True),
    Rule(
        "place.field.town",
        words("localidad municipio provincia población ciudad comune città city"),
        _field(Kind.CITY),
        0.98,
        rank=67,
        strong=True,
    ),
    Rule(
        "place.field.country",
        words("país pais country nazione nacionalidad"),
        _field(Kind.COUNTRY),
        0.98,
        rank=67,
        strong=True,
    ),
    Rule(
        "place.from",
        words(
            "natural residente residenti procedente vive vivía nacido nacida oriundo oriunda originario originaria nato nata domiciliato domiciliata proveniente abita lives living born native resident from trasladado trasladada viaje viajado sbarcato rientrato"
        ),
        _from,
        0.9,
        rank=46,
    ),
    Rule("place.city_state", words(_STATES), _city_state, 0.93, rank=56, strong=True, languages=frozenset({"en"})),
    Rule("place.province", words(" ".join(_PROVINCES).lower()), _province, 0.9, rank=47, languages=frozenset({"it"})),
    Rule(
        "place.zip.field",
        words("cp cap zip"),
        pattern(
            r"(?i)(?:cp|cap|zip(?: code)?)[ ]?[:.]{1,2}[ ]{0,4}(?P<zip>[A-Z]{0,2}-?[0-9]{2,8}(?:[ -][0-9]{3,4})?)(?![0-9])",
            zip=Kind.ZIP,
        ),
        0.97,
        rank=68,
        strong=True,
    ),
)
