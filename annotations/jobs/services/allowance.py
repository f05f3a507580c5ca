"""Limits on one person's jobs in a project: unfinished jobs, and jobs started within an hour."""

from datetime import timedelta
from typing import Final

from django.utils import timezone
from django.utils.translation import gettext as _

from annotations.core.errors import LimitReached
from annotations.models import Job, JobState, Project, User

LIVE: Final = (JobState.QUEUED, JobState.RUNNING, JobState.PAUSED)
MOST_LIVE: Final = 20
MOST_AN_HOUR: Final = 120
HOUR: Final = timedelta(hours=1)
# Seconds after which a client should try again.
LATER: Final = 60


def one_at_a_time(actor: User) -> None:
    """Lock the person's row until the transaction ends, so that two simultaneous requests don't both pass the limit."""
    list(User.objects.select_for_update(no_key=True).filter(pk=actor.pk).values_list("pk"))


def check_allowance(project: Project, actor: User) -> None:
    """Raise LimitReached where this person has too many jobs. Call it after one_at_a_time."""
    jobs = Job.objects.filter(project=project, created_by=actor)
    if jobs.filter(state__in=LIVE).order_by().count() >= MOST_LIVE:
        raise LimitReached(
            _(
                "You have %(count)s waiting, running or paused jobs in this project. Wait until one "
                "finishes, or cancel one."
            )
            % {"count": MOST_LIVE},
            code="jobs",
            retry_after=LATER,
        )
    if jobs.filter(created_at__gt=timezone.now() - HOUR).order_by().count() >= MOST_AN_HOUR:
        raise LimitReached(
            _("You have started %(count)s jobs in this project within an hour. Wait a few minutes, then try again.")
            % {"count": MOST_AN_HOUR},
            code="jobs",
            retry_after=LATER,
        )
