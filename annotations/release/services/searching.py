"""What else the leak gate looks for in a note: identifiers that the rules find, and what chosen runs suggested.

The rules belong to a higher feature, which answers the hook `gate_searches`.
"""

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import accumulate
from typing import Any, Final, NamedTuple, Protocol

from django.db.models import Count

from annotations.audio.selectors import words_muted_by_hand
from annotations.core.hooks import gate_searches
from annotations.models import LeakFinding, Project, Release, ReleasedNote
from annotations.release.rules.leaks.encoded import DecodedText, is_encoded
from annotations.release.rules.leaks.gate import ALLOWED, GENERIC, KEPT, Gate, Leak
from annotations.release.rules.leaks.needles import PART_LETTERS, Needle, is_short_name
from annotations.release.rules.leaks.shapes import device_addresses, full_dates, telephones, web_addresses
from annotations.release.rules.redaction.ages import told_in
from annotations.release.rules.redaction.date_reading import is_ambiguous
from annotations.release.rules.redaction.dates import names_day
from annotations.release.rules.redaction.policy import DESCRIPTIONS, Action, Policy, label_of
from annotations.release.rules.redaction.policy import IdentifierType as Kind
from annotations.release.rules.redaction.released import (
    Pieces,
    RedactedText,
    ReplacedPiece,
    blanked,
    piece_around,
    span_to_released,
)
from annotations.release.rules.surrogates.identifiers import unreserved
from annotations.release.rules.surrogates.writing import staying
from annotations.release.services.replacing import Original
from annotations.release.services.sources import ReleasedAnnotations, source_of
from annotations.text.search import CoveredParts, words
from annotations.text.spans import Bounds, Span

Origin = LeakFinding.Origin


class Sighting(NamedTuple):
    """`text[start:end]` of a note is an identifier, in code points, end-exclusive.

    `label` is the label of the project for it; empty if there is none of its kind.
    """

    start: int
    end: int
    kind: Kind
    label: str


class Search(Protocol):
    """Finds identifiers in texts without a label; in languages that it doesn't know, what their shape shows."""

    @property
    def revision(self) -> str:
        """A string that changes whenever what it finds can change."""

    @property
    def kinds(self) -> frozenset[Kind]:
        """All that it can find."""

    def knows(self, language: str) -> bool:
        """Whether it can read this language; empty for an unknown one."""

    def find(self, text: str, language: str) -> Iterable[tuple[int, int, Kind]]:
        """Bounds in code points, end-exclusive, and kinds."""


# What says who a person is only together with more. Without a label for it, a release lets it stay.
_WEAK: Final = DESCRIPTIONS | {Kind.AGE, Kind.COUNTRY, Kind.REGION, Kind.OTHER}


def searched_in(release: Release) -> dict[str, Any]:
    """What the searches looked for in a release, for its figures: revisions, kinds, and notes by unknown language."""
    rows = ReleasedNote.objects.filter(release=release).order_by().values_list("document__language")
    notes = Counter[str]()
    for code, number in rows.annotate(number=Count("pk")):
        notes[code or release.project.language] += number
    return {
        "rules": [search.revision for search in gate_searches()],
        "kinds": sorted({str(kind) for search in gate_searches() for kind in search.kinds}),
        "unread": {code: n for code, n in sorted(notes.items()) if not any(one.knows(code) for one in gate_searches())},
    }


_SHORTEST_REPEAT: Final = 4
_NOT_REPEATED: Final = _WEAK | {Kind.DATE}


class Repeats:
    """Strings that the searches find in a note of a patient, and that stand in others too. `add` all notes first."""

    def __init__(self) -> None:
        self._strings: dict[str, Sighting] = {}

    def add(self, text: str, sightings: Iterable[Sighting]) -> None:
        """Look for what the searches find in this text: names, numbers and places of four characters or more."""
        for one in sightings:
            if one.end - one.start >= _SHORTEST_REPEAT and one.kind not in _NOT_REPEATED:
                self._strings.setdefault(text[one.start : one.end], one)

    def found_in(self, text: str, own: Sequence[Sighting]) -> list[Sighting]:
        """What the searches find in a text, and where the strings stand as words of the same case, in order."""
        taken, reached = CoveredParts([(one.start, one.end) for one in own]), 0
        places = [
            (start, -(start + len(string)), string) for string in self._strings for start in _whole_words(text, string)
        ]
        found = list(own)
        for start, minus_end, string in sorted(places):
            if start >= reached and not taken.partly(start, -minus_end):
                reached = -minus_end
                found.append(self._strings[string]._replace(start=start, end=reached))
        return sorted(found)


