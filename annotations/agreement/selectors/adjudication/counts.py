"""Counts of adjudicated notes, from indexes only: nothing is compared."""

from dataclasses import dataclass
from typing import Any

from django.db.models import Exists, OuterRef, QuerySet

from annotations.annotate.selectors.progress import shared_notes
from annotations.core.access import Access, Can
from annotations.core.navigation import MOST
from annotations.models import (
    AnnotationSet,
    AnnotationSetState,
    Assignment,
    AssignmentState,
    Author,
    AuthorKind,
    Project,
)

SUBMITTED = AnnotationSetState.SUBMITTED


def adjudicated_sets(project: Project) -> QuerySet[AnnotationSet]:
    """Query the adjudicated sets of notes whose adjudication is finished."""
    authors = Author.objects.filter(project=project, kind=AuthorKind.ADJUDICATED).order_by()
    return AnnotationSet.objects.filter(author__in=authors, state=SUBMITTED).order_by()


def to_adjudicate(project: Project) -> QuerySet[Any, Any]:
    """Query the notes that two annotators have submitted and whose adjudication is not finished."""
    finished = adjudicated_sets(project).filter(document_id=OuterRef("document_id"))
    return shared_notes(project).filter(~Exists(finished))


def notes_left(access: Access) -> int | None:
    """Count the notes to adjudicate for the header, which shows no number above MOST."""
    if not access.can(Can.MAKE_GOLD):
        return None
    return to_adjudicate(access.project)[: MOST + 1].count()


@dataclass(frozen=True)
class Outcomes:
    """A person's adjudicated notes: how many, and the ids and names of the last ones."""

    count: int
    last: list[tuple[int, str]]


def outcomes(access: Access, most: int) -> Outcomes | None:
    """The outcomes that this person may open; None without any, or where the project doesn't show outcomes."""
    if not access.project.show_outcome:
        return None
    user = access.user.pk
    own = AnnotationSet.objects.filter(
        document_id=OuterRef("document_id"), author__kind=AuthorKind.ANNOTATOR, author__user_id=user, state=SUBMITTED
    )
    assigned = Assignment.objects.filter(
        document_id=OuterRef("document_id"), user_id=user, state__in=[AssignmentState.OPEN, AssignmentState.DONE]
    )
    mine = adjudicated_sets(access.project).filter(Exists(own))
    if access.blind:
        mine = mine.filter(Exists(assigned))
    count = mine.count()
    last = list(mine.order_by("-updated_at", "pk").values_list("document_id", "document__name")[:most])
    return Outcomes(count, last) if count else None
