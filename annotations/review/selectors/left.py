"""The number of notes to review, for the navigation."""

from django.db.models import Exists, OuterRef

from annotations.core.access import Access, Can
from annotations.core.navigation import MOST
from annotations.models import AnnotationSet, AnnotationSetState, Author, Document, Handover, Review
from annotations.projects.selectors.projects import ACTIVE

# The parameter of addresses that names the chosen runs, which stay chosen from page to page.
CHOSEN_RUNS = ("run",)


def notes_left(access: Access) -> int | None:
    """Count the notes of runs of which no review is finished, up to one more than the header shows.

    Notes that this person handed over to a second reviewer are left out. No suggestion is counted, so that the number
    tells nothing about hidden ones.
    """
    if not access.can(Can.MAKE_GOLD):
        return None
    here = OuterRef("pk")
    finished = Review.objects.filter(document=here, finished_at__isnull=False)
    own = Handover.objects.filter(review__document=here, state__in=ACTIVE, people=access.user)
    suggested = AnnotationSet.objects.filter(
        document=here, author__kind__in=Author.MODELS, state=AnnotationSetState.SUBMITTED
    )
    notes = Document.objects.filter(Exists(suggested), ~Exists(finished), ~Exists(own), project=access.project)
    return notes.order_by()[: MOST + 1].count()