def _whole_words(text: str, string: str) -> Iterator[int]:
    """Where a string stands in a text without a letter or digit beside it."""
    start = text.find(string)
    while start >= 0:
        end = start + len(string)
        following = text[end : end + 1]
        if not (text[max(0, start - 1) : start].isalnum() or following.isalnum() or following == "_"):
            yield start
        start = text.find(string, end)


def _readings(text: str) -> Iterator[tuple[str, Callable[[int, int], Bounds]]]:
    """The text as it is written and as its signs are read, each with a map of bounds to the text as it is written."""
    yield text, lambda start, end: (start, end)
    if is_encoded(text):
        read = DecodedText(text)
        yield read.plain, read.written_bounds


class SightingSearch:
    """What a release looks for besides the labeled strings and the known identifiers."""

    def __init__(self, project: Project, policy: Policy, labels: Mapping[Kind, str], runs: Sequence[str] = ()) -> None:
        """`labels`: the label of each kind; `runs`: specifications of runs. Raises ServiceError as `source_of`."""
        self._policy = policy
        self._labels = labels
        self._runs: list[ReleasedAnnotations] = [source_of(project, spec) for spec in runs]

    def by_search(self, text: str, language: str) -> list[Sighting]:
        """What the searches find in a note as it is written, and as its signs for letters are read, in order."""
        found = [
            (*written(start, end), kind, read[start:end])
            for read, written in _readings(text)
            for search in gate_searches()
            for start, end, kind in search.find(read, language)
        ]
        sightings: list[Sighting] = []
        for start, end, kind, string in sorted(found, key=lambda one: (one[0], -one[1])):
            label, first = self.label_of(kind), not sightings or start >= sightings[-1].end
            vague = kind is Kind.DATE and not names_day(string, language)  # a year, a month or a weekday
            if first and (label or kind not in _WEAK) and not vague:
                sightings.append(Sighting(start, end, kind, label))
        return sightings

    def by_runs(self, notes: Sequence[int]) -> dict[int, list[Sighting]]:
        """What the runs suggested in each of these notes, in order."""
        found: dict[int, set[Sighting]] = {pk: set() for pk in notes}
        for run in self._runs:
            for pk, spans in run.spans(notes).items():
                found[pk] |= {self._suggested(span) for span in spans}
        return {pk: sorted(sightings) for pk, sightings in found.items()}

    def by_hand(self, notes: Sequence[int]) -> dict[int, list[Sighting]]:
        """The words of the recordings among these notes in whose time a person heard a name and muted it, in order."""
        label = self.label_of(Kind.NAME)
        return {
            pk: [Sighting(start, end, Kind.NAME, label) for start, end in words]
            for pk, words in words_muted_by_hand(notes).items()
        }

    def label_of(self, kind: Kind) -> str:
        """The label of a kind, or of the nearest coarser kind that has one."""
        return label_of(kind, self._labels) or ""

    def _suggested(self, span: Span) -> Sighting:
        rule = self._policy.rules.get(span.label)
        return Sighting(span.start, span.end, rule.kind if rule else Kind.OTHER, span.label if rule else "")


def once(sightings: Mapping[LeakFinding.Origin, Sequence[Sighting]]) -> dict[LeakFinding.Origin, list[Sighting]]:
    """Leave out what an earlier search saw at the same place, so that an exception counts once."""
    seen: set[Bounds] = set()
    found = {}
    for origin, some in sightings.items():
        found[origin] = [one for one in some if (one.start, one.end) not in seen]
        seen |= {(one.start, one.end) for one in found[origin]}
    return found


# Identifiers that no label covers: known ones in every spelling, what rules and runs find, and what looks like one.


COINCIDENCE: Final = "coincidence"
# Also in groups: 20210312, 2021-03-12, 12.03.21, 8812345.
_NUMBER_IN_NAME: Final = re.compile(r"\d(?:[-_. /]?\d){3,}")
_DATE_IN_NAME: Final = re.compile(
    r"(?:19|20)\d\d[-_. /]?\d{1,2}[-_. /]?\d{1,2}|\d{1,2}[-_. /]\d{1,2}[-_. /](?:19|20)?\d\d|\d{4}(?:19|20)\d\d"
)


