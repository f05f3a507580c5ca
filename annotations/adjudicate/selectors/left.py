"""The number of notes to adjudicate, for the navigation."""

from django.db.models import Exists, OuterRef

from annotations.adjudicate.selectors.desk import LEAST_ANNOTATORS
from annotations.core.access import Access, Can
from annotations.core.navigation import MOST
from annotations.models import AnnotationSet, Author, Comparison


def notes_left(access: Access) -> int | None:
    """Count the unfinished notes of the list, as last compared, up to one more than the header shows."""
    if not access.can(Can.MAKE_GOLD):
        return None
    finished = AnnotationSet.objects.filter(
        document_id=OuterRef("document_id"),
        author__kind=Author.Kind.ADJUDICATED,
        state=AnnotationSet.State.SUBMITTED,
    )
    notes = Comparison.objects.filter(project=access.project, annotators__gte=LEAST_ANNOTATORS)
    return notes.filter(~Exists(finished)).order_by()[: MOST + 1].count()
