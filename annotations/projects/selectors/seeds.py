"""What readings of a project can begin from."""

from django.db.models import Exists, OuterRef, Q, QuerySet

from annotations.models import AnnotationSet, Author, Project


def runs_with_notes(project: Project) -> QuerySet[Author]:
    """The runs that have finished at least one note, and the one that is chosen now."""
    finished = AnnotationSet.objects.filter(author=OuterRef("pk"), state=AnnotationSet.State.SUBMITTED)
    runs = Author.objects.filter(project=project, kind__in=Author.MODELS)
    return runs.filter(Q(pk=project.seed_from_id) | Exists(finished)).order_by("name", "pk")
