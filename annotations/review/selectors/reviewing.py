"""The runs and notes that can be reviewed, and the notes of a run that wait for review."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from itertools import starmap
from typing import Any, Final, Literal, NamedTuple, get_args

from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet, Sum
from django.http import QueryDict
from django.shortcuts import get_object_or_404

from annotations import models
from annotations.core.access import Access, Can
from annotations.core.navigation import MOST
from annotations.models.prepared import PreparedRead
from annotations.projects.selectors.projects import ACTIVE
from annotations.review.rules.precision import Rate
from annotations.text.names import whole_number

# Handovers between two reviewers: which notes wait for whom, and how often two reviewers agree.


@dataclass(frozen=True, slots=True)
class Between:
    """A handover from the perspective of one person. `own`: this person took part in the first review."""

    pk: int
    state: str
    blind: bool
    first: str
    own: bool

    @property
    def stage(self) -> str:
        """The stage: waiting (for another person), second (review), or resolving (differences)."""
        if self.own:
            return "waiting"
        return "resolving" if self.state == models.HandoverState.RESOLVING else "second"

    @property
    def shows_first(self) -> bool:
        """Whether this person may see the decisions of the first reviewer."""
        return not self.own and (not self.blind or self.state == models.HandoverState.RESOLVING)


@cache
def _active() -> "QuerySet[models.Handover, Any]":
    """The active handovers. Cached, because every decision runs this query."""
    rows = models.Handover.objects.filter(state__in=ACTIVE).order_by()
    return rows.values_list("review_id", "pk", "state", "blind", "first__username")


def between_in(reviews: Iterable[int], user: models.User | None) -> dict[int, Between]:
    """The active handover of each review, for this person. Reviews without an active handover are missing."""
    rows = list(_active().filter(review__in=list(reviews)))
    if not rows:
        return {}
    people = models.Handover.people.through.objects.filter(handover__in=[row[1] for row in rows], user=user)
    own = set(people.values_list("handover_id", flat=True)) if user else set()
    return {review: Between(pk, state, blind, first, pk in own) for review, pk, state, blind, first in rows}


def between(review: int, user: models.User | None) -> Between | None:
    """The active handover of the review, for this person, or None."""
    return between_in([review], user).get(review)


def handed_over_by(user: models.User | None, **which: Any) -> "QuerySet[models.Handover]":
    """Active handovers made by this person, narrowed by lookups."""
    rows = models.Handover.objects.filter(state__in=ACTIVE, **which)
    return rows.filter(people=user) if user is not None else rows.none()


def notes_handed_over_by(user: models.User | None, author: models.Author) -> "QuerySet[models.Handover, int]":
    """Ids of the notes of a run that this person handed over to a second reviewer."""
    return handed_over_by(user, review__author=author).values_list("review__document_id", flat=True)


class WaitingCounts(NamedTuple):
    """Numbers of handed-over notes of a run that wait for this person, and for another person."""

    yours: int = 0
    others: int = 0


def waiting_of(authors: Iterable[int], user: models.User) -> dict[int, WaitingCounts]:
    """The numbers of waiting notes by author id of the run."""
    own = Exists(models.Handover.people.through.objects.filter(handover=OuterRef("pk"), user_id=user.pk))
    rows = models.Handover.objects.filter(review__author__in=list(authors), state__in=ACTIVE).order_by()
    counted = rows.annotate(own=own).values_list("review__author").annotate(
        yours=Count("pk", filter=Q(own=False)), every=Count("pk")
    )  # fmt: skip
    return {author: WaitingCounts(yours, every - yours) for author, yours, every in counted}


@dataclass(frozen=True, slots=True)
class Pair:
    """Agreement of two reviewers on the same notes before they resolved differences: `equal` of `compared` items."""

    first: str
    second: str
    blind: bool
    notes: int
    equal: int
    compared: int

    @property
    def rate(self) -> Rate:
        return Rate(self.equal, self.compared)

    @property
    def differ(self) -> int:
        """The number of items on which the two reviewers decided differently."""
        return self.compared - self.equal


def pairs(project: models.Project, runs: Iterable[models.Author] = ()) -> list[Pair]:
    """Agreement of each pair of reviewers, blind and not blind apart; most compared first."""
    rows = models.Handover.objects.filter(
        review__document__project=project, state__in=[models.HandoverState.RESOLVING, models.HandoverState.DONE]
    )
    chosen = [run.pk for run in runs]
    if chosen:
        rows = rows.filter(review__author__in=chosen)
    counted: Any = rows.order_by().values_list("first__username", "second__username", "blind")
    found = counted.annotate(notes=Count("pk"), equal=Sum("equal"), compared=Sum("compared"))
    return sorted(starmap(Pair, found), key=lambda pair: (-pair.compared, pair.first, pair.second))


@dataclass(frozen=True)
class ReviewProgress:
    """Numbers of notes of a run: `done`, `total`, and handed-over notes that wait for this person or for `others`."""

    done: int
    total: int
    yours: int = 0
    others: int = 0

    @property
    def left(self) -> int:
        return self.total - self.done - self.others


def run_author(project: models.Project, pk: int) -> models.Author:
    """The author of a run of this project. Raises Http404."""
    return get_object_or_404(models.Author, pk=pk, project=project, kind__in=models.Author.MODELS)


def run_authors(project: models.Project) -> list[models.Author]:
    """The authors whose suggestions can be reviewed (the project's runs and imported runs), newest first."""
    return list(models.Author.objects.filter(project=project, kind__in=models.Author.MODELS).order_by("-pk"))


def chosen_runs(project: models.Project, wanted: Iterable[str], *, merged: bool = False) -> list[models.Author]:
    """The runs named in a query string (`?run=1&run=2`), by id; without names, all runs of the project.

    Merged lists repeat what their runs suggest, so they are left out unless they are named or `merged` is set.
    """
    known = {str(author.pk): author for author in run_authors(project)}
    named = {known[each].pk: known[each] for each in wanted if each in known}
    every = sorted(known.values(), key=lambda author: author.pk)
    return [named[pk] for pk in sorted(named)] or [one for one in every if merged or one.merged_from is None]


def sets_of(author: models.Author) -> "QuerySet[models.AnnotationSet]":
    """The annotation sets of a run that people may see."""
    return models.AnnotationSet.objects.filter(author=author, state=models.AnnotationSetState.SUBMITTED)


def next_to_review(author: models.Author, after: int = 0, user: models.User | None = None) -> int | None:
    """The id of the next note whose review is not finished, starting over after the last note.

    Notes that wait for this person as second reviewer come first, then notes without gold, then the others. Notes that
    this person handed over are left out.
    """
    finished = models.Review.objects.filter(document=OuterRef("document"), author=author, finished_at__isnull=False)
    # A filter by author id instead of a join uses the index of annotation sets, which begins with the author.
    golden = models.Author.objects.filter(project_id=author.project_id, kind=models.AuthorKind.GOLD).values_list(
        "pk", flat=True
    )
    gold = models.AnnotationSet.objects.filter(
        document=OuterRef("document"), author_id=golden.first() or 0, state=models.AnnotationSetState.SUBMITTED
    )
    handed_over = handed_over_by(user, review__document=OuterRef("document"), review__author=OuterRef("author"))
    left = sets_of(author).filter(~Exists(finished), ~Exists(handed_over)).order_by("document_id")
    waiting = left.values_list("document_id", flat=True)
    second = models.Handover.objects.filter(
        review__document=OuterRef("document"), review__author=author, state__in=ACTIVE
    )
    for notes in (waiting.filter(Exists(second)), waiting.filter(~Exists(gold)), waiting):
        found = notes.filter(document_id__gt=after).first() or notes.first()
        if found is not None:
            return found
    return None


def review_progress(author: models.Author, user: models.User | None = None) -> ReviewProgress:
    """The progress for a person. Without a person, every note that is not finished counts as left."""
    done = models.Review.objects.filter(author=author, finished_at__isnull=False).count()
    between = waiting_of([author.pk], user).get(author.pk, WaitingCounts()) if user else WaitingCounts()
    return ReviewProgress(done, sets_of(author).count(), between.yours, between.others)


def review_for(access: Access, author: int, note: int) -> tuple[models.Author, models.Document]:
    """The author of a run and a note that it has processed, whose text is deferred. Raises Http404."""
    run = run_author(access.project, author)
    notes = models.Document.objects.filter(
        annotation_sets__author=run, annotation_sets__state=models.AnnotationSetState.SUBMITTED
    )
    found = get_object_or_404(notes.defer("text"), pk=note)
    found.project = access.project
    return run, found


MOST_DECIDED: Final = 5


def last_decided(author: models.Author, user: models.User, besides: models.Document) -> list[models.Decision]:
    """This person's last single decision in each note of the run, newest first, without the note `besides`."""
    rows = models.Decision.objects.filter(reviewer=user, cause__isnull=True, review__author=author)
    rows = rows.exclude(review__document=besides).select_related("review__document").order_by("-pk")
    last = {row.review_id: row for row in reversed(rows.defer("review__document__text")[: 10 * MOST_DECIDED])}
    return sorted(last.values(), key=lambda row: -row.pk)[:MOST_DECIDED]


# The number of notes to review, for the navigation.


# The parameter of addresses that names the chosen runs, which stay chosen from page to page.
CHOSEN_RUNS = ("run",)


def _left(project: int, user: int) -> "QuerySet[models.Document, tuple[int]]":
    here = OuterRef("pk")
    finished = models.Review.objects.filter(document=here, finished_at__isnull=False)
    own = handed_over_by(models.User(pk=user), review__document=here)
    suggested = models.AnnotationSet.objects.filter(
        document=here, author__kind__in=models.Author.MODELS, state=models.AnnotationSetState.SUBMITTED
    )
    # Without runs, which the database notices at once, no note is looked at.
    runs = models.Author.objects.filter(project=project, kind__in=models.Author.MODELS)
    notes = models.Document.objects.filter(Exists(runs), project=project)
    notes = notes.filter(Exists(suggested), ~Exists(finished), ~Exists(own))
    return notes.order_by().values_list("pk")[: MOST + 1]


# The header counts on every page; Django would take longer to write this query than the database to answer it.
_LEFT = PreparedRead(_left, int, int)


def notes_left(access: Access) -> int | None:
    """Count the notes of runs of which no review is finished, up to one more than the header shows.

    Notes that this person handed over to a second reviewer are left out. No suggestion is counted, so that the number
    tells nothing about hidden ones.
    """
    return len(_LEFT.all(access.project.pk, access.user.pk)) if access.can(Can.MAKE_GOLD) else None


# The list of notes beside the note under review, each with the stage of its review.


# Notes shown before and after the open note. More would slow down every page and be scrolled past.
MOST_NEIGHBORS: Final = 60


class Stage(StrEnum):
    """The stage of a note's review, from the perspective of one person."""

    OPEN = "open"
    BEGUN = "begun"
    SECOND = "second"  # waiting for this person as second reviewer
    WAITING = "waiting"  # waiting for another person
    DONE = "done"


class ListedNote(NamedTuple):
    """One row of the list."""

    pk: int
    name: str
    stage: Stage


@dataclass(frozen=True, slots=True)
class ReviewList:
    """Some notes of a run, ordered by id, including the `current` one.

    `earlier` and `later` are the ids of the next notes beyond either end, or None.
    """

    notes: list[ListedNote]
    current: int
    earlier: int | None
    later: int | None

    @property
    def before(self) -> int | None:
        """The id of the note before the current one, or None."""
        return max((note.pk for note in self.notes if note.pk < self.current), default=None)

    @property
    def after(self) -> int | None:
        """The id of the note after the current one, or None."""
        return min((note.pk for note in self.notes if note.pk > self.current), default=None)


def review_list(author: models.Author, pk: int, user: models.User) -> ReviewList:
    """The notes around note `pk`, at most MOST_NEIGHBORS before and after it, ordered by id."""
    rows = sets_of(author).values_list("document_id", "document__name")
    before = [*rows.filter(document_id__lt=pk).order_by("-document_id")[: MOST_NEIGHBORS + 1]]
    following = [*rows.filter(document_id__gte=pk).order_by("document_id")[: MOST_NEIGHBORS + 2]]
    earlier = before.pop()[0] if len(before) > MOST_NEIGHBORS else None
    later = following.pop()[0] if len(following) > MOST_NEIGHBORS + 1 else None
    found = [*reversed(before), *following]
    stages = _stages(author, [note for note, _ in found], user)
    return ReviewList(
        [ListedNote(note, name, stages.get(note, Stage.OPEN)) for note, name in found], pk, earlier, later
    )


def _stages(author: models.Author, notes: Iterable[int], user: models.User) -> dict[int, Stage]:
    """The stages of those notes whose review has begun."""
    between: QuerySet[models.Handover] = models.Handover.objects.filter(review=OuterRef("pk"), state__in=ACTIVE)
    rows = models.Review.objects.filter(author=author, document__in=list(notes), ahead__isnull=True).order_by()
    rows = rows.annotate(between=Exists(between), own=Exists(between.filter(people=user)))
    found = rows.values_list("document_id", "finished_at", F("between"), F("own"))
    return {note: _stage(finished_at is not None, handed_over, own) for note, finished_at, handed_over, own in found}


def _stage(finished: bool, handed_over: bool, own: bool) -> Stage:
    if finished:
        return Stage.DONE
    if handed_over:
        return Stage.WAITING if own else Stage.SECOND
    return Stage.BEGUN


# The order in which the notes of a run are reviewed: by note id, or by the first open suggestion in another order.


# How the open note was chosen, in the address of its page.
CHOSEN = "chosen"
Order = Literal["note", "uncertainty", "false", "label", "informative"]


@dataclass(frozen=True, slots=True)
class NoteOrder:
    """The order of the notes. With a label, only notes that have an open suggestion with that label."""

    order: Order = "note"
    label: int | None = None

    @classmethod
    def of(cls, data: QueryDict) -> "NoteOrder":
        """Read the order from a query string. An unknown order becomes the order by note."""
        order = data.get("order", "")
        return cls(order if order in get_args(Order) else "note", whole_number(data.get("label", "")))  # type: ignore[arg-type]  # checked here

    @classmethod
    def that_chose(cls, data: QueryDict) -> "NoteOrder":
        """The order that chose the open note, as its page's query string has it (`chosen`).

        A page that was opened otherwise has none, so it is the order by note. The filters of the page, which may name
        another order for the next note, don't matter.
        """
        order = data.get(CHOSEN, "")
        return cls(order if order in get_args(Order) else "note")  # type: ignore[arg-type]  # checked here

    @property
    def chosen(self) -> dict[str, str]:
        """The parameter of `that_chose` for a note that this order chose; empty if it is plain."""
        return {} if self.plain else {CHOSEN: "label" if self.order == "note" else self.order}

    @property
    def plain(self) -> bool:
        """Whether notes come one after the other. In all other orders they are chosen for their suggestions."""
        return self.order == "note" and self.label is None
