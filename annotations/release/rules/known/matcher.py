"""Find the known identifiers of a person, and denied terms, in the text of a note."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from annotations.release.rules.known import days, reading
from annotations.release.rules.known.names import KnownNames
from annotations.release.rules.known.person import (
    EXTENSION,
    FIELD_KINDS,
    How,
    MasterPerson,
    Mention,
    apart,
    telephone_forms,
)
from annotations.release.rules.redaction.policy import IdentifierType

# Mentions of numbers and codes in a note, however their digits and letters are grouped.


# Codes with fewer characters can't be told from other numbers.
LEAST: Final = 4
# A number of this many digits or more is an identifier without a word that says so.
LEAST_BARE: Final = 5
_CODES: Final = ("phones", "zips", "national_ids", "records", "insurance", "ids")
_GROUPING: Final = frozenset(" \t\r\n -‐‑–./()·_")


class Codes:
    """The codes of a person, without separators, and all their beginnings."""

    def __init__(self, person: MasterPerson) -> None:
        self.kinds: dict[str, IdentifierType] = {}
        self.verbatim: set[str] = set()
        for name in _CODES:
            kind = FIELD_KINDS[name]
            for value in getattr(person, name):
                self.verbatim.add(value)
                for code in telephone_forms(value) if kind == IdentifierType.PHONE else _forms(value):
                    if len(code) >= LEAST:
                        self.kinds.setdefault(code, kind)
        self.prefixes = {code[:end] for code in self.kinds for end in range(1, len(code) + 1)}

    def find(self, note: reading.FoldedText) -> Iterator[Mention]:
        """The mentions of the codes in a note. They may overlap."""
        for word in note.places:
            bare = word.lstrip("0")
            if word in self.prefixes or bare in self.prefixes:
                for at in note.places[word]:
                    found = self._at(note, at, word if word in self.prefixes else bare)
                    if found is not None:
                        yield found

    def _at(self, note: reading.FoldedText, first: int, code: str) -> Mention | None:
        best, kind, at = -1, None, first
        while True:
            if code in self.kinds:
                best, kind, whole = at, self.kinds[code], code
            if code not in self.prefixes or at + 1 >= len(note.words):
                break
            gap = note.gap(at)
            new_line = "\n" in gap and len(code) < LEAST_BARE
            if len(gap) > 4 or new_line or not all(character in _GROUPING for character in gap):
                break
            at += 1
            code += note.words[at]
        if kind is None or not self._apart(note, first, best, whole):
            return None
        start, end = note.starts[first], note.ends[best]
        if kind == IdentifierType.PHONE:
            extension = EXTENSION.match(note.text, end)
            end = extension.end() if extension else end
        elif whole.isdigit() and best + 1 < len(note.words) and note.starts[best + 1] == end:
            # A check letter that the master leaves out.
            end = note.ends[best + 1] if len(note.words[best + 1]) == 1 else end
        if kind == IdentifierType.PHONE:
            while start and note.text[start - 1] in "+(" and note.starts[first] - start < 2:
                start -= 1
            while note.text[start] == "(" and ")" not in note.text[start:end]:
                start += 1
        return Mention(start, end, kind, How.EXACT if note.text[start:end] in self.verbatim else How.FORM)

    def _apart(self, note: reading.FoldedText, first: int, last: int, code: str) -> bool:
        """Whether the tokens are a code of their own, and not part of a longer code or of a figure."""
        start, end, text = note.starts[first], note.ends[last], note.text
        before, after = text[start - 1 : start], text[end : end + 1]
        if before.isalnum() and not (before.isalpha() and code[0].isdigit() and len(note.words[first - 1]) > 1):
            return False
        if after.isalnum() and not (
            after.isalpha() and (len(note.words[last + 1]) == 1 or after in "xX") and code[-1].isdigit()
        ):
            return False
        if not code.isdigit():
            return True
        if len(code) < LEAST_BARE:
            return first > 0 and note.words[first - 1] in reading.NUMBER_CUES
        if len(code) < 8:
            figure = before and before in ".,/" and text[start - 2 : start - 1].isdigit()
            return not figure and not (after and after in ".,/" and text[end + 1 : end + 2].isdigit())
        return True


def _forms(value: str) -> Iterator[str]:
    """The code without separators, and without leading zeros."""
    code = "".join(reading.FoldedText(value).words)
    yield code
    bare = code.lstrip("0")
    if bare != code and len(bare) >= LEAST_BARE:
        yield bare
    letters = re.match(r"[a-z]{2,4}(?=\d{5,}$)", code)
    if letters is not None:  # "MRN123456"
        yield code[letters.end() :]


# Mentions of a person's streets and cities in a note.


# The most words and numbers of an address after its name.
_LONGEST: Final = 12
_AROUND: Final = frozenset(" \t\r\n ,.-‐–/ºª°#'’()")
_SMALL: Final = reading.PARTICLES | reading.ADDRESS_WORDS
_CITY_JOINTS: Final = frozenset("/, \t\r\n -‐‑–'’.()")


@dataclass(frozen=True, slots=True)
class Street:
    """A street address in parts, all folded. `core`: the words of its name; `own`: all its words and numbers."""

    written: str
    core: tuple[str, ...]
    numbers: frozenset[str]
    own: frozenset[str]
    types: frozenset[str]

    @classmethod
    def of(cls, written: str) -> "Street | None":
        words = reading.FoldedText(written).words
        types = [word for word in words if word in reading.STREET_TYPES]
        named = [word for word in words if not word.isdigit() and word not in _SMALL]
        core = tuple(word for word in named if word not in reading.STREET_TYPES and len(word) > 1)
        if not core:  # "Calle Corso", "Place Street": the last type is a name
            core = tuple(named[-1:])
            types = types[:-1]
        if not core:
            return None
        numbers = frozenset(word for word in words if word.isdigit())
        kinds = frozenset(kind for each in types for kind in reading.STREET_TYPES[each])
        return cls(written, core, numbers, frozenset(words), kinds)


class Places:
    """The streets and cities of a person, ready to be looked up."""

    def __init__(self, person: MasterPerson) -> None:
        self.streets = [street for value in person.streets if (street := Street.of(value)) is not None]
        cities = [(value.strip(" \t'’.,"), tuple(reading.FoldedText(value).words)) for value in person.cities]
        self.cities = [(value, words) for value, words in cities if len("".join(words)) > 1]

    def find(self, note: reading.FoldedText) -> Iterator[Mention]:
        """The mentions of streets and cities in a note. They may overlap."""
        for street in self.streets:
            yield from _streets(note, street)
        for written, words in self.cities:
            yield from _cities(note, written, words)


def _streets(note: reading.FoldedText, street: Street) -> Iterator[Mention]:
    anchor = max(street.core, key=len)
    places = [(at, False) for at in note.places.get(anchor, ())]
    places += [(at, True) for near in note.near(anchor) for at in note.places[near]]
    for at, typo in places:
        first, typed = _left(note, street, at)
        last = _right(note, street, at)
        tokens = note.words[first : last + 1]
        core = sum(word in street.core for word in tokens) + typo
        abbreviated = typed
        typed = typed or any(_typed(word, street) for word in tokens)
        other = not abbreviated and any(
            word in reading.STREET_TYPES and not _typed(word, street) and street.types
            for word in tokens
            if word not in street.own
        )
        numbered = any(word in street.numbers for word in tokens)
        enough = (typed or numbered) if typo else (typed or numbered or core > 1)
        if not enough or other or (core == 1 and not numbered and not note.capital(at)):
            continue
        start, end = note.starts[first], note.ends[last]
        written = note.text[start:end]
        how = How.TYPO if typo else How.EXACT if written == street.written else How.FORM
        yield Mention(start, end, IdentifierType.STREET, how)


def _typed(word: str, street: Street) -> bool:
    return not street.types.isdisjoint(reading.STREET_TYPES.get(word, ()))


def _left(note: reading.FoldedText, street: Street, at: int) -> tuple[int, bool]:
    """The first token of the address, and whether an abbreviation with a point inside stands there."""
    typed = False
    first = reached = at
    while reached > 0 and at - reached < 8:
        gap = note.gap(reached - 1)
        word = note.words[reached - 1]
        if len(gap) > 4 or not all(character in _AROUND for character in gap) or gap.count("\n") > 1:
            break
        kept = word in street.core or word in street.numbers or _typed(word, street)
        if kept and not (word in street.numbers and "." in gap):
            if _typed(word, street) and word not in street.core:
                if typed:
                    break
                typed = True
            reached -= 1
            first = reached
        elif reached > 1 and note.gap(reached - 2) == "." and _typed(note.words[reached - 2] + word, street):
            reached -= 2  # "V.le", "C.so", "P.zza"
            first, typed = reached, True
        elif word in reading.PARTICLES or (len(word) == 1 and any(core[0] == word for core in street.core)):
            reached -= 1
        else:
            break
    return first, typed


def _right(note: reading.FoldedText, street: Street, at: int) -> int:
    last = reached = at
    while reached + 1 < len(note.words) and reached - last < 3 and reached - at < _LONGEST:
        gap = note.gap(reached)
        word = note.words[reached + 1]
        if len(gap) > 5 or not all(character in _AROUND for character in gap) or gap.count("\n") > 1:
            break
        if (word in street.own and word not in reading.PARTICLES) or (_typed(word, street) and "\n" not in gap):
            reached += 1
            last = reached
        elif word in _SMALL:
            reached += 1
        else:
            break
    return last


def _cities(note: reading.FoldedText, written: str, words: tuple[str, ...]) -> Iterator[Mention]:
    places = [(at, False) for at in note.places.get(words[0], ())]
    places += [(at, True) for near in note.near(words[0]) for at in note.places[near]]
    common = len(words) == 1 and (reading.ordinary(words[0]) or len(words[0]) < 3)
    for first, typo in places:
        last = first + len(words) - 1
        if last >= len(note.words) or not note.capital(first):
            continue
        if any(not _alike(note.words[first + step], word) for step, word in enumerate(words[1:], 1)):
            continue
        if any(set(note.gap(at)) - _CITY_JOINTS or len(note.gap(at)) > 4 for at in range(first, last)):
            continue
        exact = note.text[note.starts[first] : note.ends[last]] == written
        if common and not exact and not _in_address(note, first):
            continue
        numbered = last + 1 < len(note.words) and note.words[last + 1].isdigit()
        if exact and numbered and words[0] in reading.ADDRESS_WORDS:
            continue
        wrong = typo or any(note.words[first + step] != word for step, word in enumerate(words))
        start, end = note.starts[first], note.ends[last]
        how = How.TYPO if wrong else How.EXACT if exact else How.FORM
        yield Mention(start, end, IdentifierType.CITY, how)


def _alike(one: str, other: str) -> bool:
    return one == other or (len(other) >= reading.LEAST_FOR_TYPO and reading.is_typo(one, other))


def _in_address(note: reading.FoldedText, at: int) -> bool:
    """Whether a ZIP code or a comma stands before the word, or a preposition of place."""
    if at == 0:
        return False
    before = note.words[at - 1]
    return before.isdigit() or note.gap(at - 1).strip() == "," or before in ("en", "in", "a", "from", "de", "da", "di")


# Raise this number when the same people, terms and texts can give other mentions.
VERSION: Final = 2
_AT: Final = re.compile(r"\s?(?:@|\(at\)|\[at\]|\(a\))\s?", re.IGNORECASE)
_LOCAL: Final = re.compile(r"[\w.+%-]+$")
_DOMAIN: Final = re.compile(r"[\w-]+(?:\.[\w-]+)+")
_LONGEST_LOCAL: Final = 64
_TERM_JOINTS: Final = frozenset(" \t\r\n -‐‑–'’.,/_&")
_LONGEST_GAP: Final = 4


class DenyList:
    """The terms of a deny list, with the code of each term's label. They are found without case and accents."""

    def __init__(self, terms: Iterable[tuple[str, str]]) -> None:
        self._by_first: dict[str, list[tuple[str, tuple[str, ...], str]]] = {}
        for text, label in terms:
            words = tuple(reading.FoldedText(text).words)
            if words:
                self._by_first.setdefault(words[0], []).append((text, words, label))

    def find(self, note: reading.FoldedText) -> Iterator[Mention]:
        """The mentions of the terms in a note. They may overlap."""
        for word in self._by_first.keys() & note.places.keys():
            for _text, words, label in self._by_first[word]:
                for first in note.places[word]:
                    last = first + len(words) - 1
                    if tuple(note.words[first : last + 1]) == words and _close(note, first, last):
                        yield Mention(note.starts[first], note.ends[last], IdentifierType.OTHER, How.DENIED, label)


