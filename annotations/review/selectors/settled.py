"""Settled gold: gold that a person has finished, by adjudication, from annotations, by an import or by a review.

No act that decides on many suggestions touches such a note unless the person asks for it. Gold of a review that was
never finished is not settled. Gold that stopped counting afterwards, because a second person must confirm a change,
is.
"""

from collections.abc import Iterable
from datetime import datetime

from django.db.models import OuterRef, Q, QuerySet

from annotations.models import AnnotationSet, Author, Document, Event, Project, Verb

SUBMITTED = AnnotationSet.State.SUBMITTED
_FINISHED = Q(state=SUBMITTED) | Q(submitted_at__isnull=False)


def is_settled(state: str, submitted_at: datetime | str | None) -> bool:
    """`submitted_at` may come as the database writes it."""
    return state == SUBMITTED or submitted_at is not None


def settled_sets(project: Project | int) -> "QuerySet[AnnotationSet]":
    """By the author's id rather than a join: the constraint of one set per author serves each note with one look."""
    authors = Author.objects.filter(project=project, kind=Author.Kind.GOLD).values_list("pk", flat=True)
    return AnnotationSet.objects.filter(_FINISHED, author_id=authors.first() or 0)


def settled_at(project: Project, document: str) -> "QuerySet[AnnotationSet]":
    """For Exists, with the name of the outer query's column of the note."""
    return settled_sets(project).filter(document=OuterRef(document))


def settled_among(project: Project | int, documents: Iterable[int]) -> set[int]:
    """Of these notes, those with settled gold."""
    rows = settled_sets(project).filter(document__in=list(documents))
    return set(rows.values_list("document_id", flat=True))


def finished_by(golds: Iterable[int]) -> dict[int, Event]:
    """By gold set the act that finished it last; none for gold that was imported."""
    rows = Event.objects.filter(annotation_set_id__in=list(golds), verb__in=[Verb.GOLD_MADE, Verb.REVIEW_CLOSED])
    return {event.annotation_set_id: event for event in rows.order_by("pk") if event.annotation_set_id}


def origin_of(document: Document) -> str | None:
    """How the note's settled gold came about: the kind of author it was made from, "review" or "import".

    None where the note has no settled gold.
    """
    gold = settled_sets(document.project).filter(document=document).values_list("pk", flat=True).first()
    if gold is None:
        return None
    event = finished_by([gold]).get(gold)
    if event is None:
        return "import"
    if event.verb == Verb.REVIEW_CLOSED:
        return "review"
    kind = AnnotationSet.objects.filter(pk=event.data.get("from_set")).values_list("author__kind", flat=True).first()
    return kind or "import"
