"""Which notes of a run wait for review."""

from collections.abc import Iterable
from dataclasses import dataclass

from django.db.models import Exists, OuterRef, QuerySet

from annotations.models import AnnotationSet, Author, Decision, Document, Handover, Project, Review, User
from annotations.models.prepared import PreparedRead, columns_of, object_of
from annotations.projects.selectors.second_reviews import ACTIVE
from annotations.review.selectors.handovers import Waiting, handed_on, waiting_of


@dataclass(frozen=True)
class ReviewProgress:
    """Notes of a run: reviewed to the end, and all; between two reviewers, those for this person and for another."""

    done: int
    total: int
    yours: int = 0
    others: int = 0

    @property
    def left(self) -> int:
        return self.total - self.done - self.others


# Every decision begins with these two.
_AUTHOR_COLUMNS = columns_of(Author, without=["created_at", "merged_from"])
_RUN_AUTHOR = PreparedRead(
    lambda pk, project, run, refined: Author.objects.filter(
        pk=pk, project_id=project, kind__in=[run, refined]
    ).values_list(*_AUTHOR_COLUMNS),
    int,
    int,
    str,
    str,
)
_NOTE_COLUMNS = columns_of(Document, without=["text", "created_at"])
_NOTE = PreparedRead(
    lambda pk, author, state: Document.objects.filter(
        pk=pk, annotation_sets__author_id=author, annotation_sets__state=state
    ).values_list(*_NOTE_COLUMNS),
    int,
    int,
    str,
)


def run_author(project: Project, pk: int) -> Author | None:
    """The author of a run of this project."""
    row = _RUN_AUTHOR.first(pk, project.pk, Author.Kind.RUN.value, Author.Kind.REFINED.value)
    return object_of(Author, _AUTHOR_COLUMNS, row) if row else None


def run_authors(project: Project) -> list[Author]:
    """Everybody whose proposals can be reviewed: the project's runs, and those that were imported; newest first."""
    return list(Author.objects.filter(project=project, kind__in=Author.MODELS).order_by("-pk"))


def chosen_runs(project: Project, wanted: Iterable[str], *, merged: bool = False) -> list[Author]:
    """The runs that an address names (`?run=1&run=2`), by id; all of the project's where it names none.

    Merged lists say again what their runs say: unless they are named, they are left out (`merged`: they are not).
    """
    known = {str(author.pk): author for author in run_authors(project)}
    named = {known[each].pk: known[each] for each in wanted if each in known}
    every = sorted(known.values(), key=lambda author: author.pk)
    return [named[pk] for pk in sorted(named)] or [one for one in every if merged or one.merged_from is None]


def _read_by(author: Author) -> "QuerySet[AnnotationSet]":
    return AnnotationSet.objects.filter(author=author, state=AnnotationSet.State.SUBMITTED)


def next_to_review(author: Author, after: int = 0, user: User | None = None) -> int | None:
    """The id of the next note whose review is not closed, going round after the last.

    Notes that wait for this person as the second reviewer come first, then those without gold; what this person handed
    on to a second is for others.
    """
    closed = Review.objects.filter(document=OuterRef("document"), author=author, closed_at__isnull=False)
    # The author's id rather than a join: the index of annotation sets begins with it.
    golden = Author.objects.filter(project_id=author.project_id, kind=Author.Kind.GOLD).values_list("pk", flat=True)
    gold = AnnotationSet.objects.filter(
        document=OuterRef("document"), author_id=golden.first() or 0, state=AnnotationSet.State.SUBMITTED
    )
    held = handed_on(user, document="document", author="author")
    left = _read_by(author).filter(~Exists(closed), ~Exists(held)).order_by("document_id")
    waiting = left.values_list("document_id", flat=True)
    second = Handover.objects.filter(review__document=OuterRef("document"), review__author=author, state__in=ACTIVE)
    for notes in (waiting.filter(Exists(second)), waiting.filter(~Exists(gold)), waiting):
        found = notes.filter(document_id__gt=after).first() or notes.first()
        if found is not None:
            return found
    return None


def review_progress(author: Author, user: User | None = None) -> ReviewProgress:
    """Without a person every note that is not closed is left."""
    done = Review.objects.filter(author=author, closed_at__isnull=False).count()
    between = waiting_of([author.pk], user).get(author.pk, Waiting()) if user else Waiting()
    return ReviewProgress(done, _read_by(author).count(), between.yours, between.others)


def proposed_note(author: Author, pk: int) -> Document | None:
    """The note, if the run has read it; without its text, which is read when somebody asks for it."""
    row = _NOTE.first(pk, author.pk, AnnotationSet.State.SUBMITTED.value)
    return object_of(Document, _NOTE_COLUMNS, row) if row else None


def last_decided(author: Author, user: User, besides: Document, most: int = 5) -> list[Decision]:
    """The notes in which this person last decided on the run's proposals one by one; a note once, the last first."""
    rows = Decision.objects.filter(reviewer=user, cause__isnull=True, review__author=author)
    rows = rows.exclude(review__document=besides).select_related("review__document").order_by("-pk")
    last = {row.review_id: row for row in reversed(rows.defer("review__document__text")[: 10 * most])}
    return sorted(last.values(), key=lambda row: -row.pk)[:most]
