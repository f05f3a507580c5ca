"""The parts of a project's overview about reviewing the suggestions of runs."""

from dataclasses import dataclass

from django.db.models import Count
from django.urls import reverse
from django.utils.translation import gettext as _

from annotations.core import overview
from annotations.core.access import Access, Can
from annotations.models import AnnotationSet, AnnotationSetState, Author, Project, Review, User
from annotations.review.selectors.handovers import Waiting, waiting_of
from annotations.review.selectors.reviewing import ReviewProgress, run_authors

# How many notes of each run are left to review, for the overview of a project.


@dataclass(frozen=True)
class Queue:
    """A run with the progress of its review."""

    author: Author
    progress: ReviewProgress


def queues(project: Project, user: User, most: int) -> list[Queue]:
    """The `most` newest runs with notes, in three queries over indexes. Suggestions are not counted.

    A count of suggestions could reveal a planted leak; a count of notes can't.
    """
    authors = {author.pk: author for author in run_authors(project)[:most]}
    sets = AnnotationSet.objects.filter(author__in=list(authors), state=AnnotationSetState.SUBMITTED).order_by()
    total = dict(sets.values_list("author_id").annotate(n=Count("pk")))
    reviews = Review.objects.filter(author__in=list(authors), finished_at__isnull=False).order_by()
    done = dict(reviews.values_list("author_id").annotate(n=Count("pk")))
    between = waiting_of(authors, user)
    return [
        Queue(author, ReviewProgress(done.get(pk, 0), total[pk], waiting.yours, waiting.others))
        for pk, author in authors.items()
        if pk in total
        for waiting in [between.get(pk, Waiting())]
    ]


def has_reviewed(project: Project) -> bool:
    """Whether the review of any note is finished."""
    authors = Author.objects.filter(project=project, kind__in=Author.MODELS).values_list("pk", flat=True)
    return Review.objects.filter(author__in=list(authors), finished_at__isnull=False).exists()


# So many of the newest runs are shown.
RUNS = 20


@dataclass(frozen=True)
class Queues:
    """The runs that wait for this person, and the number of runs without notes left for them."""

    waiting: list[Queue]
    finished: int


@overview.queues.part(10, Can.MAKE_GOLD)
def review_queues(access: Access) -> list[overview.OverviewCard]:
    found = queues(access.project, access.user, RUNS)
    if not found and access.can(Can.MANAGE):
        return []
    waiting = [queue for queue in found if queue.progress.left > 0]
    return [overview.OverviewCard("review/overview.html", Queues(waiting, len(found) - len(waiting)))]


@overview.steps.part(100, Can.MANAGE)
def review_step(access: Access) -> list[overview.Step]:
    url = reverse("review_strings", args=[access.project.slug])
    text = _("Accept or reject what the model suggests, note by note or string by string.")
    return [overview.Step(_("Review suggestions"), text, url, _("Review"), has_reviewed(access.project))]
