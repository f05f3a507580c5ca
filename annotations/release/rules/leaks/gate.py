"""The leak gate: no labeled string and no known identifier may occur in a released text.

Text and strings are folded (case, accents), and strings match whole words only, whatever stands between the words. Each
string is also sought by its parts of four letters or more, except dates and ages; a person's name also by shorter parts
where a name stands, with its letters apart or joined (`spacing`), and misspelled (`misspelled`); a street without its
type; a number of seven digits or more, in a code six, in any grouping (`digits`); a date in any notation (`dated`). All
of it is also sought in a text with encoded letters (`encoded`). Named exceptions let a string stay:

* `allowed`: a term that the project allows.
* `short`: a single letter, or a number of one or two digits.
* `generic`: generic words only, such as "Hospital General" (`generic`).
* `description`: a part of a profession or of another description in common words.
* `lower case`: a part of a place's or an institution's name, written as a common word: "canal", from "Calle Canal 2",
  or "mayor, 15" from "Calle Mayor 15".
* `kept`: the policy keeps a span here, or the part occurs in a span of the note that it keeps.
* `generalized`: a value that the policy itself made: the year of a date, a region, a shifted month.

Placeholders and hashes are not searched. Offsets are code points, end-exclusive.
"""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Final, TypeVar

from annotations.release.rules.known.reading import ALWAYS_CAPITAL, CUES, FoldedText, lone_capital
from annotations.release.rules.leaks.digits import Numbers, Place, numbers_of
from annotations.release.rules.leaks.encoded import DecodedText, is_encoded
from annotations.release.rules.leaks.needles import LOCATIONS, PART_LETTERS, Needle, Sought, is_part, is_short_name
from annotations.release.rules.leaks.prepared import PreparedNeedles, Strings, Worded
from annotations.release.rules.redaction.dates import names_day
from annotations.release.rules.redaction.policy import DESCRIPTIONS, Action, IdentifierType
from annotations.release.rules.redaction.released import BARRIER, TITLES, Pieces, ReplacedPiece, blanked, piece_around
from annotations.text.search import WORD, FoldableText, all_words, lines_of, plain_words, words
from annotations.text.spans import Bounds

# Generic words, which may stay in a released text although a labeled string contains them: hospital, calle, marzo.
#
# The lists are our own: words of institutions, streets, departments, months, weekdays, units and the like, one language
# in each file. A comment starts with "#".


LANGUAGES: Final = ("en", "es", "it")


def generic_words(languages: Iterable[str]) -> frozenset[str]:
    """The folded generic words of these languages; of all three if none of them is known."""
    known = [language for language in LANGUAGES if language in set(languages)]
    return frozenset().union(*map(_listed, known or LANGUAGES))


@cache
def _listed(language: str) -> frozenset[str]:
    file = Path(__file__).parent / "data" / f"generic_{language}.txt"
    return frozenset(word for line in lines_of(file) for word in words(line))


ALLOWED: Final = "allowed"
SHORT: Final = "short"
GENERIC: Final = "generic"
DESCRIPTION: Final = "description"
LOWER_CASE: Final = "lower case"
KEPT: Final = "kept"
GENERALIZED: Final = "generalized"

_FIXED: Final = frozenset({Action.MASK, Action.HASH})
_READABLE: Final = frozenset({Action.KEEP, Action.GENERALIZE, Action.SHIFT})
_WRITTEN: Final = re.compile(r"[^\W_]+")
_CAPITAL: Final = re.compile(r"(?<=[^\W\d_A-Z])(?=[A-Z])")
_T = TypeVar("_T")
# With fewer digits, a number must have the same signs between the digits, and so must initials: 3/12 isn't 3.12.
_LONG_NUMBER: Final = 7
# Of a longer string the first words are sought, which takes less time in a text that repeats itself.
_MOST_WORDS: Final = 100
# A shorter name in parts with spaces between them must begin with a capital letter: "del mar" is not a Delmar.
_LONG_NAME: Final = 8
_BEFORE_NAMES: Final = CUES | TITLES
_NEVER_ALONE: Final = frozenset({"d", "da", "don", "dona"})  # also words that are not a title
_CONTEXT: Final = 40  # characters around a short name


@dataclass(frozen=True, slots=True)
class Leak:
    """A place in a released text, or in the name of a note, where a needle or a part of it occurs."""

    start: int
    end: int
    needle: Needle
    part: bool


