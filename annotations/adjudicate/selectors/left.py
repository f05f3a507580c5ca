"""The number of notes to adjudicate, for the navigation."""

from django.db.models import Count, Exists, OuterRef

from annotations.adjudicate.selectors.desk import LEAST_ANNOTATORS
from annotations.core.access import Access, Can
from annotations.core.navigation import MOST
from annotations.models import AnnotationSet, Author, Document


def notes_left(access: Access) -> int | None:
    """Count the unfinished notes of the list, up to one more than the header shows. Nothing is compared."""
    if not access.can(Can.MAKE_GOLD):
        return None
    submitted = AnnotationSet.objects.filter(document=OuterRef("pk"), state=AnnotationSet.State.SUBMITTED).order_by()
    annotated = submitted.filter(author__kind=Author.Kind.ANNOTATOR).values("document").annotate(n=Count("pk"))
    finished = submitted.filter(author__kind=Author.Kind.ADJUDICATED)
    notes = Document.objects.filter(
        Exists(annotated.filter(n__gte=LEAST_ANNOTATORS)), ~Exists(finished), project=access.project
    )
    return notes.order_by()[: MOST + 1].count()
