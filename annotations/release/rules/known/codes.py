"""Mentions of numbers and codes in a note, however their digits and letters are grouped."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from annotations.release.rules.known.mention import How, Mention
from annotations.release.rules.known.person import Person
from annotations.release.rules.known.reading import Reading
from annotations.release.rules.known.words import NUMBER_CUES
from annotations.release.rules.redaction.kinds import Kind
from annotations.release.rules.telephones import EXTENSION, telephone_forms

# Codes with fewer characters can't be told from other numbers.
LEAST: Final = 4
# A number of this many digits or more is an identifier without a word that says so.
LEAST_BARE: Final = 5
_KINDS: Final = {
    "phones": Kind.PHONE,
    "zips": Kind.ZIP,
    "national_ids": Kind.NATIONAL_ID,
    "records": Kind.RECORD,
    "insurance": Kind.HEALTH_PLAN,
    "ids": Kind.ID,
}
_GROUPING: Final = frozenset(" \t\r\n -‐‑–./()·_")


@dataclass(slots=True)
class Codes:
    """The codes of a person, without separators, and all their beginnings."""

    kinds: dict[str, Kind] = field(default_factory=dict)
    prefixes: set[str] = field(default_factory=set)
    verbatim: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, person: Person) -> "Codes":
        """Prepare a person's numbers and codes."""
        made = cls()
        for name, kind in _KINDS.items():
            for value in getattr(person, name):
                made.verbatim.add(value)
                for code in telephone_forms(value) if kind == Kind.PHONE else _forms(value):
                    if len(code) >= LEAST:
                        made.kinds.setdefault(code, kind)
        made.prefixes = {code[:end] for code in made.kinds for end in range(1, len(code) + 1)}
        return made

    def find(self, note: Reading) -> Iterator[Mention]:
        """The mentions of the codes in a note. They may overlap."""
        for word in note.places:
            bare = word.lstrip("0")
            if word in self.prefixes or bare in self.prefixes:
                for at in note.places[word]:
                    found = self._at(note, at, word if word in self.prefixes else bare)
                    if found is not None:
                        yield found

    def _at(self, note: Reading, first: int, code: str) -> Mention | None:
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
        if kind == Kind.PHONE:
            extension = EXTENSION.match(note.text, end)
            end = extension.end() if extension else end
        elif whole.isdigit() and best + 1 < len(note.words) and note.starts[best + 1] == end:
            # A check letter that the master leaves out.
            end = note.ends[best + 1] if len(note.words[best + 1]) == 1 else end
        if kind == Kind.PHONE:
            while start and note.text[start - 1] in "+(" and note.starts[first] - start < 2:
                start -= 1
            while note.text[start] == "(" and ")" not in note.text[start:end]:
                start += 1
        return Mention(start, end, kind, How.EXACT if note.text[start:end] in self.verbatim else How.FORM)

    def _apart(self, note: Reading, first: int, last: int, code: str) -> bool:
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
            return first > 0 and note.words[first - 1] in NUMBER_CUES
        if len(code) < 8:
            figure = before and before in ".,/" and text[start - 2 : start - 1].isdigit()
            return not figure and not (after and after in ".,/" and text[end + 1 : end + 2].isdigit())
        return True


def _forms(value: str) -> Iterator[str]:
    """The code without separators, and without leading zeros."""
    code = "".join(Reading(value).words)
    yield code
    bare = code.lstrip("0")
    if bare != code and len(bare) >= LEAST_BARE:
        yield bare
    letters = re.match(r"[a-z]{2,4}(?=\d{5,}$)", code)
    if letters is not None:  # "MRN123456"
        yield code[letters.end() :]