class Gate:
    """Searches released texts.

    `allowed`: terms that may stay. `languages`: those of the notes, for generic words. `place_words`: more words that
    are generic in names of places and institutions.
    """

    def __init__(
        self, allowed: Collection[str] = (), languages: Collection[str] = (), place_words: Collection[str] = ()
    ) -> None:
        self._allowed = frozenset(words(term) for term in allowed)
        self._allowed_numbers = frozenset(map("".join, self._allowed))
        self._place_words = frozenset(word for term in place_words for word in words(term))
        self._generic = generic_words(languages)
        self._language = next(iter(languages), "")

    def prepared(self, needles: Iterable[Needle]) -> PreparedNeedles:
        """The needles in the form in which `find` uses them. Prepare those of a patient once for all of the notes."""
        needles = list(needles)
        numbers = Numbers()
        for needle in needles:
            for number in numbers_of(needle):
                stays = not self._allowed_numbers.isdisjoint((number.digits, number.compact))
                numbers.add(number, needle, ALLOWED if stays else "")
        return PreparedNeedles(needles, numbers, self._strings_of, self.exception_of)

    def _strings_of(self, word: str, needles: Iterable[Worded]) -> Strings:
        """The needles, and their parts, whose rarest word this is."""
        strings: Strings = {}
        for found, needle in needles:
            whole = found[:_MOST_WORDS]
            if word in whole and self._rarest(whole) == word:
                self._add(strings, whole, needle, whole.index(word), part=False)
            if is_part(word, needle, found) or is_short_name(word, needle, found):
                self._add(strings, (word,), needle, 0, part=True)
        return strings

    def _add(self, strings: Strings, found: tuple[str, ...], needle: Needle, at: int, *, part: bool) -> None:
        alike = strings.setdefault((at, len(found)), {}).setdefault(found, {})
        exception = self._exception(found, needle, part)
        entry = alike.setdefault(part, Sought(found, part, exception))
        entry.exception = entry.exception and exception
        entry.add(needle)

    def exception_of(self, needle: Needle) -> str:
        """The exception that lets this string stay wherever it occurs; empty if there is none."""
        return self._exception(words(needle.text), needle, part=False)

    def _exception(self, found: tuple[str, ...], needle: Needle, part: bool) -> str:
        if found in self._allowed:
            return ALLOWED
        if len(found) == 1 and (len(found[0]) == 1 or (found[0].isdigit() and len(found[0]) <= 2)):
            return SHORT
        if all(self._is_generic(word, needle) for word in found) and not self._tells(found, needle):
            return GENERIC
        return DESCRIPTION if part and needle.kind in DESCRIPTIONS else ""

    def _is_generic(self, word: str, needle: Needle) -> bool:
        place = word in self._place_words and needle.kind in LOCATIONS
        return place or word in self._generic or len(word) == 1

    def _tells(self, found: tuple[str, ...], needle: Needle) -> bool:
        """Whether generic words tell more together: "4 March", "5 High Street", "J. D.", "info@clinic.org"."""
        if needle.kind is IdentifierType.DATE:
            return names_day(needle.text, self._language)
        if needle.kind is IdentifierType.AGE:
            return False
        if needle.kind in (IdentifierType.EMAIL, IdentifierType.URL):
            return True
        return max(map(len, found)) == 1 or (needle.kind is IdentifierType.STREET and any(map(str.isdigit, found)))

    def _rarest(self, found: tuple[str, ...]) -> str:
        if len(found) == 1:
            return found[0]
        return max(found, key=lambda word: (word not in self._generic, len(word)))

    def find(
        self,
        text: str,
        needles: PreparedNeedles | Iterable[Needle],
        pieces: Pieces = (),
        *,
        note: int | None = None,
        exceptions: Counter[str] | None = None,
    ) -> list[Leak]:
        """The needles that occur in a released text with these pieces, or in a name, in order.

        Of several needles in the same place, the one labeled in `note` is reported, else the first; a place inside
        another one is not reported. `exceptions` counts the places that each exception lets stay.
        """
        needles = needles if isinstance(needles, PreparedNeedles) else self.prepared(needles)
        plain = blanked(text, (piece for piece in pieces if piece.action in _FIXED))
        found: dict[Bounds, tuple[bool, Needle]] = {}
        self._find(FoldableText(plain), needles, pieces, note, Counter() if exceptions is None else exceptions, found)
        if is_encoded(plain):
            self._find(DecodedText(plain), needles, pieces, note, Counter(), found)
        return [Leak(start, end, needle, part) for (start, end), (part, needle) in _outermost(found)]

    def _find(
        self,
        searched: FoldableText,
        needles: PreparedNeedles,
        pieces: Pieces,
        note: int | None,
        exceptions: Counter[str],
        found: dict[Bounds, tuple[bool, Needle]],
    ) -> None:
        """Add to `found` where the needles occur: whether a part of one, and which."""
        present = set(plain_words(searched.text))
        strings = needles.strings_in(present)
        numbers = list(needles.numbers.find(searched.text))
        respelled = list(needles.respelled_in(searched.text, present))
        dates = list(needles.dates_in(searched.text, present))
        if not (strings or numbers or respelled or dates):
            return
        search = _Search(searched, all_words(searched.text), pieces, self._language, exceptions)
        for at, word in enumerate(search.words):
            if word not in strings:
                continue
            for (before, length), sought_here in strings[word].items():
                first = at - before
                here = tuple(search.words[first : first + length]) if first >= 0 else ()
                for sought in sought_here.get(here, {}).values():
                    if (bounds := search.match(sought, first)) and (bounds not in found or not sought.part):
                        found[bounds] = sought.part, sought.best(note)
        others = [(place.sought, place.part or place.sought.part, search.match_number(place)) for place in numbers]
        others += [(sought, sought.part, search.match_respelled(sought, *place)) for sought, *place in respelled]
        others += [(sought, False, search.match_date(sought, *place)) for sought, *place in dates]
        for sought, part, bounds in others:
            if bounds is not None and (bounds not in found or found[bounds][0]):
                found[bounds] = part, sought.best(note)

    def find_in_name(
        self,
        name: str,
        needles: PreparedNeedles | Iterable[Needle],
        *,
        note: int | None = None,
        exceptions: Counter[str] | None = None,
    ) -> list[Leak]:
        """The needles that occur in the name of a note or file, also where capitals separate its words: AdamWilson."""
        needles = needles if isinstance(needles, PreparedNeedles) else self.prepared(needles)
        cuts = [match.start() for match in _CAPITAL.finditer(name)]
        spaces = [cut + before for before, cut in enumerate(cuts)]  # their places in the name that is written apart
        found = self.find(name, needles, note=note, exceptions=exceptions)
        for leak in self.find(_CAPITAL.sub(" ", name), needles, note=note) if cuts else ():
            start, end = (at - bisect_left(spaces, at) for at in (leak.start, leak.end))
            found.append(replace(leak, start=start, end=end))
        return [leak for _, leak in _outermost({(leak.start, leak.end): leak for leak in reversed(found)})]


