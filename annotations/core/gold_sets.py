"""The gold annotation sets of a project."""

from collections.abc import Iterable

from django.db.models import QuerySet

from annotations.models import AnnotationSet, Author, Project

SUBMITTED = AnnotationSet.State.SUBMITTED


def gold_author_id(project: Project | int) -> int:
    """The id of the author of gold; 0 before there is one."""
    return Author.objects.filter(project=project, kind=Author.Kind.GOLD).values_list("pk", flat=True).first() or 0


def gold_sets(project: Project) -> QuerySet[AnnotationSet]:
    """Return the gold annotation set of every note. It filters by author id, with which the index begins."""
    return AnnotationSet.objects.filter(author_id=gold_author_id(project), state=SUBMITTED)


def notes_in_review(project: Project | int, documents: Iterable[int]) -> set[int]:
    """Return the ids of those of these notes whose gold spans are only in the draft of an open review."""
    return set(review_drafts(project).filter(document__in=list(documents)).values_list("document_id", flat=True))


def review_drafts(project: Project | int) -> QuerySet[AnnotationSet]:
    """Return the drafts of open reviews. They become gold when the reviews are finished."""
    return AnnotationSet.objects.filter(author_id=gold_author_id(project), state=AnnotationSet.State.DRAFT)
