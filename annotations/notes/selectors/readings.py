"""All readings of one note, side by side with its gold, for those who may read every note."""

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count

from annotations.core.hiding import shown
from annotations.core.labels import LabelItem
from annotations.core.spans import SpanItem
from annotations.models import AnnotationSet, Author, Document, Span

# Differences that the page spells out.
LISTED = 50
_ORDER = [
    Author.Kind.GOLD,
    Author.Kind.ADJUDICATED,
    Author.Kind.ANNOTATOR,
    Author.Kind.REFINED,
    Author.Kind.RUN,
]


@dataclass(frozen=True)
class Reading:
    """One annotation set of the note: whose it is, where it stands, how many spans it has."""

    pk: int
    name: str
    kind: str
    kind_name: str
    state: str
    version: int
    changed: datetime
    spans: int

    @property
    def is_gold(self) -> bool:
        return self.kind == Author.Kind.GOLD

    @property
    def is_submitted(self) -> bool:
        return self.state == AnnotationSet.State.SUBMITTED


def readings_of(document: Document, *, without: Collection[str] = ()) -> list[Reading]:
    """Gold first, then people, then models; none by authors of the kinds `without`."""
    sets = AnnotationSet.objects.filter(document=document).select_related("author")
    if without:
        sets = sets.exclude(author__kind__in=without)
    counts = dict(
        shown(Span.objects.filter(annotation_set__document=document))
        .order_by()
        .values_list("annotation_set")
        .annotate(count=Count("pk"))
    )
    found = [
        Reading(
            pk=row.pk,
            name=row.author.name,
            kind=row.author.kind,
            kind_name=row.author.get_kind_display(),
            state=row.state,
            version=row.version,
            changed=row.submitted_at or row.updated_at,
            spans=counts.get(row.pk, 0),
        )
        for row in sets
    ]
    return sorted(found, key=lambda reading: (_ORDER.index(Author.Kind(reading.kind)), reading.name))


def choose(readings: list[Reading], pk: int | None) -> Reading | None:
    """The reading asked for; without a wish gold, else a submitted one, else any. LookupError if there is none."""
    if pk is not None:
        for reading in readings:
            if reading.pk == pk:
                return reading
        raise LookupError(f"annotation set {pk} is none of this note's")
    return next((reading for reading in readings if reading.is_submitted), readings[0] if readings else None)


@dataclass(frozen=True)
class Difference:
    """A span that only one of two readings has: where it is, and its words."""

    line: int
    label: LabelItem | None
    quote: str


@dataclass(frozen=True)
class Comparison:
    """A reading beside the gold: spans are the same when both ends and the label are."""

    same: int
    only_here: list[Difference]
    only_gold: list[Difference]
    only_here_count: int
    only_gold_count: int

    @property
    def differs(self) -> bool:
        return bool(self.only_here_count or self.only_gold_count)


def compare(text: str, here: list[SpanItem], gold: list[SpanItem], labels: list[LabelItem]) -> Comparison:
    """What only one of them has, in reading order; the first LISTED of each are spelt out."""
    by_id = {label["id"]: label for label in labels}
    mine, theirs = ({(s["start"], s["end"], s["label"]) for s in spans} for spans in (here, gold))

    def spell(places: set[tuple[int, int, int]]) -> list[Difference]:
        return [
            Difference(line_at(text, start), by_id.get(label), text[start:end])
            for start, end, label in sorted(places)[:LISTED]
        ]

    return Comparison(
        same=len(mine & theirs),
        only_here=spell(mine - theirs),
        only_gold=spell(theirs - mine),
        only_here_count=len(mine - theirs),
        only_gold_count=len(theirs - mine),
    )


def line_at(text: str, offset: int) -> int:
    """The number of the line (from 1) that holds a code point; CR LF, LF and CR end a line."""
    before = text[:offset]
    return 1 + before.count("\n") + before.count("\r") - before.count("\r\n")


def label_counts(spans: list[SpanItem], labels: list[LabelItem]) -> list[tuple[LabelItem, int]]:
    """The labels of a reading in their order, each with how often it is used."""
    counts = Counter(span["label"] for span in spans)
    return [(label, counts[label["id"]]) for label in labels if counts[label["id"]]]
