"""Suggestions with what a decision needs to know: the note, the run, and the current decision."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any
from uuid import UUID

from django.db.models import QuerySet

from annotations.core.suggestions import HIDDEN
from annotations.models import AnnotationSetState, Author, Document, Span
from annotations.review.rules.conflicts import LabeledBounds
from annotations.review.selectors.merged_lists import backing_of, conflicting_among
from annotations.text.attributes import Value
from annotations.text.provenance import Backed

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
    provenance: Backed | None
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
