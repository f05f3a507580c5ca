"""Planted leaks: which suggestions are hidden now, and the aliases by which review pages name suggestions."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from django.db.models import Count, Exists, OuterRef, Q, QuerySet
from django.utils.crypto import salted_hmac
from django.utils.translation import gettext as _

from annotations import models
from annotations.core.access import Access, Can
from annotations.core.authors import gold_sets
from annotations.core.services import ServiceError
from annotations.core.suggestions import HIDDEN
from annotations.projects.selectors.projects import ACTIVE
from annotations.review.rules.planting import Aliases, PlantedCounts, RemainingEstimate, left_over


def planted_in(review: int) -> dict[int, str]:
    """The outcome of each planted leak of the review, by suggestion id; empty while the leak is hidden."""
    return dict(models.PlantedLeak.objects.filter(review_id=review).values_list("suggestion_id", "result"))


def hidden_in(review: models.Review) -> "QuerySet[models.PlantedLeak]":
    return models.PlantedLeak.objects.filter(review=review, result=HIDDEN)


def not_for_bulk() -> "QuerySet[models.PlantedLeak]":
    """Planted leaks of the outer query's suggestion that bulk acts must leave alone.

    A planted leak is left alone while it is hidden, and while the first reviewer has to decide on it by itself.
    """
    second = models.Handover.objects.filter(review=OuterRef("review"), state__in=ACTIVE)
    rows = models.PlantedLeak.objects.filter(suggestion=OuterRef("pk"))
    return rows.filter(Q(result=HIDDEN) | ~Exists(second))


def left_for_one(suggestions: Iterable[int]) -> set[int]:
    """Of these suggestions, the undecided ones that bulk acts must leave alone (`not_for_bulk`)."""
    spans = models.Span.objects.filter(Exists(not_for_bulk()), pk__in=list(suggestions), decision__isnull=True)
    return set(spans.order_by().values_list("pk", flat=True))


def hidden_there(document: models.Document, author: models.Author) -> "QuerySet[models.PlantedLeak]":
    """Hidden planted leaks of this run and note that overlap the span of the outer query."""
    return models.PlantedLeak.objects.filter(
        result=HIDDEN, review__document=document, review__author=author, suggestion__start__lt=OuterRef("end"),
        suggestion__end__gt=OuterRef("start"),
    )  # fmt: skip


def hidden_at(author: models.Author, document: models.Document) -> list[int]:
    """Ids of the planted leaks (not of the suggestions) that are hidden now in the note."""
    rows = models.PlantedLeak.objects.filter(review__document=document, review__author=author, result=HIDDEN)
    return list(rows.values_list("pk", flat=True))


def found_of(planted: Iterable[int]) -> int:
    """How many of these planted leaks the reviewer has found."""
    return models.PlantedLeak.objects.filter(pk__in=list(planted), result=models.PlantedLeak.Result.FOUND).count()


def aliases(project: models.Project | int) -> Aliases:
    """The numbers that stand for suggestion ids on review pages, where a gap between ids would reveal a hidden one."""
    return _aliases(project if isinstance(project, int) else project.pk)


def suggestion_named(project: models.Project, author: models.Author, document: models.Document) -> Callable[[int], int]:
    """A function that returns the suggestion id for the number that a review page sent.

    A page from before planted leaks were turned on still sends ids, which are accepted. In a note with planted leaks,
    an id gives 0, because trying ids would find the gaps.
    """
    back = aliases(project).back
    if not models.Review.objects.filter(document=document, author=author, planted_share__gt=0).exists():
        return back
    return lambda number: 0 if back(number) == number else back(number)


def suggestions_for(project: models.Project, numbers: Iterable[int]) -> set[int]:
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


# How many planted leaks reviewers found and missed, and what that implies for identifiers that no run suggested.


Result = models.PlantedLeak.Result


COUNTS = ("found", "partly", "missed", "none", "waiting", "elsewhere")


@dataclass(frozen=True, slots=True)
class ReviewerCounts(PlantedCounts):
    """Planted leaks of one reviewer, or of all reviewers (`reviewer` is empty).

    Not part of the rate: `none` (a person decided that they are not identifiers), `waiting` (undecided) and `elsewhere`
    (added to gold by other means).
    """

    reviewer: str = ""
    reviewer_id: int = 0
    none: int = 0
    waiting: int = 0
    elsewhere: int = 0

    def figures(self) -> dict[str, Any]:
        """Return the figures as commands and the API give them."""
        counts = {name: getattr(self, name) for name in COUNTS if name != "none"}
        interval = list(self.rate.interval) if self.rate.interval else None
        rate = {"share": self.rate.share, "interval": interval, "few": self.rate.few}
        return counts | {"no_identifier": self.none} | rate


def measured_by(project: models.Project, runs: Iterable[int] = ()) -> list[ReviewerCounts]:
    """Revealed planted leaks by reviewer, most first.

    The reviewer is the person who marked the planted leak, or else who finished the note without marking it.
    """
    rejected = Q(suggestion__decision__verdict=models.Decision.Verdict.REJECTED)
    accepted = Q(suggestion__decision__verdict=models.Decision.Verdict.ACCEPTED)
    undecided = Q(suggestion__decision__isnull=True)
    was_found, in_part, was_missed = (Q(result=each) for each in (Result.FOUND, Result.PARTLY, Result.MISSED))
    counted = (
        _revealed(project, runs)
        .order_by()
        .values("reviewer_id", "reviewer__username")
        .annotate(
            # A blind second review removes the first decisions from the tables, but a found leak stays found.
            found=Count("pk", filter=was_found & (accepted | undecided)),
            # A rejection says that the part that the reviewer marked is the whole identifier.
            partly=Count("pk", filter=in_part & (accepted | rejected)),
            missed=Count("pk", filter=was_missed & accepted),
            none=Count("pk", filter=(was_found | was_missed) & rejected),
            waiting=Count("pk", filter=(in_part | was_missed) & undecided),
            elsewhere=Count("pk", filter=Q(result=Result.ELSEWHERE)),
        )
    )
    found = [
        ReviewerCounts(reviewer=row["reviewer__username"] or "", reviewer_id=row["reviewer_id"] or 0, **_counts_in(row))
        for row in counted
    ]
    return sorted(found, key=lambda each: (-each.rate.decided, each.reviewer))


def _counts_in(row: Mapping[str, Any]) -> dict[str, int]:
    return {name: row[name] for name in COUNTS}


def together(measured: Sequence[ReviewerCounts]) -> ReviewerCounts:
    """The sum over all reviewers."""
    return ReviewerCounts(**{name: sum(getattr(one, name) for one in measured) for name in COUNTS})


@dataclass(frozen=True)
class PlantedFigures:
    """What a person may see of planted leaks: `whole` of all reviewers, `rows` by reviewer, `others` rows are kept."""

    measured: bool
    rows: list[ReviewerCounts]
    whole: ReviewerCounts
    others: int
    unsuggested: "UnsuggestedIdentifiers"


def planting_for(access: Access, runs: Sequence[int]) -> PlantedFigures:
    """Missed planted leaks: managers see the figures of all reviewers, others the total and their own figures."""
    return planting_in(access.project, runs, None if access.can(Can.MANAGE) else access.user)


def planting_in(project: models.Project, runs: Sequence[int], only: models.User | None) -> PlantedFigures:
    """Missed planted leaks. `only`: the one reviewer whose own figures are shown; None: those of all."""
    measured = measured_by(project, runs)
    whole = together(measured)
    rows = [one for one in measured if only is None or one.reviewer_id == only.pk]
    left = unsuggested(project, whole, runs) if measured else UnsuggestedIdentifiers(0, 0, None)
    return PlantedFigures(bool(measured), rows, whole, len(measured) - len(rows), left)


def _revealed(project: models.Project, runs: Iterable[int]) -> "QuerySet[models.PlantedLeak]":
    rows = models.PlantedLeak.objects.filter(review__document__project=project).exclude(result=HIDDEN)
    chosen = list(runs)
    return rows.filter(review__author__in=chosen) if chosen else rows


@dataclass(frozen=True, slots=True)
class UnsuggestedIdentifiers:
    """Identifiers that no run suggested: `by_hand` found by reviewers in `notes` finished notes, and what is `left`.

    Only notes that were part of the measurement with planted leaks count.
    """

    notes: int
    by_hand: int
    left: RemainingEstimate | None


def unsuggested(project: models.Project, missed: PlantedCounts, runs: Iterable[int] = ()) -> UnsuggestedIdentifiers:
    """Identifiers that reviewers added by hand, without found planted leaks, and an estimate of how many are left."""
    finished = models.Review.objects.filter(document__project=project, planted_share__gt=0, finished_at__isnull=False)
    if chosen := list(runs):
        finished = finished.filter(author__in=chosen)
    notes = finished.order_by().values("document").distinct()
    gold = gold_sets(project).filter(document__in=notes)
    added = models.Span.objects.filter(annotation_set__in=gold.values("pk"), provenance__changed=["added"])
    planted = models.PlantedLeak.objects.filter(review__in=finished.values("pk"))
    # A found planted leak is in gold as the reviewer marked it, so its span must not count as found by hand as well.
    found = planted.filter(
        result=Result.FOUND, review__document=OuterRef("annotation_set__document"),
        suggestion__decision__start=OuterRef("start"), suggestion__decision__end=OuterRef("end"),
        suggestion__decision__label_id=OuterRef("label_id"),
    )  # fmt: skip
    by_hand = added.exclude(Exists(found)).count() - planted.filter(result=Result.PARTLY).count()
    return UnsuggestedIdentifiers(notes.count(), max(0, by_hand), left_over(max(0, by_hand), missed.rate))


# Possible missed identifiers: spans that other runs suggest where the run under review suggests nothing.
#
# A rule backend with patterns and gazetteers is one such run. The page's script itself looks for further occurrences of
# gold strings in the same note (static/js/review/hints.js).


MOST = 200


def hints_of(document: models.Document, author: models.Author) -> list[dict[str, Any]]:
    """Spans with the runs that suggest them, each span and label once; most runs first.

    Offsets are code points, end-exclusive. Hidden planted leaks are left out: other runs nearly always suggest a known
    identifier, so hints would make reviewers find more planted leaks than they find of other missed identifiers.
    """
    # A merged list only repeats what its runs suggest.
    others = models.Author.objects.filter(
        project=author.project_id, kind__in=models.Author.MODELS, merged_from__isnull=True
    )
    spans = models.Span.objects.filter(
        ~Exists(hidden_there(document, author)),
        annotation_set__document=document, annotation_set__author__in=others.exclude(pk=author.pk),
        annotation_set__state=models.AnnotationSetState.SUBMITTED,
    )  # fmt: skip
    rows = spans.order_by("start", "end", "pk").values_list(
        "start", "end", "label_id", "annotation_set__author__name", "confidence", "source"
    )
    found: dict[tuple[int, int, int], dict[str, Any]] = {}
    for start, end, label, run, confidence, source in rows:
        hint = found.setdefault(
            (start, end, label),
            {"start": start, "end": end, "label": label, "runs": [], "confidence": confidence, "source": source},
        )
        if run not in hint["runs"]:
            hint["runs"].append(run)
    return sorted(found.values(), key=lambda hint: (-len(hint["runs"]), hint["start"]))[:MOST]
