"""Suggestions that are hidden from people for now: planted leaks, until the first reviewer finishes the note."""

from django.db.models import Exists, OuterRef, QuerySet
from django.utils.translation import gettext_lazy

from annotations.models import Author, PlantedLeak, Project, Review, Span

HIDDEN = ""
"""The result of a planted leak that is hidden."""
WITHHELD = gettext_lazy(
    "This project measures missed identifiers. Until the review of every note is finished, only a manager can "
    "read, export, score or compare all suggestions of a run."
)


def shown(spans: QuerySet[Span]) -> QuerySet[Span]:
    """Return these suggestions without hidden planted leaks."""
    hidden = PlantedLeak.objects.filter(result=HIDDEN, suggestion=OuterRef("pk"))
    return spans.exclude(Exists(hidden)) if PlantedLeak.objects.filter(result=HIDDEN).exists() else spans


def hidden_in(annotation_set: int) -> set[int]:
    """Return the ids of the suggestions of an annotation set that are hidden now."""
    rows = PlantedLeak.objects.filter(result=HIDDEN, suggestion__annotation_set=annotation_set)
    return set(rows.values_list("suggestion_id", flat=True))


def withheld(project: Project) -> str:
    """Why whole annotation sets of runs are withheld; empty if no planted leak is, or may still be, hidden.

    Comparing all suggestions of a run with the page of a note would reveal what is hidden. The answer depends only on
    which reviews are finished and never on what was drawn, so that the answer itself reveals nothing.
    """
    # The filter by author fits the index of reviews, in which the unfinished reviews of an author are adjacent.
    runs = list(Author.objects.filter(project=project, kind__in=Author.MODELS).values_list("pk", flat=True))
    drawn = Review.objects.filter(author__in=runs, planted_share__gt=0, finished_at__isnull=True)
    return str(WITHHELD) if drawn.exists() else ""