def sighted_leaks(
    text: str,
    sightings: Iterable[Sighting],
    origin: LeakFinding.Origin,
    released: RedactedText,
    gate: Gate,
    kept: frozenset[str],
    exceptions: Counter[str],
) -> list[Leak]:
    """The sightings in the original `text`, in order, that the release doesn't replace, or their rest.

    `kept`: the labels that the policy keeps. What stays of a sighting is a leak unless an exception lets it stay, which
    is counted. What the policy keeps is not an exception for a known identifier; of what rules or runs say, people
    decided otherwise when they gave it a kept label.
    """
    leaks = []
    known = origin is Origin.KNOWN
    covering = [piece for piece in released.pieces if not known or piece.action is not Action.KEEP]
    first = 0
    for sighting in sightings:
        while first < len(covering) and covering[first].end <= sighting.start:
            first += 1
        for start, end in _uncovered(text, sighting, covering, first):
            part = (start, end) != (sighting.start, sighting.end)
            needle = Needle(text[start:end], sighting.label, sighting.kind, origin)
            if not known and part and not _says_enough(needle):
                continue
            exception = KEPT if sighting.label in kept else gate.exception_of(needle)
            # A recognizer writes names that it doesn't know as common words.
            if exception and (origin is not Origin.MUTED or exception == ALLOWED):
                exceptions[exception] += 1
            else:
                leaks.append(Leak(*span_to_released(released.pieces, start, end), needle, part))
    return leaks


def _says_enough(rest: Needle) -> bool:
    """Whether the rest of a string tells more than that rules and people draw its bounds differently.

    So does a word or number of four characters, and in a name also a shorter word that is no title or particle: Gil.
    """
    found = words(rest.text)
    short = not rest.text.islower() and any(is_short_name(word, rest, ("", *found)) for word in found)
    return short or any(len(word) >= PART_LETTERS for word in found)


def _uncovered(text: str, sighting: Sighting, pieces: Pieces, first: int) -> Iterable[Bounds]:
    """What no piece, from number `first` on, covers of a sighting. It begins and ends with letters, digits, or as the
    sighting does.
    """
    cuts = [sighting.start]
    for at in range(first, len(pieces)):
        piece = pieces[at]
        if piece.start >= sighting.end:
            break
        cuts += (max(piece.start, sighting.start), min(piece.end, sighting.end))
    cuts.append(sighting.end)
    for start, end in zip(cuts[::2], cuts[1::2], strict=True):
        while sighting.start < start < end and not text[start].isalnum():
            start += 1
        while start < end < sighting.end and not text[end - 1].isalnum():
            end -= 1
        if start < end:
            yield start, end


def shape_leaks(
    released: RedactedText, gate: Gate, labels: Mapping[Kind, str], kept: frozenset[str], exceptions: Counter[str]
) -> list[Leak]:
    """What has such a shape in the released text outside of its pieces, as it is written and as its signs are read."""
    text = blanked(released.text, released.pieces)
    found = [(written(*bounds), kind) for read, written in _readings(text) for bounds, kind in _shapes_in(read)]
    leaks: list[Leak] = []
    for (start, end), kind in sorted(found, key=lambda one: (one[0][0], -one[0][1])):
        needle = Needle(text[start:end], labels.get(kind, ""), kind, Origin.SHAPE)
        exception = KEPT if kind is Kind.DATE and needle.label in kept else gate.exception_of(needle)
        if exception:
            exceptions[exception] += 1
        elif not leaks or start >= leaks[-1].end:
            leaks.append(Leak(start, end, needle, part=False))
    return leaks


def _shapes_in(text: str) -> list[tuple[Bounds, Kind]]:
    """E-mail, web and device addresses, telephone numbers and full dates."""
    found = [(bounds, Kind.PHONE) for bounds in telephones(text)]
    found += [(bounds, Kind.DATE) for bounds in full_dates(text)]
    found += [(bounds, Kind.URL) for bounds in web_addresses(text)]
    found += device_addresses(text)
    # Every address has one of these signs. Only a text with "w." is copied to lower case.
    if "@" in text or "://" in text or (("w." in text or "W." in text) and "www." in text.lower()):
        found += ((place, Kind.EMAIL if "@" in text[slice(*place)] else Kind.URL) for place in unreserved(text))
    return found


