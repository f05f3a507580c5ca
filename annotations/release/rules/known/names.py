"""Mentions of a person's names in a note, in every spelling.

A name is found as a chain of its words: given names, surnames, their initials, and the particles between them. What a
chain needs to be a mention depends on what is in it: a given name and a surname are always one; a given name alone is
not where it stands beside another surname.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntFlag
from pathlib import Path
from typing import Final

from annotations.release.rules.known import reading
from annotations.release.rules.known.person import How, MasterPerson, Mention, full_names
from annotations.release.rules.redaction.policy import IdentifierType
from annotations.text.search import lines_of

_LISTED: Final = lines_of(Path(__file__).with_name("data") / "short_names.txt")
_SHORT: Final = {name: short for name, *short in map(str.split, _LISTED)}
_ABBREVIATIONS: Final = frozenset(short for shorts in _SHORT.values() for short in shorts)
_JOINTS: Final = frozenset(" \t\r\n ,.-‐‑–'’´`/_·")
_LONGEST_GAP: Final = 8
# The most words and initials of a name.
_LONGEST: Final = 12


class Role(IntFlag):
    GIVEN = 1
    FAMILY = 2


@dataclass(frozen=True, slots=True)
class ChainWord:
    """A word of a chain: tokens `first` to `last`."""

    first: int
    last: int
    role: Role
    word: str
    typo: bool = False
    initial: bool = False


class KnownNames:
    """The words of a person's names, ready to be looked up. All are folded.

    `before`: particles before a word of a surname, "cruz" → ("de", "la"). `orders`: the initials of whole names, "mr"
    for Mario Rossi.
    """

    def __init__(self, person: MasterPerson) -> None:
        self.words: dict[str, Role] = {}
        self.before: dict[str, tuple[str, ...]] = {}
        self.verbatim = {*full_names(person), *person.relatives}
        self.initials: dict[str, Role] = {}
        self.orders: set[str] = set()
        for role, values in ((Role.GIVEN, person.given), (Role.FAMILY, (*person.family, *person.second_family))):
            for value in values:
                self._add(value, role)
        for relative in person.relatives:
            given, family = _split(relative)
            self._add(given, Role.GIVEN)
            self._add(family, Role.FAMILY)
        for given in person.given:
            firsts = "".join(word[0] for word in _words(given))
            for at, family in enumerate(person.family):
                second = person.second_family[at : at + 1]
                lasts = "".join(word[0] for part in (family, *second) for word in _words(part)[:1])
                for some in {lasts, lasts[:1]}:
                    self.orders.update((firsts + some, firsts[:1] + some, some + firsts, some + firsts[:1]))
        self.typos = tuple(word for word in self.words if len(word) >= reading.LEAST_FOR_TYPO)
        self.prefixes = {word[:end] for word in self.words for end in range(1, len(word))}

    def _add(self, name: str, role: Role) -> None:
        folded = _words(name, particles=True)
        self.verbatim.add(name)
        pending: list[str] = []
        for word in folded:
            if word in reading.PARTICLES and len(folded) > 1:
                pending.append(word)
                continue
            if len(word) == 1:
                self.initials[word] = self.initials.get(word, Role(0)) | role
                continue
            self._word(word, role)
            if pending:
                self.before.setdefault(word, tuple(pending))
                self._word("".join(pending) + word, role)
            pending = []
        proper = [word for word in folded if word not in reading.PARTICLES and len(word) > 1]
        if len(proper) > 1:
            self._word("".join(proper), role)

    def _word(self, word: str, role: Role) -> None:
        self.words[word] = self.words.get(word, Role(0)) | role
        self.initials[word[0]] = self.initials.get(word[0], Role(0)) | role
        for short in _SHORT.get(word, ()):
            self.words.setdefault(short, role)

    def find(self, note: reading.FoldedText) -> Iterator[Mention]:
        """The mentions of the names in a note. They may overlap."""
        if not self.words:
            return
        parts = self._parts(note)
        used = -1
        for at in sorted(parts):
            if at <= used:
                continue
            chain = self._chain(note, parts, parts[at], used)
            used = chain[-1].last
            found = self._judged(note, chain)
            if found is not None:
                yield found
        yield from self._only_initials(note)

    def _parts(self, note: reading.FoldedText) -> dict[int, ChainWord]:
        """The words of the names in the note, by their first token: as they are, joined otherwise, or with a typo."""
        found: dict[int, ChainWord] = {}
        places = note.places
        for own in self.typos:
            for near in note.near(own):
                for at in places[near] if near not in self.words else ():
                    found[at] = ChainWord(at, at, self.words[own], own, typo=True)
        for word in self.prefixes & places.keys():
            for at in places[word]:
                joined = self._joined(note, at)
                if joined is not None:
                    found.setdefault(at, joined)
        for word in self.words.keys() & places.keys():
            for at in places[word]:
                longer = found.get(at)
                if longer is None or longer.typo or longer.last == at:
                    found[at] = ChainWord(at, at, self.words[word], word)
        return found

    def _joined(self, note: reading.FoldedText, first: int) -> ChainWord | None:
        """A word that the note writes in several parts: at a hyphen, an apostrophe, a space or the end of a line."""
        word, at = note.words[first], first
        while at + 1 < len(note.words) and at - first < 3:
            gap = note.gap(at)
            if len(gap) > _LONGEST_GAP or gap.strip(" \t\r\n-‐‑'’´`­"):
                return None
            at += 1
            word += note.words[at]
            if word in self.words:
                return ChainWord(first, at, self.words[word], word)
            if word not in self.prefixes:
                return None
        return None

    def _chain(
        self, note: reading.FoldedText, parts: dict[int, ChainWord], seed: ChainWord, used: int
    ) -> list[ChainWord]:
        chain = [seed]
        while len(chain) < _LONGEST and (following := self._next(note, parts, chain[-1].last)) is not None:
            if not following.initial and any(part.word == following.word for part in chain):
                break  # the name again
            chain.append(following)
        while len(chain) < _LONGEST and (preceding := self._previous(note, chain[0].first, used)) is not None:
            chain.insert(0, preceding)
        return chain

    def _next(self, note: reading.FoldedText, parts: dict[int, ChainWord], last: int) -> ChainWord | None:
        """The next word of a chain, perhaps after particles or one foreign middle initial or name."""
        at, total = last + 1, len(note.words)
        if at >= total or not _joint(note.gap(last), sentence=_ends_sentence(note.words[last])):
            return None
        if at in parts:
            return parts[at]
        initial = self._initial(note, at)
        if initial is not None and "\n" not in note.gap(last):
            return initial
        ahead = at
        while (
            ahead + 1 < total and ahead - at < 3 and note.words[ahead] in reading.PARTICLES and _joint(note.gap(ahead))
        ):
            ahead += 1
        if ahead > at and ahead in parts:
            return parts[ahead]
        between = note.gap(last)
        if at + 1 < total and between in (" ", "\n") and at + 1 in parts and note.capital(at):
            middle = note.words[at]
            # Another middle name or its initial: "Mario G. Rossi", "Mario Luca Rossi".
            alone = len(middle) == 1 and note.gap(at) in (" ", ". ", ".")
            name = len(middle) > 2 and note.gap(at) == " " and middle in reading.usual_names()
            pair = parts[at + 1].role & Role.FAMILY and not parts[at + 1].typo and last in parts
            if pair and (alone or name) and parts[last].role & Role.GIVEN:
                return parts[at + 1]
        return None

    def _previous(self, note: reading.FoldedText, first: int, used: int) -> ChainWord | None:
        at = first - 1
        if at <= used:
            return None
        particles = self.before.get(note.words[first], ())
        if particles and note.words[at] == particles[-1] and note.gap(at).strip("'’ \t\r\n") == "":
            # The part covers all particles that stand there.
            start = at
            for wanted in reversed(particles[:-1]):
                if start - 1 > used and note.words[start - 1] == wanted and not note.gap(start - 1).strip():
                    start -= 1
            return ChainWord(start, at, Role(0), "")
        initial = self._initial(note, at, before=True)
        return initial if initial is not None and _joint(note.gap(at)) else None

    def _initial(self, note: reading.FoldedText, at: int, *, before: bool = False) -> ChainWord | None:
        """One initial, or two without a point between them ("MG Rossi")."""
        word = note.words[at]
        if len(word) > 2 or not all(letter in self.initials for letter in word) or word[0] < "a":
            return None
        start, end = note.starts[at], note.ends[at]
        if not note.text[start:end].isupper():
            return None
        if len(word) == 2 and (word not in self.orders and not all(self.initials[each] & Role.GIVEN for each in word)):
            return None
        if note.text[start - 1 : start].isalnum():  # the last letter of a code
            return None
        following = note.text[end : end + 1]
        if before:
            joined = following in ("", ".", "-") or (following == " " and len(word) <= 2)
        else:
            joined = following in ("", ".", "-", ",", ";", ")", "\n", "\r", ":")
        return ChainWord(at, at, self.initials[word[0]], word, initial=True) if joined else None

    def _judged(self, note: reading.FoldedText, chain: list[ChainWord]) -> Mention | None:
        """The chain as a mention, or None where it is more likely something else."""
        full = [part for part in chain if part.word and not part.initial]
        first, last = chain[0].first, chain[-1].last
        typo = any(part.typo for part in full)
        words = {part.word for part in full}
        several = len(words) > 1
        initials = [part for part in chain if part.initial]
        if several:
            if not any(note.capital(part.first) for part in full) and all(_common(note, part) for part in full):
                return None
            if typo and sum(not part.typo for part in full) == 0:
                return None
        elif not self._alone(note, full[0], bool(initials), first, last):
            if not initials or not self._alone(note, full[0], False, full[0].first, full[0].last):
                return None
            first, last, initials = full[0].first, full[0].last, []
        start, end = note.starts[first], note.ends[last]
        if chain[-1].initial and last == chain[-1].last and note.text[end : end + 1] == ".":
            end += 1
        written = note.text[start:end]
        if typo:
            how = How.TYPO
        elif written in self.verbatim:
            how = How.EXACT
        elif initials:
            how = How.INITIALS
        elif several:
            how = How.ORDER
        else:
            how = How.PART
        return Mention(start, end, IdentifierType.NAME, how)

    def _alone(self, note: reading.FoldedText, part: ChainWord, initials: bool, first: int, last: int) -> bool:
        """Whether a single word of the names, with initials or without, is a mention."""
        at, word = part.first, note.words[part.first] if part.first == part.last else part.word
        capital = note.capital(at)
        if initials:
            return capital and not part.typo
        if _eponym(note, part.first, part.last):
            return False
        before = note.words[at - 1] if at > 0 else ""
        follows = before in reading.CUES or before in self.words
        cued = follows and len(gap := note.gap(at - 1)) < 4 and "\n" not in gap.strip(" ")
        if not capital and (reading.ordinary(word) or len(word) < 3):
            return False
        if word in reading.common_words() or len(word) < 3:
            return not part.typo and (cued or (reading.lone_capital(note, at) and word not in reading.ALWAYS_CAPITAL))
        if part.typo:
            fine = capital and word not in reading.usual_names() and part.first == part.last
            return fine and not self._beside_another(note, first, last)
        if not capital and word in reading.PARTICLES:
            return False
        return cued or not self._beside_another(note, first, last)

    def _beside_another(self, note: reading.FoldedText, first: int, last: int) -> bool:
        """Whether a capitalized name that is not the person's stands directly before or after."""
        for at, between in ((first - 1, first - 1), (last + 1, last)):
            if not 0 <= at < len(note.words) or note.gap(between) not in (" ", "-", ", "):
                continue
            word = note.words[at]
            if note.gap(between) == ", " and at > last:
                continue
            names = word in reading.usual_names() and word not in reading.common_words()
            if names and len(word) > 1 and note.capital(at) and word not in self.words:
                return True
        return False

    def _only_initials(self, note: reading.FoldedText) -> Iterator[Mention]:
        """All initials of the name with points: "M.R." after a word for the patient, "J.G.P." anywhere."""
        for at in self._dotted(note):
            letters, last = note.words[at], at
            while (
                last - at < _LONGEST
                and last + 1 < len(note.words)
                and note.gap(last) in (".", ". ", ".-")
                and len(note.words[last + 1]) == 1
            ):
                last += 1
                letters += note.words[last]
            following = note.text[note.ends[last] : note.ends[last] + 1]
            if len(letters) < 2 or letters not in self.orders or following != ".":
                continue
            before = at > 0 and note.words[at - 1] in reading.CUES
            if before or len(letters) > 2:
                yield Mention(note.starts[at], note.ends[last] + 1, IdentifierType.NAME, How.INITIALS)

    def _dotted(self, note: reading.FoldedText) -> Iterator[int]:
        for letter in {order[0] for order in self.orders if order}:
            for at in note.places.get(letter, ()):
                before = note.words[at - 1] if at else ""
                lone = len(before) != 1 or before in reading.CUES or note.gap(at - 1) not in (".", ". ", ".-")
                if lone and note.capital(at) and note.text[note.ends[at] : note.ends[at] + 1] == ".":
                    yield at


