"""Planted leaks: which suggestions are hidden now, and the aliases by which review pages name suggestions."""

from collections.abc import Callable, Iterable
from functools import lru_cache

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils.crypto import salted_hmac
from django.utils.translation import gettext as _

from annotations.core.errors import ServiceError
from annotations.core.suggestions import HIDDEN
from annotations.models import Author, Document, Handover, PlantedLeak, Project, Review, Span
from annotations.projects.selectors.projects import ACTIVE
from annotations.review.rules.aliases import Aliases


def planted_in(review: int) -> dict[int, str]:
    """The outcome of each planted leak of the review, by suggestion id; empty while the leak is hidden."""
    return dict(PlantedLeak.objects.filter(review_id=review).values_list("suggestion_id", "result"))


def hidden_in(review: Review) -> "QuerySet[PlantedLeak]":
    return PlantedLeak.objects.filter(review=review, result=HIDDEN)


def not_for_bulk() -> "QuerySet[PlantedLeak]":
    """Planted leaks of the outer query's suggestion that bulk acts must leave alone.

    A planted leak is left alone while it is hidden, and while the first reviewer has to decide on it by itself.
    """
    second = Handover.objects.filter(review=OuterRef("review"), state__in=ACTIVE)
    rows = PlantedLeak.objects.filter(suggestion=OuterRef("pk"))
    return rows.filter(Q(result=HIDDEN) | ~Exists(second))


def left_for_one(suggestions: Iterable[int]) -> set[int]:
    """Of these suggestions, the undecided ones that bulk acts must leave alone (`not_for_bulk`)."""
    spans = Span.objects.filter(Exists(not_for_bulk()), pk__in=list(suggestions), decision__isnull=True)
    return set(spans.order_by().values_list("pk", flat=True))


def hidden_there(document: Document, author: Author) -> "QuerySet[PlantedLeak]":
    """Hidden planted leaks of this run and note that overlap the span of the outer query."""
    return PlantedLeak.objects.filter(
        result=HIDDEN, review__document=document, review__author=author, suggestion__start__lt=OuterRef("end"),
        suggestion__end__gt=OuterRef("start"),
    )  # fmt: skip


def hidden_at(author: Author, document: Document) -> list[int]:
    """Ids of the planted leaks (not of the suggestions) that are hidden now in the note."""
    rows = PlantedLeak.objects.filter(review__document=document, review__author=author, result=HIDDEN)
    return list(rows.values_list("pk", flat=True))


def found_of(planted: Iterable[int]) -> int:
    """How many of these planted leaks the reviewer has found."""
    return PlantedLeak.objects.filter(pk__in=list(planted), result=PlantedLeak.Result.FOUND).count()


def aliases(project: Project | int) -> Aliases:
    """The numbers that stand for suggestion ids on review pages, where a gap between ids would reveal a hidden one."""
    return _aliases(project if isinstance(project, int) else project.pk)


def suggestion_named(project: Project, author: Author, document: Document) -> Callable[[int], int]:
    """A function that returns the suggestion id for the number that a review page sent.

    A page from before planted leaks were turned on still sends ids, which are accepted. In a note with planted leaks,
    an id gives 0, because trying ids would find the gaps.
    """
    back = aliases(project).back
    if not Review.objects.filter(document=document, author=author, planted_share__gt=0).exists():
        return back
    return lambda number: 0 if back(number) == number else back(number)


def suggestions_for(project: Project, numbers: Iterable[int]) -> set[int]:
    """The suggestion ids for these aliases. Raises ServiceError for ids, because trying ids would find hidden leaks."""
    back = aliases(project).back
    named = {one: back(one) for one in numbers}
    if any(alias == pk for alias, pk in named.items()):
        raise ServiceError(_("This page is out of date. Nothing was changed. Reload the page."), code="page")
    return set(named.values())


@lru_cache(16)
def _aliases(project: int) -> Aliases:
    return Aliases(salted_hmac("annotations.planted.aliases", str(project), algorithm="sha256").digest())


def drawing_key(project: int) -> bytes:
    """The secret key of the draw, so that pages can't reveal what is drawn. A project always draws the same."""
    return salted_hmac("annotations.planted.drawing", str(project), algorithm="sha256").digest()
