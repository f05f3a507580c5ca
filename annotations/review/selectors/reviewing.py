"""The runs and notes that can be reviewed, and the notes of a run that wait for review."""

from collections.abc import Iterable
from dataclasses import dataclass

from django.db.models import Exists, OuterRef, QuerySet
from django.http import Http404

from annotations.core.access import Access
from annotations.models import (
    AnnotationSet,
    AnnotationSetState,
    Author,
    AuthorKind,
    Decision,
    Document,
    Handover,
    Project,
    Review,
    User,
)
from annotations.projects.selectors.projects import ACTIVE
from annotations.review.selectors.handovers import Waiting, handed_over_by, waiting_of


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


def run_author(project: Project, pk: int) -> Author | None:
    """The author of a run of this project."""
    return Author.objects.filter(pk=pk, project=project, kind__in=Author.MODELS).first()


def run_authors(project: Project) -> list[Author]:
    """The authors whose suggestions can be reviewed (the project's runs and imported runs), newest first."""
    return list(Author.objects.filter(project=project, kind__in=Author.MODELS).order_by("-pk"))


def chosen_runs(project: Project, wanted: Iterable[str], *, merged: bool = False) -> list[Author]:
    """The runs named in a query string (`?run=1&run=2`), by id; without names, all runs of the project.

    Merged lists repeat what their runs suggest, so they are left out unless they are named or `merged` is set.
    """
    known = {str(author.pk): author for author in run_authors(project)}
    named = {known[each].pk: known[each] for each in wanted if each in known}
    every = sorted(known.values(), key=lambda author: author.pk)
    return [named[pk] for pk in sorted(named)] or [one for one in every if merged or one.merged_from is None]


def _sets_of(author: Author) -> "QuerySet[AnnotationSet]":
    return AnnotationSet.objects.filter(author=author, state=AnnotationSetState.SUBMITTED)


def next_to_review(author: Author, after: int = 0, user: User | None = None) -> int | None:
    """The id of the next note whose review is not finished, starting over after the last note.

    Notes that wait for this person as second reviewer come first, then notes without gold, then the others. Notes that
    this person handed over are left out.
    """
    finished = Review.objects.filter(document=OuterRef("document"), author=author, finished_at__isnull=False)
    # A filter by author id instead of a join uses the index of annotation sets, which begins with the author.
    golden = Author.objects.filter(project_id=author.project_id, kind=AuthorKind.GOLD).values_list("pk", flat=True)
    gold = AnnotationSet.objects.filter(
        document=OuterRef("document"), author_id=golden.first() or 0, state=AnnotationSetState.SUBMITTED
    )
    handed_over = handed_over_by(user, document="document", author="author")
    left = _sets_of(author).filter(~Exists(finished), ~Exists(handed_over)).order_by("document_id")
    waiting = left.values_list("document_id", flat=True)
    second = Handover.objects.filter(review__document=OuterRef("document"), review__author=author, state__in=ACTIVE)
    for notes in (waiting.filter(Exists(second)), waiting.filter(~Exists(gold)), waiting):
        found = notes.filter(document_id__gt=after).first() or notes.first()
        if found is not None:
            return found
    return None


def review_progress(author: Author, user: User | None = None) -> ReviewProgress:
    """The progress for a person. Without a person, every note that is not finished counts as left."""
    done = Review.objects.filter(author=author, finished_at__isnull=False).count()
    between = waiting_of([author.pk], user).get(author.pk, Waiting()) if user else Waiting()
    return ReviewProgress(done, _sets_of(author).count(), between.yours, between.others)


def suggested_note(author: Author, pk: int) -> Document | None:
    """The note, if the run has processed it. The text is deferred until it is needed."""
    notes = Document.objects.filter(annotation_sets__author=author, annotation_sets__state=AnnotationSetState.SUBMITTED)
    return notes.defer("text").filter(pk=pk).first()


def review_for(access: Access, author: int, note: int) -> tuple[Author, Document]:
    """The author of a run and a note that it has processed. Raises Http404."""
    run = run_author(access.project, author)
    found = suggested_note(run, note) if run else None
    if run is None or found is None:
        raise Http404("No such review.")
    found.project = access.project
    return run, found


def last_decided(author: Author, user: User, besides: Document, most: int = 5) -> list[Decision]:
    """This person's last single decision in each note of the run, newest first, without the note `besides`."""
    rows = Decision.objects.filter(reviewer=user, cause__isnull=True, review__author=author)
    rows = rows.exclude(review__document=besides).select_related("review__document").order_by("-pk")
    last = {row.review_id: row for row in reversed(rows.defer("review__document__text")[: 10 * most])}
    return sorted(last.values(), key=lambda row: -row.pk)[:most]
