"""All annotation sets of one note beside its gold, for members who may see all notes."""

from collections import Counter
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, QuerySet

from annotations.core.authors import IMPORTED
from annotations.core.labels import LabelItem
from annotations.core.spans import SpanItem
from annotations.core.suggestions import shown
from annotations.models import AnnotationSet, AnnotationSetState, AuthorKind, Span

# Differences that the page lists.
LISTED = 50
_ORDER = [
    AuthorKind.GOLD,
    AuthorKind.ADJUDICATED,
    AuthorKind.ANNOTATOR,
    AuthorKind.REFINED,
    AuthorKind.RUN,
    AuthorKind.BENCH,
]


@dataclass(frozen=True)
class SetSummary:
    """One annotation set of a note: author, state and number of spans. `imported`: a file or an archive brought it."""

    pk: int
    name: str
    kind: str
    kind_name: str
    state: str
    state_name: str
    version: int
    changed: datetime
    spans: int
    imported: bool

    @property
    def is_gold(self) -> bool:
        return self.kind == AuthorKind.GOLD and self.is_submitted

    @property
    def is_review_draft(self) -> bool:
        """Whether this is the draft of an open review, which becomes gold when the review is finished."""
        return self.kind == AuthorKind.GOLD and not self.is_submitted

    @property
    def is_submitted(self) -> bool:
        return self.state == AnnotationSetState.SUBMITTED


def annotation_sets_of(sets: "QuerySet[AnnotationSet]") -> list[SetSummary]:
    """Summaries of a note's annotation sets: gold first, then people, then models."""
    counts = dict(
        shown(Span.objects.filter(annotation_set__in=sets.values("pk")))
        .order_by()
        .values_list("annotation_set")
        .annotate(count=Count("pk"))
    )
    found = [
        SetSummary(
            pk=row.pk,
            name=row.author.name,
            kind=row.author.kind,
            kind_name=row.author.get_kind_display(),
            state=row.state,
            state_name=row.get_state_display(),
            version=row.version,
            changed=row.submitted_at or row.updated_at,
            spans=counts.get(row.pk, 0),
            imported=row.imported_by_id is not None or row.author.name.endswith(IMPORTED),
        )
        for row in sets.select_related("author")
    ]
    return sorted(
        found, key=lambda annotation_set: (_ORDER.index(AuthorKind(annotation_set.kind)), annotation_set.name)
    )


def choose(annotation_sets: list[SetSummary], pk: int | None) -> SetSummary | None:
    """The set with this id; without an id gold, else a submitted set, else any. Raises LookupError for a wrong id."""
    if pk is not None:
        for annotation_set in annotation_sets:
            if annotation_set.pk == pk:
                return annotation_set
        raise LookupError(f"This note has no annotation set {pk}.")
    return next(
        (annotation_set for annotation_set in annotation_sets if annotation_set.is_submitted),
        annotation_sets[0] if annotation_sets else None,
    )


@dataclass(frozen=True)
class Difference:
    """A span that only one of two annotation sets has, with its line and text."""

    line: int
    label: LabelItem | None
    quote: str


@dataclass(frozen=True)
class Comparison:
    """Comparison of an annotation set with gold. Spans are equal if both offsets and the label are."""

    same: int
    only_here: list[Difference]
    only_gold: list[Difference]
    only_here_count: int
    only_gold_count: int

    @property
    def differs(self) -> bool:
        return bool(self.only_here_count or self.only_gold_count)


def compare(text: str, here: list[SpanItem], gold: list[SpanItem], labels: list[LabelItem]) -> Comparison:
    """Compare two sets of spans. Lists the first LISTED differences of each, in text order."""
    by_id = {label["id"]: label for label in labels}
    mine, theirs = ({(s["start"], s["end"], s["label"]) for s in spans} for spans in (here, gold))

    def spell(bounds: set[tuple[int, int, int]]) -> list[Difference]:
        return [
            Difference(line_at(text, start), by_id.get(label), text[start:end])
            for start, end, label in sorted(bounds)[:LISTED]
        ]

    return Comparison(
        same=len(mine & theirs),
        only_here=spell(mine - theirs),
        only_gold=spell(theirs - mine),
        only_here_count=len(mine - theirs),
        only_gold_count=len(theirs - mine),
    )


def line_at(text: str, offset: int) -> int:
    """Number of the line (from 1) at a code point offset. CR LF, LF and CR end a line."""
    before = text[:offset]
    return 1 + before.count("\n") + before.count("\r") - before.count("\r\n")


def label_counts(spans: list[SpanItem], labels: list[LabelItem]) -> list[tuple[LabelItem, int]]:
    """Labels used in an annotation set, in order, each with its number of spans."""
    counts = Counter(span["label"] for span in spans)
    return [(label, counts[label["id"]]) for label in labels if counts[label["id"]]]
