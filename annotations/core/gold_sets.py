"""The gold annotation sets of a project."""

from django.db.models import QuerySet

from annotations.models import AnnotationSet, Author, Project

SUBMITTED = AnnotationSet.State.SUBMITTED


def gold_sets(project: Project) -> QuerySet[AnnotationSet]:
    """Return the gold annotation set of every note. It filters by author id, with which the index begins."""
    authors = Author.objects.filter(project=project, kind=Author.Kind.GOLD).values_list("pk", flat=True)
    return AnnotationSet.objects.filter(author_id=authors.first() or 0, state=SUBMITTED)
