"""The parts of a project's overview about reviewing the suggestions of runs."""

from dataclasses import dataclass

from django.urls import reverse
from django.utils.translation import gettext as _

from annotations.core import overview
from annotations.core.access import Access, Can
from annotations.review.selectors.queues import Queue, has_reviewed, queues

# So many of the newest runs are shown.
RUNS = 20


@dataclass(frozen=True)
class Queues:
    """The runs that wait for this person, and the number of runs without notes left for them."""

    waiting: list[Queue]
    finished: int


@overview.queues.part(10, Can.MAKE_GOLD)
def review_queues(access: Access) -> list[overview.Card]:
    found = queues(access.project, access.user, RUNS)
    if not found and access.can(Can.MANAGE):
        return []
    waiting = [queue for queue in found if queue.progress.left > 0]
    return [overview.Card("review/overview.html", Queues(waiting, len(found) - len(waiting)))]


@overview.steps.part(100, Can.MANAGE)
def review_step(access: Access) -> list[overview.Step]:
    url = reverse("review_strings", args=[access.project.slug])
    text = _("Accept or reject what the model suggests, note by note or string by string.")
    return [overview.Step(_("Review suggestions"), text, url, _("Review"), has_reviewed(access.project))]
