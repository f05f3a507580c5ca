"""Suggestions with what a decision needs to know: the note, the run, and the current decision."""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any, Final
from uuid import UUID

from django.db.models import OuterRef, Q, QuerySet

from annotations.core.suggestions import HIDDEN
from annotations.gold.events import GOLD_MADE
from annotations.models import AnnotationSet, AnnotationSetState, Author, AuthorKind, Document, Event, Project, Span
from annotations.review.events import REVIEW_FINISHED
from annotations.review.rules.precision import Candidate
from annotations.text.attributes import MergedProvenance, Value
from annotations.text.combining import conflicting_spans
from annotations.text.spans import LabeledBounds

# Suggestions of a merged list: the runs that suggest each, and which of them conflict (annotations.text.combining).


def backing_of(provenance: str | MergedProvenance | None) -> MergedProvenance | None:
    """The runs behind a suggestion of a merged list; None for a suggestion of a single run.

    The shape is `{runs: [{run, confidence, source}], agree, of, clear}`.
    """
    known: MergedProvenance | None = json.loads(provenance) if isinstance(provenance, str) else provenance
    return known if known and "runs" in known else None


def candidate_of(
    pk: int, bounds: LabeledBounds, annotation_set: int, provenance: str | MergedProvenance | None, to: int | None
) -> Candidate:
    """A suggestion as a bulk act would accept it: with its own label, or with the label `to`."""
    backing = backing_of(provenance)
    runs = frozenset(each["run"] for each in backing["runs"]) if backing else frozenset()
    start, end, label = bounds
    return Candidate(pk, (start, end, label if to is None else to), annotation_set, runs)


def conflicting_among(suggestions: Sequence[tuple[int, int, int, MergedProvenance]]) -> dict[int, list[int]]:
    """The ids of the conflicting suggestions, by suggestion id.

    `suggestions` are all suggestions of the merged list in one note: id, start, end, backing.
    """
    conflicting = conflicting_spans(
        [(start, end) for _, start, end, _ in suggestions],
        [frozenset(one["run"] for one in backing["runs"]) for *_, backing in suggestions],
    )
    return {
        suggestions[index][0]: [suggestions[other][0] for other in others] for index, others in enumerate(conflicting)
    }


def bounds_by_note(**spans: Any) -> dict[int, set[LabeledBounds]]:
    """The bounds and labels of the spans that match the arguments of `QuerySet.filter`, by note."""
    found: dict[int, set[LabeledBounds]] = defaultdict(set)
    rows = Span.objects.filter(**spans).order_by()
    for note, start, end, label in rows.values_list("annotation_set__document_id", "start", "end", "label_id"):
        found[note].add((start, end, label))
    return found


def gold_bounds(project: Project | int, notes: Iterable[int]) -> dict[int, set[LabeledBounds]]:
    """The bounds and labels of the gold of these notes."""
    authors = Author.objects.filter(project=project, kind=AuthorKind.GOLD)
    return bounds_by_note(annotation_set__author__in=authors, annotation_set__document__in=notes)


Bounds = tuple[int, int]
"""Start and end in code points, end-exclusive."""


@dataclass(frozen=True, slots=True)
class CurrentDecision:
    """The current decision on a suggestion."""

    verdict: str
    start: int | None
    end: int | None
    label_id: int | None
    cause_id: UUID | None
    reviewer_id: int
    by: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A span of a run, with its note, its run, and the decision on it (None if open)."""

    pk: int
    start: int
    end: int
    label_id: int
    confidence: float | None
    source: str
    provenance: MergedProvenance | None
    string_key: int | None
    attributes: dict[str, Value] | None
    annotation_set_id: int
    document_id: int
    author_id: int
    author_kind: str
    author_name: str
    decision: CurrentDecision | None

    @property
    def bounds(self) -> LabeledBounds:
        return self.start, self.end, self.label_id


_SPAN = (
    "pk", "start", "end", "label_id", "confidence", "source", "provenance", "string_key", "attributes",
    "annotation_set_id",
    "annotation_set__document_id", "annotation_set__author_id", "annotation_set__author__kind",
    "annotation_set__author__name",
)  # fmt: skip
_DECISION = (
    "decision__verdict", "decision__start", "decision__end", "decision__label_id", "decision__cause_id",
    "decision__reviewer_id", "decision__reviewer__username", "decision__at",
)  # fmt: skip


@cache
def _read() -> "QuerySet[Span, Any]":
    """The query for suggestions and their decisions. Cached, because building it costs more than running it."""
    return Span.objects.order_by().exclude(planted__result=HIDDEN).values_list(*_SPAN, *_DECISION)


def suggestions(*conditions: Any, order: Sequence[str] = (), **lookups: Any) -> list[Suggestion]:
    """The suggestions that match the arguments of `QuerySet.filter`, without hidden planted leaks."""
    rows = _read().filter(*conditions, **lookups)
    return [_suggestion(row) for row in (rows.order_by(*order) if order else rows)]


def _suggestion(row: Sequence[Any]) -> Suggestion:
    width = len(_SPAN)
    decision = CurrentDecision(*row[width:]) if row[width] is not None else None
    return Suggestion(*(*row[:width], decision))


def of_run(document: Document, author: Author) -> dict[str, Any]:
    """The lookups for a run's suggestions in one note."""
    return {
        "annotation_set__document_id": document.pk,
        "annotation_set__author_id": author.pk,
        "annotation_set__state": AnnotationSetState.SUBMITTED,
    }


