"""Find the known identifiers of a person, and denied terms, in the text of a note."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from annotations.release.rules.known import days
from annotations.release.rules.known.codes import Codes
from annotations.release.rules.known.folding import folded
from annotations.release.rules.known.mention import How, Mention, apart
from annotations.release.rules.known.names import Names
from annotations.release.rules.known.person import Person
from annotations.release.rules.known.places import Places
from annotations.release.rules.known.reading import Reading
from annotations.release.rules.redaction.kinds import Kind

# Raise this number when the same people, terms and texts can give other mentions.
VERSION: Final = 2
_AT: Final = re.compile(r"\s?(?:@|\(at\)|\[at\]|\(a\))\s?", re.IGNORECASE)
_LOCAL: Final = re.compile(r"[\w.+%-]+$")
_DOMAIN: Final = re.compile(r"[\w-]+(?:\.[\w-]+)+")
_LONGEST_LOCAL: Final = 64
_TERM_JOINTS: Final = frozenset(" \t\r\n -‐‑–'’.,/_&")
_LONGEST_GAP: Final = 4


class Denied:
    """The terms of a deny list, with the code of each term's label. They are found without case and accents."""

    def __init__(self, terms: Iterable[tuple[str, str]]) -> None:
        self._by_first: dict[str, list[tuple[str, tuple[str, ...], str]]] = {}
        for text, label in terms:
            words = tuple(Reading(text).words)
            if words:
                self._by_first.setdefault(words[0], []).append((text, words, label))

    def find(self, note: Reading) -> Iterator[Mention]:
        """The mentions of the terms in a note. They may overlap."""
        for word in self._by_first.keys() & note.places.keys():
            for _text, words, label in self._by_first[word]:
                for first in note.places[word]:
                    last = first + len(words) - 1
                    if tuple(note.words[first : last + 1]) == words and _close(note, first, last):
                        yield Mention(note.starts[first], note.ends[last], Kind.OTHER, How.DENIED, label)


def _close(note: Reading, first: int, last: int) -> bool:
    gaps = [note.gap(at) for at in range(first, last)]
    return all(len(gap) <= _LONGEST_GAP and _TERM_JOINTS.issuperset(gap) for gap in gaps)


class Profile:
    """A person's identifiers, prepared once for all of the person's notes."""

    def __init__(self, person: Person) -> None:
        self._names = Names.of(person)
        self._codes = Codes.of(person)
        self._places = Places.of(person)
        self._days = [day for value in person.birth_dates if (day := days.day_of(value)) is not None]
        self._emails = {value.strip().casefold(): value for value in person.emails}

    def find(self, note: Reading) -> Iterator[Mention]:
        """The mentions of the person in a note. They may overlap."""
        yield from self._names.find(note)
        if self._codes.kinds:
            yield from self._codes.find(note)
        yield from self._places.find(note)
        if self._days:
            for start, end in days.mentions(note, self._days):
                yield Mention(start, end, Kind.DATE, How.FORM)
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
                yield Mention(start, end, Kind.EMAIL, How.EXACT if text[start:end] == own else How.FORM)


def find(
    text: str, profile: Profile | None, denied: Denied, allowed: Sequence[str] | frozenset[str] = ()
) -> list[Mention]:
    """The mentions in a text of the person and of denied terms, apart from each other and in order.

    `allowed` are folded terms that are not taken for a part of a name or for a name with a typo.
    """
    note = Reading(text)
    mentions = [*denied.find(note)]
    if profile is not None:
        mentions += profile.find(note)
    if allowed:
        mentions = [
            each
            for each in mentions
            if each.how not in (How.PART, How.TYPO) or folded(text[each.start : each.end]) not in allowed
        ]
    return apart(text, mentions)
