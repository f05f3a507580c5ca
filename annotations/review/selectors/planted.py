"""Planted leaks as they stand: which proposals the pages of review don't show, and what they call the others."""

from collections.abc import Callable, Iterable
from functools import lru_cache

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils.crypto import salted_hmac

from annotations.domain.aliases import Aliases
from annotations.models import Author, Document, Handover, PlantedLeak, Project, Review, Span
from annotations.models.prepared import PreparedRead
from annotations.projects.selectors.second_reviews import ACTIVE

HIDDEN = ""

_OF_REVIEW = PreparedRead(
    lambda review: PlantedLeak.objects.filter(review_id=review).values_list("proposal_id", "result"), int
)


def planted_in(review: int) -> dict[int, str]:
    """By proposal what became of it; empty while it is hidden."""
    return dict(_OF_REVIEW.all(review))


def hidden_in(review: Review) -> "QuerySet[PlantedLeak]":
    return PlantedLeak.objects.filter(review=review, result=HIDDEN)


def without_hidden(spans: "QuerySet[Span]") -> "QuerySet[Span]":
    """These proposals as people may see them now."""
    hidden = PlantedLeak.objects.filter(result=HIDDEN, proposal=OuterRef("pk"))
    return spans.exclude(Exists(hidden)) if PlantedLeak.objects.filter(result=HIDDEN).exists() else spans


def not_for_bulk() -> "QuerySet[PlantedLeak]":
    """Of OuterRef("pk"): hidden, or just shown to the first reader, who has to decide on it one by one."""
    second = Handover.objects.filter(review=OuterRef("review"), state__in=ACTIVE)
    rows = PlantedLeak.objects.filter(proposal=OuterRef("pk"))
    return rows.filter(Q(result=HIDDEN) | ~Exists(second))


def left_for_one(proposals: Iterable[int]) -> set[int]:
    """Of these proposals those that `not_for_bulk` is about."""
    spans = Span.objects.filter(Exists(not_for_bulk()), pk__in=list(proposals), decision__isnull=True)
    return set(spans.order_by().values_list("pk", flat=True))


def hidden_there(document: Document, author: Author) -> "QuerySet[PlantedLeak]":
    """What is hidden of this run's proposals for the note where the outer span lies."""
    return PlantedLeak.objects.filter(
        result=HIDDEN, review__document=document, review__author=author, proposal__start__lt=OuterRef("end"),
        proposal__end__gt=OuterRef("start"),
    )  # fmt: skip


def hidden_in_set(reading: int) -> set[int]:
    """Of an annotation set the proposals that are hidden now, by their ids."""
    rows = PlantedLeak.objects.filter(result=HIDDEN, proposal__annotation_set=reading)
    return set(rows.values_list("proposal_id", flat=True))


def hidden_at(author: Author, document: Document) -> list[int]:
    """The planted leaks of the note that are hidden now, by their own ids."""
    rows = PlantedLeak.objects.filter(review__document=document, review__author=author, result=HIDDEN)
    return list(rows.values_list("pk", flat=True))


def found_of(planted: Iterable[int]) -> int:
    """How many of these planted leaks the reading has found by now."""
    return PlantedLeak.objects.filter(pk__in=list(planted), result=PlantedLeak.Result.FOUND).count()


def aliases(project: Project | int) -> Aliases:
    """What the pages of review call proposals where one may be missing among them."""
    return _aliases(project if isinstance(project, int) else project.pk)


def proposal_named(project: Project, author: Author, document: Document) -> Callable[[int], int]:
    """The id of a proposal by what a page of review calls it; 0 for an id itself where something may be hidden.

    Ids are taken of a page from before the option was on. On a note that was drawn, trying them would find the gaps.
    """
    back = aliases(project).back
    if not Review.objects.filter(document=document, author=author, planted_share__gt=0).exists():
        return back
    return lambda number: 0 if back(number) == number else back(number)


@lru_cache(16)
def _aliases(project: int) -> Aliases:
    return Aliases(salted_hmac("annotations.planted.aliases", str(project), algorithm="sha256").digest())


def drawing_key(project: Project) -> bytes:
    """Nobody who sees pages can tell from it what is drawn; the same project always draws the same."""
    return salted_hmac("annotations.planted.drawing", str(project.pk), algorithm="sha256").digest()
