"""The parts of a project's overview about reviewing the suggestions of runs."""

from django.db.models import Count
from django.utils.translation import gettext as _

from annotations.core import overview
from annotations.core.access import Access, Can
from annotations.models import Author, Review
from annotations.projects.selectors.projects import counts
from annotations.review.selectors.reviewing import ReviewProgress, run_authors, waiting_of

# So many of the newest runs are shown.
RUNS = 20


@overview.queues.part(10, Can.MAKE_GOLD)
def review_queues(access: Access) -> list[overview.OverviewCard]:
    """The newest runs that wait for this person, and how many have no notes left, by two queries over indexes.

    A count of suggestions could reveal a planted leak; a count of notes can't.
    """
    authors = {author.pk: author for author in run_authors(access.project)[:RUNS]}
    total = {one.author: one.submitted for one in access.once(counts).authors if one.submitted}
    reviews = Review.objects.filter(author__in=list(authors), finished_at__isnull=False).order_by()
    done = dict(reviews.values_list("author_id").annotate(n=Count("*")))
    between = waiting_of(authors, access.user)
    found = [
        (author, ReviewProgress(done.get(pk, 0), total[pk], *between.get(pk, (0, 0))))
        for pk, author in authors.items()
        if pk in total
    ]
    if not found and access.can(Can.MANAGE):
        return []
    waiting = [(author, progress) for author, progress in found if progress.left > 0]
    queues = {"waiting": waiting, "finished": len(found) - len(waiting)}
    return [overview.OverviewCard("review/overview.html", queues)]


@overview.steps.part(100, Can.MANAGE)
def review_step(access: Access) -> list[overview.Step]:
    authors = Author.objects.filter(project=access.project, kind__in=Author.MODELS).values_list("pk", flat=True)
    reviewed = Review.objects.filter(author__in=list(authors), finished_at__isnull=False).exists()
    url = access.url("review_strings")
    text = _("Accept or reject what the model suggests, note by note or string by string.")
    return [overview.Step(_("Review suggestions"), text, url, _("Review"), reviewed, optional=True)]
