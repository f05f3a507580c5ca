"""Names of places and institutions: words that say what they are stay, the others are replaced one by one."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import accumulate
from typing import Final

from annotations.release.rules.redaction.policy import REGIONS, IdentifierType
from annotations.release.rules.surrogates.folding import LONGEST, folded
from annotations.release.rules.surrogates.gazetteers import kept, known_language, names_of, word_groups
from annotations.release.rules.surrogates.places import CITY, COUNTRY_OF, PROVINCE, REGION, named, of_country

NUMBER, LETTER, ACRONYM, WORD = "number", "letter", "acronym", "word"
GIVEN, SURNAME, ZIP, COUNTRY = "given", "surname", "zip", "country"
MONTH, THING, DEVOTION, SAINT, DISCIPLINE, JOB = "month", "thing", "devotion", "saint", "discipline", "job"
RANKS: Final = ("rank_f", "rank_m", "artist")
DEVOTIONS: Final = (DEVOTION, "devotion_del", "devotion_la", "devotion_los", "devotion_las")
_SMALL: Final = kept("small")
LEVELS: Final = ("level", "field", "body", "type", "type_f")
"""Words of institutions without a name of their own, such as "Hospital General": the first one found is replaced."""
SHORT: Final = "short"  # the abbreviation of a state or province
IN_COUNTRY: Final = frozenset({CITY, PROVINCE, REGION, ZIP, SHORT})
"""Kinds of slots that lie in a country, in an area of it."""
_SCHOOLS: Final = frozenset(
    {"facultad", "facultat", "faculty", "facolta", "school", "escuela", "college", "departamento"}
)
_SAINTLY: Final = frozenset({"san", "santa", "sant", "st", "saint", "santo"})
_MARIAN: Final = frozenset({"virgen", "senora", "lady", "ntra", "madonna"})
PLACES: Final = REGIONS | {IdentifierType.ZIP}
_POSTCODE: Final = re.compile(r"[A-Z]{1,2}\d[A-Z\d]?\s*\d[A-Z]{2}")
_TOKEN: Final = re.compile(r"\b[A-Z]{1,2}\d[A-Z\d]?\s*\d[A-Z]{2}\b|[^\W\d_ºª]+(?:['’´`·][^\W\d_ºª]+)*|\d+")
_ARTICLES: Final = frozenset({"la", "las", "los", "el", "del"})
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
def words_of(language: str, group: str) -> Mapping[str, str]:
    """The words of a group by folded text; empty if the language has none."""
    names = (f"{language} {group}", f"{language} masculine_{group}", f"{language} feminine_{group}")
    words = [word for name, listed in word_groups("words.txt").items() if name in names for word in listed]
    return {folded(word): word.replace("_", " ") for word in words if word != "|"}


@cache
def _fields(language: str) -> Mapping[str, int]:
    """The number of the field of each occupation by folded text; fields stand in one order, separated by "|"."""
    out: dict[str, int] = {}
    for name, words in word_groups("words.txt").items():
        if name.startswith(language) and name.endswith("job"):
            out |= zip(map(folded, words), accumulate(word == "|" for word in words), strict=True)
    return out


@lru_cache(maxsize=1 << 12)
def field_of_work(job: str, language: str) -> int | None:
    """The number of an occupation's field, as words.txt has it; None where it has none of the words."""
    fields = _fields(known_language(language))
    key = folded(job)
    # "truck driver", but "técnico de sonido": the words that name the occupation are its end, or its beginning.
    words = key.split() if known_language(language) != "en" else list(reversed(key.split()))
    return next((fields[word] for word in (key, *words) if word in fields), None)


def is_acronym(text: str) -> bool:
    """Whether a word is an acronym: two to six capitals."""
    return 2 <= len(text) <= 6 and text.isalpha() and text.isupper()


@cache
def _shorts(country: str) -> frozenset[str]:
    """The abbreviations of a country's states or provinces."""
    return frozenset(area.short for area in of_country(country) if area.short)


