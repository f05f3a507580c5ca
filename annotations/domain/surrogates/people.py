"""Names of people in their parts: titles, given names, surnames, initials, particles; in every order in which notes have them."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from annotations.domain.surrogates.folding import folded, plain
from annotations.domain.surrogates.gazetteers import known_language, names_of, nicknames

GIVEN, FAMILY, GIVEN_INITIAL, FAMILY_INITIAL, KEPT = "given", "family", "given initial", "family initial", "kept"

_TITLES: Final = {
    "m": "don sr señor mr mister doctor dottore dott sig signor signore sir father lcdo ldo dn prof professore profesor padre fray",
    "f": "doña dª dña sra srta señora señorita mrs ms miss doctora dra dottoressa sigra signora signorina madam sister profesora "
    "prof.ssa prof.sa professoressa lcda lda dott.ssa dott.sa sor suora",
    "": "dr drs dres md phd rn np pa lic professor med jr sr. ii iii iv hon rev res mir nurse",
}
_TITLE: Final = {
    folded(word).replace(" ", ""): gender for gender, words in _TITLES.items() for word in words.split()
} | {
    "dr": "",
    "prof": "",
}
_PARTICLES: Final = frozenset(
    "de del la las los da das do dos di della dello dei degli delle dal dalla lo li von van der den ter zu y e i el al bin ibn"
    " ben le du des d san santa sant st saint mac".split()
)
_DEVOTIONS: Final = frozenset(
    "angeles carmen pilar mar rosario rocio luz concepcion cruz paz soledad nieves mercedes dolores milagros reyes"
    " remedios virtudes consuelo amor castillo henar valle camino".split()
)
_TOKEN: Final = re.compile(
    r"(?:(?:dott|prof)\.(?:ssa|sa)\b|sig\.ra\b|d[ªñ]a?\.?(?=\s)|[^\W\d_]+(?:['’´`][^\W\d_]+)*)(\.?)", re.IGNORECASE
)
_FAMILY_FIELD: Final = re.compile(
    r"(?:apellidos?|cognome|surname|last\s+name|family\s+name)\s*[:.\-]?\s*$", re.IGNORECASE
)
_GIVEN_FIELD: Final = re.compile(
    r"(?:\bnombres?|\bnome|\bgiven\s+name|\bfirst\s+name|forename)\s*[:.\-]?\s*$", re.IGNORECASE
)
_FULL_FIELD: Final = re.compile(
    r"(?:nombre\s+y\s+apellidos|nome\s+e\s+cognome|cognome\s+e\s+nome|apellidos\s+y\s+nombre|full\s+name|patient(?:'s)?\s+name)\s*[:.\-]?\s*$",
    re.IGNORECASE,
)
_TITLE_BEFORE: Final = re.compile(r"([^\W\d_]+(?:\.ssa|\.ra)?)\.?\s*$")


@dataclass(frozen=True, slots=True)
class Part:
    """A word of a name: `role`, and `index` among the given names or surnames. `start` and `end` are in the mention."""

    start: int
    end: int
    text: str
    role: str
    index: int = 0


@dataclass(frozen=True, slots=True)
class Person:
    """A name in its parts. `given` and `family` are folded words; an initial is one letter. `gender` is f, m or empty."""

    parts: tuple[Part, ...]
    given: tuple[str, ...]
    family: tuple[str, ...]
    gender: str = ""


def field_of(before: str) -> str:
    """Whether the text before a mention says that a given name or a surname follows: GIVEN, FAMILY or empty."""
    if _FULL_FIELD.search(before):
        return ""
    if _FAMILY_FIELD.search(before):
        return FAMILY
    return GIVEN if _GIVEN_FIELD.search(before) else ""


def title_before(before: str) -> str | None:
    """The gender of the title right before a mention ("Dra. " → f, "Dr. " → empty); None without a title."""
    found = _TITLE_BEFORE.search(before)
    return _TITLE.get(_title_key(found.group(1))) if found else None


def _title_key(text: str) -> str:
    return folded(text).replace(" ", "")


@lru_cache(maxsize=1 << 12)
def read_person(text: str, language: str, where: str = "", titled: bool = False) -> Person:
    """Read a name. `where` is GIVEN or FAMILY if a form's field says so; `titled` if a title stands right before it."""
    lists = names_of(known_language(language))
    words: list[tuple[re.Match[str], str, str]] = []  # match, folded, kind: title, particle, initial, word
    gender = ""
    matches = list(_TOKEN.finditer(text))
    for number, match in enumerate(matches):
        raw, dot = match.group(0).rstrip("."), match.group(1)
        key = folded(raw)
        if key.endswith(" s") and len(key) > 3:  # "Wilson's"
            key = key[:-2]
        flat = key.replace(" ", "")
        first = not any(kind == "word" for _, _, kind in words)
        if (
            flat in _TITLE
            and (first or len(flat) < 4)
            and not (flat in ("sr", "jr", "don", "mir") and not first and False)
        ):
            if number == len(matches) - 1 and first:
                kind = "word"  # a mention that is nothing but "Don"
            else:
                kind = "title"
                gender = gender or _TITLE[flat]
        elif (
            flat == "d" and first and dot and language.startswith("es") and _next_is_given(matches, number, lists.given)
        ):
            kind, gender = "title", "m"
        elif flat in _PARTICLES and raw != raw.upper() and number < len(matches) - 1:
            kind = "particle"
        elif flat in _PARTICLES and len(flat) > 1 and 0 < number < len(matches) - 1:
            kind = "particle"
        elif len(flat) == 1:
            kind = "initial"
        else:
            kind = "word"
        words.append((match, key, kind))
    cores = [at for at, (_, _, kind) in enumerate(words) if kind in ("word", "initial")]
    split, reverse = _split(text, words, cores, where, titled, language)
    parts: list[Part] = []
    given: list[str] = []
    family: list[str] = []
    for order, at in enumerate(cores):
        match, key, kind = words[at]
        first_group = order < split
        is_given = first_group != reverse
        role, found = (GIVEN, given) if is_given else (FAMILY, family)
        if kind == "initial":
            role = GIVEN_INITIAL if is_given else FAMILY_INITIAL
        raw = match.group(0)
        end = match.start() + len(raw.rstrip("."))
        if kind == "word" and (found_s := re.search(r"['’´`]s$", raw)) and key != folded(raw):
            end = match.start() + found_s.start()
        parts.append(Part(match.start(), end, text[match.start() : end], role, len(found)))
        found.append(key)
    if not gender:
        for key in given:
            known = lists.given.get(key)
            if known is not None and known.gender:
                gender = known.gender
                break
    return Person(tuple(parts), tuple(given), tuple(family), gender)