def age_leaks(
    released: RedactedText, latest: int | None, label: str, gate: Gate, exceptions: Counter[str]
) -> list[Leak]:
    """Ages over 89 outside of the pieces, and years of birth that tell one beside the patient's `latest` year."""
    leaks: list[Leak] = []
    text = blanked(released.text, released.pieces)
    found = {written(*bounds) for read, written in _readings(text) for bounds in told_in(read, latest)}
    for start, end in sorted(found, key=lambda one: (one[0], -one[1])):
        needle = Needle(released.text[start:end], label, Kind.AGE, Origin.SHAPE)
        if gate.exception_of(needle) == ALLOWED:
            exceptions[ALLOWED] += 1
        elif not leaks or start >= leaks[-1].end:
            leaks.append(Leak(start, end, needle, part=False))
    return leaks


def ambiguous_dates(text: str, pieces: Iterable[ReplacedPiece]) -> list[Leak]:
    """Dates that were shifted although nothing tells whether the day or the month comes first.

    A day too early or too late would change what happened when, and each is a finding that holds its note back.
    """
    return [
        Leak(piece.new_start, piece.new_end, Needle(written, piece.label, Kind.DATE, Origin.SHAPE), part=False)
        for piece in pieces
        if piece.action is Action.SHIFT and is_ambiguous(written := text[piece.start : piece.end])
    ]


def numbers_in_name(name: str, labels: Mapping[Kind, str], least: int = 6) -> list[Leak]:
    """Dates and numbers of `least` digits in a name or an attribute, whether or not somebody labeled them."""
    found = []
    for match in _NUMBER_IN_NAME.finditer(name):
        if sum(map(str.isdigit, match[0])) < least:
            continue
        kind = Kind.DATE if _DATE_IN_NAME.fullmatch(match[0]) else Kind.ID
        needle = Needle(match[0], labels.get(kind, ""), kind, Origin.SHAPE)
        found.append(Leak(*match.span(), needle, part=False))
    return found


class _Places:
    """The places of leaks, with which other leaks are compared in logarithmic time."""

    def __init__(self, leaks: Iterable[Leak]) -> None:
        places = sorted((leak.start, leak.end) for leak in leaks)
        self._starts = [start for start, _end in places]
        self._furthest = list(accumulate((end for _start, end in places), max, initial=0))

    def overlap(self, leak: Leak) -> bool:
        """Whether one of the places shares a character with the leak."""
        return self._furthest[bisect_left(self._starts, leak.end)] > leak.start

    def cover(self, leak: Leak) -> bool:
        """Whether one of the places is longer than the leak, and has all of it."""
        before, upto = bisect_left(self._starts, leak.start), bisect_right(self._starts, leak.start)
        return self._furthest[before] >= leak.end or self._furthest[upto] > leak.end


def with_longer(leaks: Sequence[Leak], others: Sequence[Leak]) -> list[Leak]:
    """Leaks of two searches in order: of two that overlap the longer one, else that of the first search."""
    longer = _Places(others)
    return merged([leak for leak in leaks if not longer.cover(leak)], others)


def merged(first: Sequence[Leak], second: Sequence[Leak]) -> list[Leak]:
    """Leaks of two searches in order, without those of the second that overlap one of the first."""
    taken = _Places(first)
    added = [leak for leak in second if not taken.overlap(leak)]
    return sorted([*first, *added], key=lambda leak: leak.start)


def in_surrogate(leak: Leak, note: Original, text: str, pieces: Pieces) -> str:
    """The exception that lets a part of an identifier, or a single word, stay in a surrogate; empty if there is none.

    `coincidence`: the surrogate replaces something else, which does not have the word. Entities that patients share,
    such as physicians and streets, have their surrogates before the next patient's names are known. `generic`: the
    maker of surrogates keeps words that say what a place or an institution is.
    """
    found = words(text[leak.start : leak.end])
    if not leak.part and (len(found) > 1 or not found[0].isalpha()):
        return ""
    piece = piece_around(pieces, leak.start, leak.end)
    if piece is None or piece.action is not Action.SURROGATE:
        return ""
    if not set(found) & set(words(note.text[piece.start : piece.end])):
        return COINCIDENCE
    return GENERIC if all(word in kept_words() for word in found) else ""


@cache
def kept_words() -> frozenset[str]:
    """The words that may stay in surrogates, because they name nobody, folded as the leak gate folds."""
    return frozenset(word for one in staying() for word in words(one))
