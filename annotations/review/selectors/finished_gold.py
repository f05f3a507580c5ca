"""Finished gold: gold that a person has finished by adjudication, from annotations, by an import or by a review.

An act that decides on many suggestions skips notes with finished gold unless the person includes them. Gold of a
review that was never finished is not finished. Gold that was finished once stays finished while a second person must
confirm a change.
"""

from collections.abc import Iterable
from datetime import datetime

from django.db.models import OuterRef, Q, QuerySet

from annotations.gold.events import GOLD_MADE
from annotations.models import AnnotationSet, AnnotationSetState, Author, AuthorKind, Document, Event, Project
from annotations.review.events import REVIEW_FINISHED

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