def _close(note: reading.FoldedText, first: int, last: int) -> bool:
    gaps = [note.gap(at) for at in range(first, last)]
    return all(len(gap) <= _LONGEST_GAP and _TERM_JOINTS.issuperset(gap) for gap in gaps)


class Profile:
    """A person's identifiers, prepared once for all of the person's notes."""

    def __init__(self, person: MasterPerson) -> None:
        self._names = KnownNames(person)
        self._codes = Codes(person)
        self._places = Places(person)
        self._days = [day for value in person.birth_dates if (day := days.day_of(value)) is not None]
        self._emails = {value.strip().casefold(): value for value in person.emails}

    def find(self, note: reading.FoldedText) -> Iterator[Mention]:
        """The mentions of the person in a note. They may overlap."""
        yield from self._names.find(note)
        if self._codes.kinds:
            yield from self._codes.find(note)
        yield from self._places.find(note)
        if self._days:
            for start, end in days.mentions(note, self._days):
                yield Mention(start, end, IdentifierType.DATE, How.FORM)
        if self._emails:
            yield from self._addresses(note.text)

    def _addresses(self, text: str) -> Iterator[Mention]:
        """The mentions of the e-mail addresses."""
        for sign in _AT.finditer(text):
            before = max(0, sign.start() - _LONGEST_LOCAL)
            local = _LOCAL.search(text[before : sign.start()])
            domain = _DOMAIN.match(text, sign.end())
            if local and domain and (own := self._emails.get(f"{local[0]}@{domain[0]}".casefold())):
                start, end = before + local.start(), domain.end()
                yield Mention(start, end, IdentifierType.EMAIL, How.EXACT if text[start:end] == own else How.FORM)


def find(
    text: str, profile: Profile | None, denied: DenyList, allowed: Sequence[str] | frozenset[str] = ()
) -> list[Mention]:
    """The mentions in a text of the person and of denied terms, apart from each other and in order.

    `allowed` are folded terms that are not taken for a part of a name or for a name with a typo.
    """
    note = reading.FoldedText(text)
    mentions = [*denied.find(note)]
    if profile is not None:
        mentions += profile.find(note)
    if allowed:
        mentions = [
            each
            for each in mentions
            if each.how not in (How.PART, How.TYPO) or reading.folded(text[each.start : each.end]) not in allowed
        ]
    return apart(text, mentions)