def _outermost(found: dict[Bounds, _T]) -> list[tuple[Bounds, _T]]:
    """The places that lie inside no other place, in order."""
    kept: list[tuple[Bounds, _T]] = []
    for (start, end), rest in sorted(found.items(), key=lambda item: (item[0][0], -item[0][1])):
        if not kept or end > kept[-1][0][1]:
            kept.append(((start, end), rest))
    return kept


class _Search:
    """The search in one text: its words and where they are, and what its pieces let stay."""

    def __init__(
        self, text: FoldableText, found_words: Sequence[str], pieces: Pieces, language: str, exceptions: Counter[str]
    ) -> None:
        self._text = text
        self._all_pieces = pieces
        self._pieces = [piece for piece in pieces if piece.action in _READABLE]
        self._language = language
        self._exceptions = exceptions
        self._done: dict[Sought, int] = {}  # how far a string was found: its places don't overlap
        self.words = found_words

    def match(self, sought: Sought, first: int) -> Bounds | None:
        """The bounds in the text of a string whose words are those of the text from number `first` on.

        None if it overlaps the place before, if other separators make it another number, or if an exception lets it
        stay, which is counted.
        """
        length = len(sought.words)
        if length > 1:
            if first < self._done.get(sought, 0):
                return None
            self._done[sought] = first + length
            start, end = self._bounds[first][0], self._bounds[first + length - 1][1]
            stretch = self._text.text[start:end]
            if BARRIER in stretch or (
                _is_short(sought.words) and _unspaced(stretch) not in map(_unspaced, sought.texts)
            ):
                return None
        if sought.exception:
            self._exceptions[sought.exception] += 1
            return None
        if sought.part and len(sought.words[0]) < PART_LETTERS and not self._is_name(sought, first):
            return None
        return self._judged(sought, self._bounds[first][0], self._bounds[first + length - 1][1])

    def match_number(self, place: Place) -> Bounds | None:
        """The bounds in the text of a number, unless it stands there as a needle writes it or an exception applies."""
        if any(words(text) == place.words for text in place.sought.texts):
            return None
        return self._judged(place.sought, place.start, place.end)

    def match_respelled(self, sought: Sought, start: int, end: int) -> Bounds | None:
        """The bounds in the text of a name in another spelling, unless it may be words or an exception applies."""
        name, between = sought.words[0], _WRITTEN.sub("", self._text.text[start:end])
        first = self._text.original[self._text.original_bounds(start, end)[0]]
        in_parts = between.isspace() and "\n" not in between and len(between) < len(name) - 1
        if in_parts and len(name) < _LONG_NAME and not first.isupper():
            return None
        return self._judged(sought, start, end)

    def match_date(self, sought: Sought, start: int, end: int) -> Bounds | None:
        """The bounds in the text of a date, unless the policy made it or an exception applies."""
        bounds = self._text.original_bounds(start, end)
        made = piece_around(self._all_pieces, *bounds)
        return None if made is not None and made.action is not Action.KEEP else self._judged(sought, start, end)

    def _judged(self, sought: Sought, start: int, end: int) -> Bounds | None:
        """The bounds in the text, unless an exception applies, which is counted."""
        bounds = self._text.original_bounds(start, end)
        exception = sought.exception or self._exception(bounds, sought)
        if exception:
            self._exceptions[exception] += 1
        return None if exception else bounds

    def _is_name(self, sought: Sought, first: int) -> bool:
        """Whether a short word stands as a name: after a title, beside the rest of the name or a placeholder, or
        capitalized where an ordinary word is not.
        """
        start, end = self._text.original_bounds(*self._bounds[first])
        text = self._text.original
        begin = max(0, start - _CONTEXT)
        note = FoldedText(text[begin : end + _CONTEXT])
        at = bisect_left(note.starts, start - begin)
        if at == len(note.words) or note.words[at] != sought.words[0]:
            return False
        before = note.words[at - 1] if at and len(note.gap(at - 1)) < 4 and BARRIER not in note.gap(at - 1) else ""
        if before == "a" and at > 1:  # Sr(a). Gil
            before = note.words[at - 2]
        if before in _BEFORE_NAMES and (note.capital(at) or (before in TITLES and before not in _NEVER_ALONE)):
            return True
        if not note.capital(at) or sought.words[0] in ALWAYS_CAPITAL:
            return False
        after = note.words[at + 1] if at + 1 < len(note.words) and len(note.gap(at)) < 3 else ""
        if (before in sought.beside and note.capital(at - 1)) or (len(after) > 1 and after in sought.beside):
            return True
        return text[begin:start].rstrip(" ,")[-1:] == BARRIER or (len(sought.words[0]) > 2 and lone_capital(note, at))

    @cached_property
    def _bounds(self) -> list[Bounds]:
        """The bounds of the words in the folded text."""
        return list(map(re.Match.span, WORD.finditer(self._text.text)))

    def _exception(self, bounds: Bounds, sought: Sought) -> str:
        """The exception that lets the string stay at this place; empty if there is none."""
        less = sought.part or (len(sought.words) > 1 and not sought.is_whole)
        if less and self._text.original[bounds[0] : bounds[1]].islower() and sought.is_capitalized_place:
            return LOWER_CASE
        inside = piece_around(self._pieces, *bounds)
        if inside is not None and inside.action is Action.KEEP:
            return KEPT
        if sought.part and sought.words[0] in self._kept:
            return KEPT
        if inside is not None and inside.action is Action.GENERALIZE and (sought.part or inside.label in sought.labels):
            return GENERALIZED
        if any((label, sought.words) in self._generalized for label in sought.labels):
            return GENERALIZED
        if inside is not None and inside.action is Action.SHIFT:  # a date without a day
            return "" if all(names_day(text, self._language) for text in sought.date_texts) else GENERALIZED
        return ""

    @cached_property
    def _kept(self) -> frozenset[str]:
        """The words of kept spans."""
        kept = (piece for piece in self._pieces if piece.action is Action.KEEP)
        return frozenset(word for piece in kept for word in self._words_of(piece))

    @cached_property
    def _generalized(self) -> frozenset[tuple[str, tuple[str, ...]]]:
        """The generalized values, with their labels."""
        made = (piece for piece in self._pieces if piece.action is Action.GENERALIZE)
        return frozenset((piece.label, self._words_of(piece)) for piece in made)

    def _words_of(self, piece: ReplacedPiece) -> tuple[str, ...]:
        return words(self._text.original[piece.new_start : piece.new_end])


def _unspaced(text: str) -> str:
    return "".join(text.split())


def _is_short(found: tuple[str, ...]) -> bool:
    """Whether these are the parts of a short number, or single letters: other signs between them make another one."""
    return sum(map(len, found)) < _LONG_NUMBER and (
        all(map(str.isdigit, found)) or (len(found) > 1 and max(map(len, found)) == 1)
    )
