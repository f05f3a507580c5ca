"""What else the leak gate looks for in a note: identifiers that the rules find, and what chosen runs suggested.

The rules belong to a higher feature, which puts its search into SEARCHES.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, Protocol

from django.db.models import Count

from annotations.models import LeakFinding, Project, Release, ReleasedNote
from annotations.release.rules.leaks.encoded import Decoded, is_encoded
from annotations.release.rules.redaction.dates import names_day
from annotations.release.rules.redaction.kinds import IdentifierType
from annotations.release.rules.redaction.policy import Policy
from annotations.release.services.sources import ReleasedAnnotations, source_of
from annotations.text.search import Covered
from annotations.text.spans import Bounds, Span

Origin = LeakFinding.Origin


class Sighting(NamedTuple):
    """`text[start:end]` of a note is an identifier, in code points, end-exclusive.

    `label` is the label of the project for it; empty if there is none of its kind.
    """

    start: int
    end: int
    kind: IdentifierType
    label: str


class Search(Protocol):
    """Finds identifiers in texts without a label; in languages that it doesn't know, what their shape shows."""

    @property
    def revision(self) -> str:
        """A string that changes whenever what it finds can change."""

    @property
    def kinds(self) -> frozenset[IdentifierType]:
        """All that it can find."""

    def knows(self, language: str) -> bool:
        """Whether it can read this language; empty for an unknown one."""

    def find(self, text: str, language: str) -> Iterable[tuple[int, int, IdentifierType]]:
        """Bounds in code points, end-exclusive, and kinds."""


SEARCHES: list[Search] = []

# What says who a person is only together with more. Without a label for it, a release lets it stay.
_WEAK: Final = frozenset(
    {
        IdentifierType.AGE,
        IdentifierType.PROFESSION,
        IdentifierType.SEX,
        IdentifierType.FAMILY,
        IdentifierType.ETHNICITY,
        IdentifierType.COUNTRY,
        IdentifierType.REGION,
        IdentifierType.OTHER,
    }
)
# Kinds that a label set may have in place of a finer one, the nearest first.
_COARSER: Final[Mapping[IdentifierType, Sequence[IdentifierType]]] = {
    IdentifierType.NAME: (IdentifierType.STAFF,),
    IdentifierType.STAFF: (IdentifierType.NAME,),
    IdentifierType.HOSPITAL: (IdentifierType.ORGANIZATION, IdentifierType.LOCATION),
    IdentifierType.ORGANIZATION: (IdentifierType.HOSPITAL, IdentifierType.LOCATION),
    IdentifierType.STREET: (IdentifierType.LOCATION,),
    IdentifierType.ZIP: (IdentifierType.LOCATION,),
    IdentifierType.CITY: (IdentifierType.LOCATION,),
    IdentifierType.FAX: (IdentifierType.PHONE,),
    IdentifierType.USERNAME: (IdentifierType.ID,),
    **dict.fromkeys(
        (
            IdentifierType.NATIONAL_ID,
            IdentifierType.RECORD,
            IdentifierType.HEALTH_PLAN,
            IdentifierType.ACCOUNT,
            IdentifierType.LICENSE,
            IdentifierType.VEHICLE,
            IdentifierType.DEVICE,
        ),
        (IdentifierType.ID, IdentifierType.OTHER),
    ),
}


def searched_in(release: Release) -> dict[str, Any]:
    """What the searches looked for in a release, for its figures: revisions, kinds, and notes by unknown language."""
    rows = ReleasedNote.objects.filter(release=release).order_by().values_list("document__language")
    notes = Counter[str]()
    for code, number in rows.annotate(number=Count("pk")):
        notes[code or release.project.language] += number
    return {
        "rules": [search.revision for search in SEARCHES],
        "kinds": sorted({str(kind) for search in SEARCHES for kind in search.kinds}),
        "unread": {code: n for code, n in sorted(notes.items()) if not any(one.knows(code) for one in SEARCHES)},
    }


_SHORTEST_REPEAT: Final = 4
_NOT_REPEATED: Final = _WEAK | {IdentifierType.DATE}


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
        taken, reached = Covered([(one.start, one.end) for one in own]), 0
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


class Seeking:
    """What a release looks for besides the labeled strings and the known identifiers."""

    def __init__(
        self, project: Project, policy: Policy, labels: Mapping[IdentifierType, str], runs: Sequence[str] = ()
    ) -> None:
        """`labels`: the label of each kind; `runs`: specifications of runs. Raises ServiceError as `source_of`."""
        self._policy = policy
        self._labels = labels
        self._runs: list[ReleasedAnnotations] = [source_of(project, spec) for spec in runs]

    def by_search(self, text: str, language: str) -> list[Sighting]:
        """What the searches find in a note as it is written, and as its signs for letters are read, in order."""
        found = [(*one, text[one[0] : one[1]]) for search in SEARCHES for one in search.find(text, language)]
        if is_encoded(text):
            read = Decoded(text)
            for start, end, kind in (one for search in SEARCHES for one in search.find(read.plain, language)):
                found.append((*read.written_bounds(start, end), kind, read.plain[start:end]))
        sightings: list[Sighting] = []
        for start, end, kind, string in sorted(found, key=lambda one: (one[0], -one[1])):
            label, first = self.label_of(kind), not sightings or start >= sightings[-1].end
            if first and (label or kind not in _WEAK) and _tells(string, kind, language):
                sightings.append(Sighting(start, end, kind, label))
        return sightings

    def by_runs(self, notes: Sequence[int]) -> dict[int, list[Sighting]]:
        """What the runs suggested in each of these notes, in order."""
        found: dict[int, set[Sighting]] = {pk: set() for pk in notes}
        for run in self._runs:
            for pk, spans in run.spans(notes).items():
                found[pk] |= {self._suggested(span) for span in spans}
        return {pk: sorted(sightings) for pk, sightings in found.items()}

    def label_of(self, kind: IdentifierType) -> str:
        """The label of a kind, or of the nearest coarser kind that has one."""
        return next((self._labels[one] for one in (kind, *_COARSER.get(kind, ())) if one in self._labels), "")

    def _suggested(self, span: Span) -> Sighting:
        rule = self._policy.rules.get(span.label)
        return Sighting(span.start, span.end, rule.kind if rule else IdentifierType.OTHER, span.label if rule else "")


def _tells(text: str, kind: IdentifierType, language: str) -> bool:
    """Whether a string says more than a year, a month or a weekday, if it is a date."""
    return kind is not IdentifierType.DATE or names_day(text, language)


def once(sightings: Mapping[LeakFinding.Origin, Sequence[Sighting]]) -> dict[LeakFinding.Origin, list[Sighting]]:
    """Leave out what an earlier search saw at the same place, so that an exception counts once."""
    seen: set[Bounds] = set()
    found = {}
    for origin, some in sightings.items():
        found[origin] = [one for one in some if (one.start, one.end) not in seen]
        seen |= {(one.start, one.end) for one in found[origin]}
    return found
