"""The notes that a majority vote can decide, and those that it skips, with the reason."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Case, Count, Exists, OuterRef, Q, QuerySet, Sum, Value, When
from django.db.models.enums import TextChoices

from annotations.agreement.selectors.adjudication.desk import LEAST_ANNOTATORS
from annotations.core.authors import gold_sets, review_drafts
from annotations.models import AnnotationSet, Assignment, AssignmentState, Author, AuthorKind, Comparison, Project


class Reason(TextChoices):
    """Why the vote skips a note. The first reason that applies counts."""

    HAS_GOLD = "has_gold"
    IN_REVIEW = "in_review"
    BEGUN = "begun"
    PENDING = "pending"
    NONE = ""


@dataclass(frozen=True)
class MajorityCounts:
    """The counts of a vote before it is made.

    `whole` notes would become gold. `tied` notes have `ties` locations without a majority, which an adjudicator
    decides. The other notes are skipped: they have gold, an open review or an adjudication, or wait for an annotator.
    """

    whole: int
    tied: int
    ties: int
    has_gold: int
    in_review: int
    begun: int
    pending: int

    @property
    def planned(self) -> int:
        return self.whole + self.tied

    @property
    def notes(self) -> int:
        return self.planned + self.has_gold + self.in_review + self.begun + self.pending


def shared_notes(project: Project) -> "QuerySet[Any]":
    """The notes that at least two annotators have submitted, with the `reason` to skip each. Compare notes before."""
    here = {"document_id": OuterRef("document_id")}
    author = Author.objects.filter(project=project, kind=AuthorKind.ADJUDICATED).values_list("pk", flat=True).first()
    adjudicated = AnnotationSet.objects.filter(author_id=author or 0, **here)
    pending = Assignment.objects.filter(state=AssignmentState.OPEN, **here)
    return Comparison.objects.filter(project=project, annotators__gte=LEAST_ANNOTATORS).annotate(
        reason=Case(
            When(Exists(gold_sets(project).filter(**here)), then=Value(Reason.HAS_GOLD.value)),
            When(Exists(review_drafts(project).filter(**here)), then=Value(Reason.IN_REVIEW.value)),
            When(Exists(adjudicated), then=Value(Reason.BEGUN.value)),
            When(Exists(pending), then=Value(Reason.PENDING.value)),
            default=Value(Reason.NONE.value),
        )
    )


def preview(project: Project) -> MajorityCounts:
    rows = (
        shared_notes(project)
        .order_by()
        .values_list("reason")
        .annotate(n=Count("document_id"), with_ties=Count("document_id", filter=Q(tied__gt=0)), ties=Sum("tied"))
    )
    found = {reason: (n, tied, ties) for reason, n, tied, ties in rows}
    n, tied, ties = found.pop(Reason.NONE, (0, 0, 0))
    skipped = {reason.value: found.get(reason.value, (0,))[0] for reason in Reason if reason}
    return MajorityCounts(whole=n - tied, tied=tied, ties=ties or 0, **skipped)


def to_decide(project: Project) -> list[int]:
    """The ids of the notes that the vote decides."""
    rows = shared_notes(project).filter(reason=Reason.NONE).order_by("document_id")
    return list(rows.values_list("document_id", flat=True))


def free_notes(project: Project, documents: Sequence[int]) -> list[int]:
    """Those of these notes that the vote may still decide."""
    rows = shared_notes(project).filter(document_id__in=documents, reason=Reason.NONE).order_by("document_id")
    return list(rows.values_list("document_id", flat=True))