def _next_is_given(matches: Sequence[re.Match[str]], number: int, given: object) -> bool:
    return number + 1 < len(matches) and folded(matches[number + 1].group(0)) in given  # type: ignore[operator]  # a mapping


def _split(
    text: str,
    words: Sequence[tuple[re.Match[str], str, str]],
    cores: Sequence[int],
    where: str,
    titled: bool,
    language: str,
) -> tuple[int, bool]:
    """How many of the words come first, and whether those are surnames (in reversed order)."""
    count = len(cores)
    if count == 0:
        return 0, False
    if where == GIVEN:
        return count, False
    if where == FAMILY:
        return 0, False
    comma = text.find(",")
    if comma > 0:
        before = sum(words[at][0].start() < comma for at in cores)
        if 0 < before < count:
            return before, True
    lists = names_of(known_language(language))

    def given(order: int) -> bool:
        _, key, kind = words[cores[order]]
        return kind == "initial" or key in lists.given or key in nicknames()

    def surname(order: int) -> bool:
        return words[cores[order]][1] in lists.surnames

    has_title = titled or any(kind == "title" for _, _, kind in words)
    if count == 1:
        if words[cores[0]][2] == "initial":
            return 1, False
        key = words[cores[0]][1]
        known = lists.given.get(key)
        if has_title:
            title = next((_title_key(match.group(0)) for match, _, kind in words if kind == "title"), "")
            return (1, False) if title in ("don", "dona", "d", "dna") and known else (0, False)
        if known and surname(0):
            return (0, False) if lists.surnames[key].band < known.band else (1, False)
        return (1, False) if known else (0, False)
    if not given(0) and given(count - 1) and (surname(0) or not surname(count - 1)) and words[cores[0]][2] == "word":
        tail = 1  # "Rossi Mario", "Wilson A."
        while tail < count - 1 and given(count - 1 - tail) and not surname(count - 1 - tail):
            tail += 1
        return count - tail, True
    if count == 2 and not given(0) and surname(0) and surname(1) and language.startswith("es") and not has_title:
        return 0, False
    leading = 1
    while leading < count - 1 and given(leading):
        if surname(leading) and not (words[cores[leading]][2] == "initial"):
            remaining = count - leading - 1
            if language.startswith("es") and remaining < 2:
                break
            if lists.surnames[words[cores[leading]][1]].band < lists.given[words[cores[leading]][1]].band:
                break
        leading += 1
    if leading < count - 1:  # "María de los Ángeles López"
        at = cores[leading]
        if words[at][1] in _DEVOTIONS and at > 0 and words[at - 1][2] == "particle":
            leading += 1
    if not language.startswith("es") and leading == 1 and count > 2:
        while leading < count - 1 and words[cores[leading]][2] == "initial":
            leading += 1
    return leading, False


def initials_match(shorter: Sequence[str], longer: Sequence[str]) -> bool:
    """Whether each word of the shorter name is a word of the longer one, in order, or its initial or short form."""
    at = 0
    for word in shorter:
        while at < len(longer) and not same_word(word, longer[at]):
            at += 1
        if at == len(longer):
            return False
        at += 1
    return True


def same_word(one: str, other: str) -> bool:
    """Whether two folded words may be the same part of a name: equal, an initial, or a listed short form."""
    if one == other:
        return True
    if len(one) == 1 or len(other) == 1:
        return one[:1] == other[:1]
    short = nicknames()
    return other in short.get(one, ()) or one in short.get(other, ())


def fullest(names: Iterable[Person]) -> Person:
    """One name with all the given names and surnames of forms of one name. Initials give way to the words they stand for."""
    given: list[str] = []
    family: list[str] = []
    gender = ""
    for name in sorted(names, key=lambda name: (-len(name.given) - len(name.family), name.given, name.family)):
        gender = gender or name.gender
        for target, found in ((given, name.given), (family, name.family)):
            for word in found:
                at = next((i for i, have in enumerate(target) if same_word(word, have)), None)
                if at is None:
                    target.append(word)
                elif len(target[at]) == 1 < len(word):
                    target[at] = word
    return Person((), tuple(given), tuple(family), gender)


def shows_marks(text: str) -> bool:
    """Whether a text has accents."""
    return plain(text) != text
