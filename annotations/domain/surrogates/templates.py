"""Names of places and institutions in segments: words that say what they are stay, the others are replaced one by one."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Final

from annotations.domain.redaction.kinds import Kind
from annotations.domain.surrogates.folding import folded
from annotations.domain.surrogates.gazetteers import known_language, lines, names_of
from annotations.domain.surrogates.places import CITY, COUNTRY_OF, PROVINCE, REGION, named

NUMBER, LETTER, ACRONYM, WORD, GIVEN, SURNAME, ZIP, COUNTRY = (
    "number",
    "letter",
    "acronym",
    "word",
    "given",
    "surname",
    "zip",
    "country",
)
MONTH, THING, DEVOTION, SAINT, DISCIPLINE, JOB = "month", "thing", "devotion", "saint", "discipline", "job"
PLACES: Final = frozenset({Kind.CITY, Kind.REGION, Kind.COUNTRY, Kind.LOCATION, Kind.ZIP})
_TOKEN: Final = re.compile(r"[^\W\d_]+(?:['’´`·][^\W\d_]+)*|\d+")
_SMALL: Final = frozenset(
    "de del la las los el lo y e i en a al o u da do dos das di della dello dei degli delle dell dal il gli le per con in the of and at for on"
    " by d l un una van von der des du et".split()
)
_STREET_START: Final = re.compile(
    r"^\W*(?:c/|c\.|calle|carrer|av\w*|pl[az]\w*|p[sº]?[oº]\b|paseo|passeig|ctra|carretera|cam\w*|ronda|rda|trav\w*|glorieta|rambla|via\b|vía"
    r"|viale|v\.le|piazza\w*|corso|largo|vicolo|strada|urb\w*|pol[ií]gono|barrio|r[uú]a\b)",
    re.IGNORECASE,
)
_STREET_EN: Final = re.compile(
    r"^\W*\d+\s+\w.*\b(?:st|street|rd|road|ave?|avenue|blvd|lane|ln|drive|dr|court|ct|way|place|pl|terrace|square)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Slot:
    """A stretch of a mention to replace: `key` is the folded text, `kind` what it is."""

    start: int
    end: int
    text: str
    key: str
    kind: str


@cache
def kept(group: str) -> frozenset[str]:
    """The folded words of a group (institution, street, honor) that stay."""
    out: dict[str, set[str]] = {}
    name = ""
    for line in lines("kept_words.txt"):
        if not line.startswith(" "):
            name, _, line = line.partition(":")
        out.setdefault(name, set()).update(folded(word) for word in line.split())
    return frozenset(out[group])


@cache
def words_of(language: str, group: str) -> Mapping[str, str]:
    """The words of a group by folded text; empty if the language has none."""
    out: dict[str, str] = {}
    inside = False
    for line in lines("words.txt"):
        if not line.startswith(" "):
            name, _, line = line.partition(":")
            inside = name in (f"{language} {group}", f"{language} masculine_{group}", f"{language} feminine_{group}")
        if inside:
            out |= {folded(word): word.replace("_", " ") for word in line.split()}
    return out


def is_street(text: str) -> bool:
    """Whether a text looks like a street with its number."""
    return bool(_STREET_START.search(text) or _STREET_EN.search(text))


def is_acronym(text: str) -> bool:
    """Whether a word is an acronym: two to six capitals."""
    return 2 <= len(text) <= 6 and text.isalpha() and text.isupper()


@lru_cache(maxsize=1 << 12)
def slots(text: str, kind: Kind, language: str) -> tuple[Slot, ...]:
    """What to replace in the name of a place or an institution, in order."""
    language = known_language(language)
    if kind == Kind.PROFESSION or (kind == Kind.COUNTRY and folded(text)):
        core = text.strip()
        start = text.find(core)
        return (
            (Slot(start, start + len(core), core, folded(core), JOB if kind == Kind.PROFESSION else COUNTRY),)
            if core
            else ()
        )
    street = kind == Kind.STREET or (kind == Kind.LOCATION and is_street(text))
    group = kept("street") if street else kept("institution") if kind not in PLACES else frozenset()
    tokens = [(match.start(), match.end(), match.group(0), folded(match.group(0))) for match in _TOKEN.finditer(text)]
    words = [key for _, _, _, key in tokens]
    lists = names_of(language)
    country = COUNTRY_OF[language]
    countries = words_of(language, "country")
    school = bool(
        {"facultad", "facultat", "faculty", "facolta", "school", "escuela", "college", "departamento"} & set(words)
    )
    out: list[Slot] = []
    at = 0
    before = ""
    while at < len(tokens):
        start, end, raw, key = tokens[at]
        found, length = "", 1
        shouted = text.isupper()
        if raw.isdigit():
            found = ZIP if len(raw) == 5 and kind in PLACES and not (street and at == 0) else NUMBER
        elif not key:
            pass
        elif (len(key) == 1 or key in _SMALL) and (place := named(words, at, country))[0] > 1:
            length, found = place  # "A Coruña", "Las Palmas"
        elif len(key) == 1:
            found = LETTER if kind in (Kind.STREET, Kind.LOCATION) and _unit(tokens, at, text) else ""
        elif key in _SMALL:
            pass
        elif before in ("san", "santa", "sant", "st", "saint", "santo") and key in _saints(language):
            found = SAINT
        elif before in ("virgen", "senora", "lady", "ntra", "madonna") and key in words_of(language, "devotion"):
            found = DEVOTION
        elif school and key in words_of(language, "discipline"):
            found = DISCIPLINE
        else:
            if key not in group or kind in PLACES:
                length, found = named(words, at, country)
                length = max(1, length)
            if not found:
                length = 1
                if kind in PLACES and at + 1 < len(words) and " ".join(words[at : at + 2]) in countries:
                    found, length = COUNTRY, 2
                elif kind in PLACES and key in countries:
                    found = COUNTRY
                elif key in group or (kind not in PLACES and key in kept("honor")):
                    found = ""
                elif key in words_of(language, "month"):
                    found = MONTH
                elif kind == Kind.LOCATION and len(raw) == 2 and raw.isupper() and language in ("en", "it"):
                    found = "short"
                elif is_acronym(raw) and not shouted:
                    found = ACRONYM
                elif kind in PLACES and not street:
                    length = _phrase(tokens, at, text)
                    found = CITY
                elif key in lists.given and at + 1 < len(tokens):
                    found = GIVEN
                elif key in lists.surnames:
                    found = SURNAME
                elif key in words_of(language, "thing"):
                    found = THING
                elif is_acronym(raw) and len(tokens) == 1:
                    found = ACRONYM
                else:
                    found = WORD
        if found:
            last = tokens[at + length - 1]
            out.append(Slot(start, last[1], text[start : last[1]], " ".join(words[at : at + length]), found))
        if key not in _SMALL:
            before = key
        at += length
    return tuple(out)


def _saints(language: str) -> Mapping[str, str]:
    return words_of(language, "saint")


def _unit(tokens: Sequence[tuple[int, int, str, str]], at: int, text: str) -> bool:
    """Whether a single letter is that of a flat: it follows a number ("3, B", "46 4D")."""
    return at > 0 and tokens[at - 1][2].isdigit() and "/" not in text[tokens[at - 1][1] : tokens[at][1] + 1]


def _phrase(tokens: Sequence[tuple[int, int, str, str]], at: int, text: str) -> int:
    """How many words the name of an unknown place has: up to a comma, a bracket or a number."""
    end = at + 1
    while end < len(tokens):
        gap = text[tokens[end - 1][1] : tokens[end][0]]
        if gap.strip(" -'’\n") or tokens[end][2].isdigit():
            break
        end += 1
    return end - at


@lru_cache(maxsize=1 << 12)
def distinctive(text: str, language: str) -> str:
    """The folded words of an institution's name that tell it from others of its type."""
    return " ".join(slot.key for slot in slots(text, Kind.HOSPITAL, language))


def acronym_of(text: str) -> str:
    """The first letters of the words of a name, in capitals, without articles and prepositions."""
    return "".join(word[0] for word in folded(text).split() if word not in _SMALL).upper()
