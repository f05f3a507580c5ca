"""What pages, routes and commands read about pairs of decisions."""

from dataclasses import dataclass
from typing import Final

from django.db.models import Avg, Case, Count, F, Prefetch, Q, QuerySet, Sum, When
from django.http import Http404
from django.shortcuts import get_object_or_404

from annotations.core.access import Access
from annotations.models import PairCandidate, Project, PublishedDecision, PublishedState

FLAGGED_BELOW: Final = 0.8
"""A pair is flagged if a smaller share of the clear note's tokens matched."""

FLAGGED: Final = "flagged"
TAGS: Final = ("outside", "begin", "inside")
PUBLISHED_AVERAGES: Final = {"O": 1384.12, "B-OMISSIS": 7.59, "I-OMISSIS": 4.13}
"""Average tokens per document by tag: Salierno et al. 2024, table 6."""


@dataclass(frozen=True)
class TagCount:
    """Tokens with one BIO tag: in all pairs, on average in a pair, and the published average (table 6)."""

    tag: str
    total: int
    average: float | None
    published: float


@dataclass(frozen=True)
class PairStatistics:
    """Published decisions by what became of them, and the tokens of the clear notes of pairs by tag.

    `aligned` is the mean share of aligned tokens, from 0 to 1; None without pairs.
    """

    decisions: int
    pairs: int
    flagged: int
    ambiguous: int
    unpaired: int
    aligned: float | None
    tags: list[TagCount]


def statistics(project: Project) -> PairStatistics:
    """Count the pairs of a project."""
    paired = Q(state=PublishedState.PAIRED, aligned__isnull=False)
    sums = PublishedDecision.objects.filter(project=project).aggregate(
        decisions=Count("pk"), pairs=Count("pk", filter=paired), ambiguous=Count("pk", filter=Q(state="ambiguous")),
        flagged=Count("pk", filter=paired & Q(aligned__lt=FLAGGED_BELOW)), unpaired=Count("pk", filter=Q(state="none")),
        share=Avg("aligned", filter=paired), **{f"sum_{name}": Sum(name, filter=paired) for name in TAGS},
    )  # fmt: skip
    totals = [sums.pop(f"sum_{name}") or 0 for name in TAGS]
    pairs = sums["pairs"]
    return PairStatistics(
        aligned=sums.pop("share"),
        **sums,
        tags=[
            TagCount(tag, total, total / pairs if pairs else None, average)
            for (tag, average), total in zip(PUBLISHED_AVERAGES.items(), totals, strict=True)
        ],
    )


def decisions(project: Project, state: str = "") -> QuerySet[PublishedDecision]:
    """The published decisions without their text, those with the smallest share of aligned tokens first.

    `state` is one of PublishedState, or FLAGGED.
    """
    rows = PublishedDecision.objects.filter(project=project).select_related("document", "author", "settled_by")
    if state == FLAGGED:
        rows = rows.filter(state=PublishedState.PAIRED, aligned__lt=FLAGGED_BELOW)
    elif state:
        rows = rows.filter(state=state)
    return rows.defer("text", "document__text").order_by(F("aligned").asc(nulls_last=True), "pk")


def to_settle(project: Project, first: int | None = None) -> QuerySet[PublishedDecision]:
    """The decisions whose notes a person chooses, that with the id `first` first, with their texts and candidates."""
    rows = PublishedDecision.objects.filter(project=project, state=PublishedState.AMBIGUOUS)
    candidates = PairCandidate.objects.select_related("document").defer("document__text")
    return rows.prefetch_related(Prefetch("candidates", candidates)).order_by(
        Case(When(pk=first, then=0), default=1), "pk"
    )


def decision_of(access: Access, pk: int) -> PublishedDecision:
    """A published decision of the project. Raises Http404."""
    found: PublishedDecision = get_object_or_404(PublishedDecision, project=access.project, pk=pk)
    return found


def state_of(value: str) -> str:
    """A state to filter by; empty for all. Raises Http404 for another word."""
    if value and value not in (*PublishedState.values, FLAGGED):
        raise Http404("There is no such state.")
    return value