@lru_cache(maxsize=1 << 12)
def slots(text: str, kind: IdentifierType, language: str) -> tuple[Slot, ...]:
    """What to replace in the name of a place or an institution, in order.

    A text of more than LONGEST code points is not a name, and is replaced as a whole.
    """
    language = known_language(language)
    if len(text) > LONGEST:
        return (Slot(0, len(text), text, folded(text), WORD),)
    if kind in (IdentifierType.PROFESSION, IdentifierType.COUNTRY):
        core = text.strip()
        start = text.find(core)
        whole = JOB if kind == IdentifierType.PROFESSION else COUNTRY
        return (Slot(start, start + len(core), core, folded(core), whole),) if core else ()
    return tuple(_Scan(text, kind, language).slots())


class _Scan:
    """The tokens of one text, and what each of them is."""

    def __init__(self, text: str, kind: IdentifierType, language: str) -> None:
        self.text, self.kind, self.language = text, kind, language
        streetlike = kind == IdentifierType.LOCATION and (_STREET_START.search(text) or _STREET_EN.search(text))
        self.street = kind == IdentifierType.STREET or bool(streetlike)
        self.place = kind in PLACES
        self.tokens = [(match.start(), match.end(), match.group(0)) for match in _TOKEN.finditer(text)]
        self.words = [folded(raw) for _, _, raw in self.tokens]
        self.group = kept("street") if self.street else frozenset() if self.place else kept("institution")
        self.country = COUNTRY_OF[language]
        self.school = bool(_SCHOOLS & set(self.words))

    def slots(self) -> list[Slot]:
        out: list[Slot] = []
        at = 0
        while at < len(self.tokens):
            found, length = self.what(at)
            if found:
                out.append(self.slot(at, length, found))
            at += length
        if any(slot.kind in IN_COUNTRY for slot in out):  # The new place lies in the same country.
            out = [slot for slot in out if slot.kind != COUNTRY]
        if not any(slot.kind not in (NUMBER, LETTER) for slot in out) and not self.place and not self.street:
            for name in LEVELS:  # "Hospital General": nothing else tells it from others
                group = words_of(self.language, name)
                for at, word in enumerate(self.words):
                    if word in group:
                        return [self.slot(at, 1, name)]
            last = [at for at, word in enumerate(self.words) if word not in _SMALL and len(word) > 1]
            return [*out, self.slot(last[-1], 1, WORD)] if last else out
        if not out and self.street:  # "Paseo M": only the letter tells it from others
            return [self.slot(at, 1, LETTER) for at, word in enumerate(self.words) if len(word) == 1][-1:]
        return out

    def slot(self, at: int, length: int, found: str) -> Slot:
        start, end = self.tokens[at][0], self.tokens[at + length - 1][1]
        return Slot(start, end, self.text[start:end], " ".join(self.words[at : at + length]), found)

    def group_of(self, name: str) -> Mapping[str, str]:
        return words_of(self.language, name)

    def what(self, at: int) -> tuple[str, int]:
        """What the token at an index is, and how many tokens belong together; empty for one that stays."""
        raw, key = self.tokens[at][2], self.words[at]
        if raw.isdigit():
            return (ZIP if self.zip(at) else NUMBER), 1
        if (self.place or self.street) and _POSTCODE.fullmatch(raw):
            return ZIP, 1
        if not key:
            return "", 1
        if self.is_state(at):
            return SHORT, 1
        if raw in ("USA", "US", "UK") and (self.place or self.street):
            return COUNTRY, 1
        if len(key) == 1 or key in _SMALL:
            length, found = named(self.words, at, self.country)  # "A Coruña", "Las Palmas"
            if length > 1:
                return found, length
            return (LETTER if self.unit(at) else ""), 1
        special = self.special(at)
        if special is not None:
            return special, 1
        if key not in self.group:
            length, found = named(self.words, at, self.country)
            if length:
                return found, length
        if self.place:
            return self.in_place(at)
        if key in self.group or key in kept("honor"):
            return "", 1
        return self.word(at), 1

    def zip(self, at: int) -> bool:
        """Whether a token is a ZIP code of five digits: in a place or an address, or after a state."""
        if not re.fullmatch("[0-9]{5}", self.tokens[at][2]):
            return False
        if self.street:
            return at > 0 or self.country != "us"
        return self.place or (at > 0 and self.is_state(at - 1))

    def is_state(self, at: int) -> bool:
        """Whether a token is the abbreviation of a state or province.

        It is one before a ZIP code, or at the end behind a comma or in brackets: ", CA", "(MI)". In the United States,
        a word between a comma and a ZIP code is one even if no list has it: "Ore. 97301".
        """
        start, end, raw = self.tokens[at]
        coded = at + 1 < len(self.tokens) and bool(re.fullmatch("[0-9]{5}", self.tokens[at + 1][2]))
        before = self.text[self.tokens[at - 1][1] if at else 0 : start]
        after = self.text[end : end + 1]
        if (raw.upper() if coded else raw) in _shorts(self.country):
            if coded or (self.place and not self.street):
                return True
            last = at + 1 == len(self.tokens) and (self.place or self.street) and self.words[at] not in self.group
            return at > 0 and (last or "," in before or ("(" in before and after == ")"))
        return self.country == "us" and coded and "," in before and (after == "." or (len(raw) == 2 and raw.isupper()))

    def special(self, at: int) -> str | None:
        """Saints, devotions, disciplines, ranks and months; None for other words."""
        key = self.words[at]
        before = self.words[at - 1] if at else ""
        earlier = next((word for word in reversed(self.words[:at]) if word not in _SMALL), "")
        if before in _SAINTLY and key in self.group_of(SAINT):
            return SAINT
        if earlier in _MARIAN:
            suited = f"{DEVOTION}_{before}"
            for name in (suited, *DEVOTIONS):
                if key in self.group_of(name):
                    return suited if suited in DEVOTIONS else name
            return suited if suited in DEVOTIONS else DEVOTION
        if self.school and key in self.group_of(DISCIPLINE):
            return DISCIPLINE
        if self.place and not self.street:
            return None
        return next((name for name in (*RANKS, MONTH, "size") if key in self.group_of(name)), None)

    def in_place(self, at: int) -> tuple[str, int]:
        """Parts of an address: a country, a state's abbreviation, words of a street, or an unknown place."""
        key = self.words[at]
        countries = self.group_of("country")
        if at + 1 < len(self.words) and f"{key} {self.words[at + 1]}" in countries:
            return COUNTRY, 2
        if key in countries:
            return COUNTRY, 1
        if key in self.group or (self.street and key in kept("honor")):
            return "", 1
        if self.street:
            return self.word(at), 1
        return CITY, self.phrase(at)

    def word(self, at: int) -> str:
        """What a word of a name is: an acronym, a given name, a surname, a thing, or unknown."""
        raw, key = self.tokens[at][2], self.words[at]
        lists = names_of(self.language)
        if is_acronym(raw) and (not self.text.isupper() or len(self.tokens) == 1):
            return ACRONYM
        article = self.words[at - 1] if at else ""
        if article in _ARTICLES and key in {**self.group_of(THING), **self.group_of(f"{DEVOTION}_{article}")}:
            return f"{DEVOTION}_{article}" if self.group_of(f"{DEVOTION}_{article}") else THING
        if key in lists.given and at + 1 < len(self.tokens):
            return GIVEN
        if key in lists.surnames:
            return SURNAME
        return THING if key in self.group_of(THING) else WORD

    def unit(self, at: int) -> bool:
        """Whether a single letter is that of a flat: it follows a number ("3, B", "46 4D")."""
        if len(self.words[at]) > 1 or not at or self.kind not in (IdentifierType.STREET, IdentifierType.LOCATION):
            return False
        gap = self.text[self.tokens[at - 1][1] : self.tokens[at][1] + 1]
        return self.tokens[at - 1][2].isdigit() and "/" not in gap

    def phrase(self, at: int) -> int:
        """How many words the name of an unknown place has: up to a comma, a bracket or a number."""
        end = at + 1
        while end < len(self.tokens):
            gap = self.text[self.tokens[end - 1][1] : self.tokens[end][0]]
            if gap.strip(" -'’\n") or self.tokens[end][2].isdigit() or self.is_state(end):
                break
            end += 1
        return end - at


@lru_cache(maxsize=1 << 12)
def distinctive(text: str, kind: IdentifierType, language: str) -> str:
    """The folded words of an institution's or a street's name that tell it from others of its type.

    Empty for a street of which only numbers or letters do.
    """
    found = slots(text, kind, language)
    if kind == IdentifierType.STREET and all(slot.kind in (NUMBER, LETTER) for slot in found):
        return ""
    return " ".join(slot.key for slot in found)


def acronym_of(text: str) -> str:
    """The first letters of the words of a name, in capitals, without articles and prepositions."""
    return "".join(word[0] for word in folded(text).split() if word not in _SMALL).upper()