def suggestions_named(ids: Iterable[int]) -> dict[int, Suggestion]:
    """Suggestions by id. Ids that no longer exist are missing."""
    wanted = list(ids)
    return {one.pk: one for one in suggestions(pk__in=wanted)} if wanted else {}


def around(spans: Iterable[Sequence[Any]]) -> Bounds:
    """The bounds from the first start to the last end of these spans, each a sequence that begins with start, end."""
    stretches = [(span[0], span[1]) for span in spans]
    return min((start for start, _ in stretches), default=0), max((end for _, end in stretches), default=0)


def conflicting_suggestions(wanted: Sequence[Suggestion]) -> dict[int, list[Suggestion]]:
    """The conflicting suggestions of each of these in its merged list, by suggestion id, ordered by id.

    Suggestions of single runs have none. Conflicting suggestions overlap, so the query reads only the stretch of text
    that `wanted` covers.
    """
    merged = {one.annotation_set_id for one in wanted if backing_of(one.provenance)}
    if not merged:
        return {}
    least, most = around(one.bounds for one in wanted)
    near = suggestions(annotation_set__in=merged, provenance__isnull=False, start__lt=most, end__gt=least, order=["pk"])
    by_set: dict[int, list[Suggestion]] = {}
    for one in near:
        by_set.setdefault(one.annotation_set_id, []).append(one)
    found: dict[int, list[Suggestion]] = {}
    for among in by_set.values():
        by_id = {one.pk: one for one in among}
        backed = [(one.pk, one.start, one.end, backing) for one in among if (backing := backing_of(one.provenance))]
        found |= {pk: [by_id[other] for other in sorted(others)] for pk, others in conflicting_among(backed).items()}
    return found


def excluded_by(accepted: LabeledBounds, conflicting: Iterable[Suggestion]) -> list[Suggestion]:
    """The conflicting suggestions that overlap the accepted span, except one with the same bounds and label."""
    start, end, _ = accepted
    return [one for one in conflicting if one.start < end and start < one.end and one.bounds != accepted]


# Finished gold: gold that a person has finished by adjudication, from annotations, by an import or by a review.
#
# An act that decides on many suggestions skips notes with finished gold unless the person includes them. Gold of a
# review that was never finished is not finished. Gold that was finished once stays finished while a second person must
# confirm a change.


SUBMITTED = AnnotationSetState.SUBMITTED
_FINISHED = Q(state=SUBMITTED) | Q(submitted_at__isnull=False)


def is_finished(state: str, submitted_at: datetime | str | None) -> bool:
    """Whether a gold set with these columns is finished. `submitted_at` may be the database's own text form."""
    return state == SUBMITTED or submitted_at is not None


def finished_sets(project: Project | int) -> "QuerySet[AnnotationSet]":
    """The finished gold sets of a project.

    The filter by author id instead of a join lets each note be looked up in the index of the unique constraint.
    """
    authors = Author.objects.filter(project=project, kind=AuthorKind.GOLD).values_list("pk", flat=True)
    return AnnotationSet.objects.filter(_FINISHED, author_id=authors.first() or 0)


def finished_gold_of(project: Project, document: str) -> "QuerySet[AnnotationSet]":
    """The finished gold of a note, for Exists(); `document` names the note's column in the outer query."""
    return finished_sets(project).filter(document=OuterRef(document))


def with_finished_gold(project: Project | int, documents: Iterable[int]) -> set[int]:
    """The ids of those of these notes that have finished gold."""
    rows = finished_sets(project).filter(document__in=list(documents))
    return set(rows.values_list("document_id", flat=True))


def finishing_events(golds: Iterable[int]) -> dict[int, Event]:
    """The event that last finished each gold set, by the set's id. Imported gold has none."""
    rows = Event.objects.filter(annotation_set_id__in=list(golds), verb__in=[GOLD_MADE, REVIEW_FINISHED])
    return {event.annotation_set_id: event for event in rows.order_by("pk") if event.annotation_set_id}


def origin_of(document: Document) -> str | None:
    """The origin of the note's finished gold: the kind of author that it was made from, "review" or "import".

    None if the note has no finished gold.
    """
    gold = finished_sets(document.project).filter(document=document).values_list("pk", flat=True).first()
    if gold is None:
        return None
    event = finishing_events([gold]).get(gold)
    if event is None:
        return "import"
    if event.verb == REVIEW_FINISHED:
        return "review"
    kind = AnnotationSet.objects.filter(pk=event.data.get("from_set")).values_list("author__kind", flat=True).first()
    return kind or "import"


# Doubtful suggestions of language models (text.provenance). An act that decides on many suggestions skips them.
#
# A reviewer decides on each of them, or includes them in the act.


# Only doubtful suggestions have this key in their provenance.
_KEY: Final = "unsupported"
DOUBTFUL: Final = Q(provenance__has_key=_KEY)


def is_doubtful(provenance: Mapping[str, Any] | None) -> bool:
    """Whether a suggestion with this provenance is doubtful."""
    return provenance is not None and _KEY in provenance
