"""Mentions of a person's streets and cities in a note."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from rapidfuzz.distance import OSA

from annotations.release.rules.known.mention import How, Mention
from annotations.release.rules.known.person import Person
from annotations.release.rules.known.reading import Reading
from annotations.release.rules.known.words import ADDRESS_WORDS, PARTICLES, STREET_TYPES, common_words, ordinary
from annotations.release.rules.redaction.kinds import Kind

_LEAST_FOR_TYPO: Final = 5
# The most words and numbers of an address after its name.
_LONGEST: Final = 12
_AROUND: Final = frozenset(" \t\r\n ,.-‐–/ºª°#'’()")
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
        words = Reading(written).words
        types = [word for word in words if word in STREET_TYPES]
        named = [word for word in words if not word.isdigit() and word not in PARTICLES and word not in ADDRESS_WORDS]
        core = tuple(word for word in named if word not in STREET_TYPES and len(word) > 1)
        if not core:  # "Calle Corso", "Place Street": the last type is a name
            core = tuple(named[-1:])
            types = types[:-1]
        if not core:
            return None
        numbers = frozenset(word for word in words if word.isdigit())
        return cls(
            written, core, numbers, frozenset(words), frozenset(kind for each in types for kind in STREET_TYPES[each])
        )


@dataclass(slots=True)
class Places:
    """The streets and cities of a person, ready to be looked up."""

    streets: list[Street] = field(default_factory=list)
    cities: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)

    @classmethod
    def of(cls, person: Person) -> "Places":
        """Prepare a person's addresses."""
        streets = [street for value in person.streets if (street := Street.of(value)) is not None]
        cities = [(value.strip(" \t'’.,"), tuple(Reading(value).words)) for value in person.cities]
        return cls(streets, [(value, words) for value, words in cities if words and len("".join(words)) > 1])

    def find(self, note: Reading) -> Iterator[Mention]:
        """The mentions of streets and cities in a note. They may overlap."""
        for street in self.streets:
            yield from _streets(note, street)
        for written, words in self.cities:
            yield from _cities(note, written, words)


def _streets(note: Reading, street: Street) -> Iterator[Mention]:
    anchor = max(street.core, key=len)
    places = [(at, False) for at in note.places.get(anchor, ())]
    places += [(at, True) for near in _near(note, anchor) for at in note.places[near]]
    for at, typo in places:
        first, typed = _left(note, street, at)
        last = _right(note, street, at)
        tokens = note.words[first : last + 1]
        core = sum(word in street.core for word in tokens) + typo
        abbreviated = typed
        typed = typed or any(_typed(word, street) for word in tokens)
        other = not abbreviated and any(
            word in STREET_TYPES and not _same_type(word, street) for word in tokens if word not in street.own
        )
        numbered = any(word in street.numbers for word in tokens)
        enough = (typed or numbered) if typo else (typed or numbered or core > 1)
        if not enough or other or (core == 1 and not numbered and not note.capital(at)):
            continue
        start, end = note.starts[first], note.ends[last]
        written = note.text[start:end]
        how = How.TYPO if typo else How.EXACT if written == street.written else How.FORM
        yield Mention(start, end, Kind.STREET, how)


def _same_type(word: str, street: Street) -> bool:
    return _typed(word, street) or not street.types


def _typed(word: str, street: Street) -> bool:
    return not street.types.isdisjoint(STREET_TYPES.get(word, ()))


def _left(note: Reading, street: Street, at: int) -> tuple[int, bool]:
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
        elif word in PARTICLES or (len(word) == 1 and any(core[0] == word for core in street.core)):
            reached -= 1
        else:
            break
    return first, typed


def _right(note: Reading, street: Street, at: int) -> int:
    last = reached = at
    while reached + 1 < len(note.words) and reached - last < 3 and reached - at < _LONGEST:
        gap = note.gap(reached)
        word = note.words[reached + 1]
        if len(gap) > 5 or not all(character in _AROUND for character in gap) or gap.count("\n") > 1:
            break
        if (word in street.own and word not in PARTICLES) or (_typed(word, street) and "\n" not in gap):
            reached += 1
            last = reached
        elif word in ADDRESS_WORDS or word in PARTICLES:
            reached += 1
        else:
            break
    return last


def _cities(note: Reading, written: str, words: tuple[str, ...]) -> Iterator[Mention]:
    places = [(at, False) for at in note.places.get(words[0], ())]
    places += [(at, True) for near in _near(note, words[0]) for at in note.places[near]]
    for first, typo in places:
        last = first + len(words) - 1
        if last >= len(note.words) or not note.capital(first):
            continue
        if any(not _alike(note.words[first + step], word) for step, word in enumerate(words[1:], 1)):
            continue
        if any(set(note.gap(at)) - _CITY_JOINTS or len(note.gap(at)) > 4 for at in range(first, last)):
            continue
        exact = note.text[note.starts[first] : note.ends[last]] == written
        if len(words) == 1 and (ordinary(words[0]) or len(words[0]) < 3) and not exact and not _in_address(note, first):
            continue
        if exact and last + 1 < len(note.words) and words[0] in ADDRESS_WORDS and note.words[last + 1].isdigit():
            continue
        wrong = typo or any(note.words[first + step] != word for step, word in enumerate(words))
        start, end = note.starts[first], note.ends[last]
        how = How.TYPO if wrong else How.EXACT if exact else How.FORM
        yield Mention(start, end, Kind.CITY, how)


def _alike(one: str, other: str) -> bool:
    return one == other or (len(other) >= _LEAST_FOR_TYPO and OSA.distance(one, other, score_cutoff=1) == 1)


def _in_address(note: Reading, at: int) -> bool:
    """Whether a ZIP code or a comma stands before the word, or a preposition of place."""
    if at == 0:
        return False
    before = note.words[at - 1]
    return before.isdigit() or note.gap(at - 1).strip() == "," or before in ("en", "in", "a", "from", "de", "da", "di")


def _near(note: Reading, own: str) -> Iterator[str]:
    if len(own) < _LEAST_FOR_TYPO:
        return
    for near in {*note.heads.get(own[:2], ()), *note.tails.get(own[-2:], ())}:
        if OSA.distance(own, near, score_cutoff=1) == 1 and near not in common_words():
            yield near
