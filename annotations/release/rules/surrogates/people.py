"""Names of people in their parts: titles, given names, surnames, initials and particles, in any order."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Final

from annotations.release.rules.surrogates import gazetteers
from annotations.release.rules.surrogates.folding import LONGEST, accented, folded

GIVEN, FAMILY, GIVEN_INITIAL, FAMILY_INITIAL = "given", "family", "given initial", "family initial"

_TITLES: Final = {
    gender: gazetteers.word_groups("kept_words.txt")[f"title {gender}".strip()] for gender in ("m", "f", "")
}
_TITLE: Final = {folded(word).replace(" ", ""): gender for gender, words in _TITLES.items() for word in words}
_GIVEN_TITLES: Final = frozenset({"don", "dona", "dn", "dna", "d", "da"})
"""Titles that stand before given names. "M.ª", short for María, stays like a title."""
_NAMES_IN_ENGLISH: Final = frozenset({"don", "dona", "hon", "lic", "md", "med", "mir", "np", "pa", "rn", "sig"})
"""Titles only in capitals or with a period, where English is written: not in "Don Brown", "Md Rahman"."""
_VIETNAMESE: Final = gazetteers.kept("vietnamese")
"""Surnames beside which Le and Van are names, not particles."""
_PARTICLES: Final = gazetteers.kept("particle")
_DEVOTIONS: Final = gazetteers.kept("devotional")
_TOKEN: Final = re.compile(
    r"(?:(?:dott|prof)\.(?:ssa|sa)\b|sig\.ra\b|m\.?ª|m\.a\b|dª|[^\W\d_]+(?:['’´`][^\W\d_]+)*)(\.?)", re.IGNORECASE
)
_LETTER_SPACED: Final = re.compile(r"(?<![^\W_])[^\W\d_](?: [^\W\d_]){3,}(?![^\W_])")  # "P E T R I E"
_FIELD_END: Final = r"\s*[:.\-]?\s*$"
_FAMILY_FIELD: Final = re.compile(
    r"(?:apellidos?|cognome|surname|last\s+name|family\s+name)" + _FIELD_END, re.IGNORECASE
)
_GIVEN_FIELD: Final = re.compile(
    r"(?:\bnombres?|\bnome|\bgiven\s+name|\bfirst\s+name|forename)" + _FIELD_END, re.IGNORECASE
)
_FULL_FIELD: Final = re.compile(
    r"(?:nombre\s+y\s+apellidos|nome\s+e\s+cognome|cognome\s+e\s+nome|apellidos\s+y\s+nombre|full\s+name"
    r"|patient(?:'s)?\s+name)" + _FIELD_END,
    re.IGNORECASE,
)
_TITLE_BEFORE: Final = re.compile(r"([^\W\d_]+(?:\.ssa|\.ra)?)\.?\s*$")


@dataclass(frozen=True, slots=True)
class NameWord:
    """A word of a name: `role`, and `index` among the given names or surnames. `start` and `end` are in the mention."""

    start: int
    end: int
    text: str
    role: str
    index: int = 0


@dataclass(frozen=True, slots=True)
class NamedPerson:
    """A name in its parts. `given` and `family` are folded words, an initial one letter. `gender` is f, m or empty."""

    parts: tuple[NameWord, ...]
    given: tuple[str, ...]
    family: tuple[str, ...]
    gender: str = ""


@cache
def titles() -> frozenset[str]:
    """The folded words of titles."""
    words = {word for listed in _TITLES.values() for title in listed for word in folded(title).split()}
    return frozenset(words)


@lru_cache(maxsize=1 << 13)
def field_of(before: str) -> str:
    """Whether the text before a mention says that a given name or a surname follows: GIVEN, FAMILY or empty."""
    if _FULL_FIELD.search(before):
        return ""
    if _FAMILY_FIELD.search(before):
        return FAMILY
    return GIVEN if _GIVEN_FIELD.search(before) else ""


@lru_cache(maxsize=1 << 13)
def title_before(before: str) -> str | None:
    """The gender of the title right before a mention ("Dra. " → f, "Dr. " → empty); None without a title."""
    found = _TITLE_BEFORE.search(before)
    return _TITLE.get(folded(found.group(1)).replace(" ", "")) if found else None


@dataclass(frozen=True, slots=True)
class _Word:
    """A word of a name: where it starts and ends, its folded text, and what it is: title, particle, initial or word."""

    start: int
    end: int
    key: str
    what: str


@lru_cache(maxsize=1 << 12)
def read_person(text: str, language: str, where: str = "", titled: bool = False) -> NamedPerson:
    """Read a name. `where` is GIVEN or FAMILY if a form's field says so; `titled` if a title stands right before it.

    A longer text than LONGEST is not a name and has no parts, since comparing names of many words takes long.
    """
    if len(text) > LONGEST:
        return NamedPerson((), (), ())
    lists = gazetteers.names_of(gazetteers.known_language(language))
    words = _words(text, language)
    cores = [word for word in words if word.what in ("word", "initial")]
    split, reverse = _split(text, words, cores, where, titled, language)
    parts: list[NameWord] = []
    given: list[str] = []
    family: list[str] = []
    for at, word in enumerate(cores):
        is_given = (at < split) != reverse
        role, found = (GIVEN, given) if is_given else (FAMILY, family)
        if word.what == "initial":
            role = GIVEN_INITIAL if is_given else FAMILY_INITIAL
        parts.append(NameWord(word.start, word.end, text[word.start : word.end], role, len(found)))
        found.append(word.key)
    gender = next((_TITLE[word.key] for word in words if word.what == "title" and _TITLE[word.key]), "")
    if not gender and given[:1] == ["maria"]:  # María José is a woman, José María a man.
        gender = "f"
    if not gender:
        known = (lists.given.get(key) for key in given)
        gender = next((name.gender for name in known if name is not None and name.gender), "")
    return NamedPerson(tuple(parts), tuple(given), tuple(family), gender)


def _listed(key: str, lists: gazetteers.NamePool) -> bool:
    return key in lists.given or key in lists.surnames


def _words(text: str, language: str) -> list[_Word]:
    out: list[_Word] = []
    matches = list(_TOKEN.finditer(text))
    lists = gazetteers.names_of(gazetteers.known_language(language))
    spaced = {at: found for found in _LETTER_SPACED.finditer(text) for at in range(*found.span())}
    alone = len(matches) == 1
    vietnamese = bool(_VIETNAMESE & {folded(match.group(0)) for match in matches})
    first = True  # no word of the name yet
    for number, match in enumerate(matches):
        if whole := spaced.get(match.start()):
            if match.start() == whole.start():
                out.append(_Word(whole.start(), whole.end(), folded(whole[0]).replace(" ", ""), "word"))
            first = False
            continue
        raw = match.group(0)
        start, end = match.start(), match.end() - len(match.group(1))
        key = folded(raw).replace(" ", "")
        if possessive := re.search(r"['’´`]s$", text[start:end]):  # "Wilson's"
            end = start + possessive.start()
            key = folded(text[start:end]).replace(" ", "")
        last = number == len(matches) - 1
        following = "" if last else folded(matches[number + 1].group(0))
        short = key in ("ma", "da") and raw.isalpha() and "ª" not in raw  # "Ma" is a surname, "M.ª" is María
        if first and gazetteers.known_language(language) == "en" and key in _NAMES_IN_ENGLISH and not match.group(1):
            short = short or raw != raw.upper() or text.isupper()
        if key in _TITLE and not short and (first or len(key) < 4) and not (first and last):
            what = "title"
        elif key == "d" and first and match.group(1) and language.startswith("es") and following in lists.given:
            key, what = "don", "title"
        elif key in _PARTICLES and (accented(raw) or (vietnamese and key in ("le", "van") and raw[0].isupper())):
            what, first = "word", False  # "Văn"
        elif key in _PARTICLES and not last and (raw != raw.upper() or (number and len(key) > 1)):
            what = "particle"
        elif len(key) == 1:
            what = "initial"
        elif alone and len(raw) == len(key) <= 3 and raw.isupper() and not _listed(key, lists):
            out += [_Word(start + at, start + at + 1, letter, "initial") for at, letter in enumerate(key)]  # "MRG"
            continue
        else:
            what, first = "word", False
        out.append(_Word(start, end, key, what))
    return out


def _split(
    text: str, words: Sequence[_Word], cores: Sequence[_Word], where: str, titled: bool, language: str
) -> tuple[int, bool]:
    """How many of the words come first, and whether those are surnames (in reversed order)."""
    count = len(cores)
    if count == 0 or where == FAMILY:
        return 0, False
    if where == GIVEN:
        return count, False
    comma = text.find(",")
    first = sum(word.start < comma for word in cores)
    if 0 < first < count:
        return first, True
    lists = gazetteers.names_of(gazetteers.known_language(language))
    before_name = [word.key for word in words if word.what == "title"]

    def given(at: int) -> bool:
        return cores[at].what == "initial" or cores[at].key in lists.given or cores[at].key in gazetteers.nicknames()

    def surname(at: int) -> bool:
        return cores[at].key in lists.surnames

    if count == 1:
        return _single(cores[0], before_name, titled, language), False
    if not given(0) and given(count - 1) and (surname(0) or not surname(count - 1)) and cores[0].what == "word":
        tail = 1  # "Rossi Mario", "Wilson A."
        while tail < count - 1 and given(count - 1 - tail) and not surname(count - 1 - tail):
            tail += 1
        return count - tail, True
    spanish = language.startswith("es")
    if spanish and count == 2 and not given(0) and surname(0) and surname(1) and not (before_name or titled):
        return 0, False
    leading = 1
    while leading < count - 1 and given(leading):
        if surname(leading) and cores[leading].what != "initial":
            if spanish and count - leading - 1 < 2:
                break
            known = lists.given.get(cores[leading].key)
            if known is None or lists.surnames[cores[leading].key].band < known.band:
                break
        leading += 1
    if leading < count - 1 and cores[leading].key in _DEVOTIONS:  # "María de los Ángeles López"
        at = words.index(cores[leading])
        leading += at > 0 and words[at - 1].what == "particle"
    return leading, False


def _single(word: _Word, before: Sequence[str], titled: bool, language: str) -> int:
    """Whether a single word is a given name (1) or a surname (0)."""
    if word.what == "initial":
        return 1
    lists = gazetteers.names_of(gazetteers.known_language(language))
    known, surname = lists.given.get(word.key), lists.surnames.get(word.key)
    if before or titled:
        return int(known is not None and bool(before) and before[0] in _GIVEN_TITLES)
    if known is not None and surname is not None:
        return int(surname.band >= known.band)
    return int(known is not None or word.key in gazetteers.nicknames())


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


@lru_cache(maxsize=1 << 12)
def singular(word: str) -> str:
    """A folded surname without the s of "the Bakers"; a name of the lists, such as "Roberts", stays as it is."""
    lists = map(gazetteers.names_of, gazetteers.LANGUAGES)
    if len(word) < 5 or not word.endswith("s") or any(_listed(word, names) for names in lists):
        return word
    return word[:-1]


def same_word(one: str, other: str) -> bool:
    """Whether two folded words may be the same part of a name: equal, a plural, an initial, or a listed short form."""
    if singular(one) == singular(other):
        return True
    if len(one) == 1 or len(other) == 1:
        return one[:1] == other[:1]
    short = gazetteers.nicknames()
    return other in short.get(one, ()) or one in short.get(other, ())


def fullest(names: Iterable[NamedPerson]) -> NamedPerson:
    """One name with all given names and surnames of some forms of it. Words take the place of their initials."""
    return _fullest(tuple(dict.fromkeys((name.given, name.family, name.gender) for name in names)))


@lru_cache(maxsize=1 << 13)
def _fullest(names: tuple[tuple[tuple[str, ...], tuple[str, ...], str], ...]) -> NamedPerson:
    """`fullest` of given names, surnames and gender of each form."""
    given: list[str] = []
    family: list[str] = []
    gender = ""
    for its_given, its_family, its_gender in sorted(names, key=lambda name: (-len(name[0]) - len(name[1]), name[:2])):
        gender = gender or its_gender
        for target, found in ((given, its_given), (family, its_family)):
            for word in found:
                at = next((i for i, have in enumerate(target) if same_word(word, have)), None)
                if at is None:
                    target.append(word)
                elif len(target[at]) == 1 < len(word) or word == singular(target[at]):
                    target[at] = word
    return NamedPerson((), tuple(given), tuple(family), gender)
