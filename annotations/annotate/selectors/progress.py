"""Counts of notes that annotators have submitted, from the index of annotation sets, which begins with the author."""

from typing import Any

from django.db.models import Count, QuerySet

from annotations.models import AnnotationSet, AnnotationSetState, Author, AuthorKind, Project


def submitted_sets(project: Project) -> QuerySet[AnnotationSet]:
    """Query the submitted annotation sets of annotators."""
    annotators = Author.objects.filter(project=project, kind=AuthorKind.ANNOTATOR).order_by()
    return AnnotationSet.objects.filter(author__in=annotators, state=AnnotationSetState.SUBMITTED).order_by()


def shared_notes(project: Project) -> QuerySet[Any, Any]:
    """Query the notes that at least two annotators have submitted, as rows with `document_id`."""
    notes = submitted_sets(project).values("document_id").annotate(annotators=Count("pk"))
    return notes.filter(annotators__gte=2).values("document_id")