def _split(name: str) -> tuple[str, str]:
    """Given and family part of a full name: at a comma, else after the first word, or the second of four."""
    family, comma, given = name.partition(",")
    if comma:
        return given.strip(), family.strip()
    words = name.split()
    cut = 2 if len(words) > 3 and words[1].lower() not in reading.PARTICLES else 1
    return " ".join(words[:cut]), " ".join(words[cut:])


def _words(name: str, *, particles: bool = False) -> list[str]:
    found = reading.FoldedText(name).words
    return [word for word in found if word[0] > "9" and (particles or word not in reading.PARTICLES or len(found) == 1)]


def _ends_sentence(word: str) -> bool:
    """Whether a point after the word ends a sentence: it is neither an initial nor an abbreviation."""
    return len(word) > 2 and word not in _ABBREVIATIONS


def _joint(gap: str, *, sentence: bool = False) -> bool:
    """Whether two words with this between them may be parts of one name. `sentence`: a point ends a sentence."""
    if len(gap) > _LONGEST_GAP or gap.count("\n") > 1:
        return False
    if gap == " ":
        return True
    return all(character in _JOINTS for character in gap) and not (sentence and "." in gap)


def _common(note: reading.FoldedText, part: ChainWord) -> bool:
    return note.words[part.first] in reading.common_words()


def _eponym(note: reading.FoldedText, first: int, last: int) -> bool:
    """Whether the word is part of a name for a disease, a test or a device."""
    at = first - 1
    while at >= 0 and first - at < 4 and note.words[at] in reading.PARTICLES:
        at -= 1
    if at >= 0 and note.words[at] in reading.EPONYM_HEADS and "\n" not in note.gap(at):
        return True
    after = last + 1
    if after < len(note.words) and note.words[after] == "s" and note.gap(last) in ("'", "’"):
        after += 1
    return after < len(note.words) and note.words[after] in reading.EPONYM_TAILS and len(note.gap(after - 1)) < 3
