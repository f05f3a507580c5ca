"""Which notes of a run wait for review."""

from dataclasses import dataclass

from django.db.models import Exists, OuterRef, QuerySet

from annotations.models import AnnotationSet, Author, Document, Project, Review


@dataclass(frozen=True)
class ReviewProgress:
    """Notes of a run: reviewed to the end, and all."""

    done: int
    total: int

    @property
    def left(self) -> int:
        return self.total - self.done


def run_author(project: Project, pk: int) -> Author | None:
    """The author of a run of this project."""
    return Author.objects.filter(project=project, pk=pk, kind__in=[Author.Kind.RUN, Author.Kind.REFINED]).first()


def _read_by(author: Author) -> "QuerySet[AnnotationSet]":
    return AnnotationSet.objects.filter(author=author, state=AnnotationSet.State.SUBMITTED)


def next_to_review(author: Author, after: int = 0) -> int | None:
    """The id of the next note whose review is not closed, going round after the last."""
    closed = Review.objects.filter(document=OuterRef("document"), author=author, closed_at__isnull=False)
    waiting = _read_by(author).filter(~Exists(closed)).order_by("document_id").values_list("document_id", flat=True)
    return waiting.filter(document_id__gt=after).first() or waiting.first()


def review_progress(author: Author) -> ReviewProgress:
    done = Review.objects.filter(author=author, closed_at__isnull=False).count()
    return ReviewProgress(done, _read_by(author).count())


def proposed_note(author: Author, pk: int) -> Document | None:
    """The note, if the run has read it; without its text, which is read when somebody asks for it."""
    return Document.objects.defer("text").filter(
        pk=pk, project_id=author.project_id, annotation_sets__author=author, annotation_sets__state="submitted"
    ).first()  # fmt: skip


def neighbours(author: Author, pk: int) -> tuple[int | None, int | None]:
    """The notes of the run before and after this one."""
    notes = _read_by(author).order_by("document_id").values_list("document_id", flat=True)
    return notes.filter(document_id__lt=pk).last(), notes.filter(document_id__gt=pk).first()
