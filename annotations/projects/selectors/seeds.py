"""Model runs that annotation can start from."""

from django.db.models import Exists, OuterRef, Q, QuerySet

from annotations.models import AnnotationSet, AnnotationSetState, Author, Project


def runs_with_notes(project: Project) -> QuerySet[Author]:
    """The runs with at least one finished note, and the run that is currently chosen."""
    finished = AnnotationSet.objects.filter(author=OuterRef("pk"), state=AnnotationSetState.SUBMITTED)
    runs = Author.objects.filter(project=project, kind__in=Author.MODELS)
    return runs.filter(Q(pk=project.seed_from_id) | Exists(finished)).order_by("name", "pk")
