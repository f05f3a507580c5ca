"""How many jobs one person may have in a project: waiting, running or paused, and started within an hour."""

from datetime import timedelta
from typing import Final

from django.utils import timezone
from django.utils.translation import gettext as _

from annotations.core.errors import LimitReached
from annotations.models import Job, Project, User

LIVE: Final = (Job.State.QUEUED, Job.State.RUNNING, Job.State.PAUSED)
MOST_LIVE: Final = 20
MOST_AN_HOUR: Final = 120
HOUR: Final = timedelta(hours=1)
# Seconds after which it is worth asking again.
LATER: Final = 60


def one_at_a_time(actor: User) -> None:
    """Hold the person's row until the transaction ends, so that two of their requests don't both see room."""
    list(User.objects.select_for_update(no_key=True).filter(pk=actor.pk).values_list("pk"))


def check_allowance(project: Project, actor: User) -> None:
    """Refuse one more job where this person, held by one_at_a_time, has too many. Raises LimitReached."""
    jobs = Job.objects.filter(project=project, created_by=actor)
    if jobs.filter(state__in=LIVE).order_by().count() >= MOST_LIVE:
        raise LimitReached(
            _(
                "You have %(count)s jobs waiting, running or paused in this project. "
                "Wait for one to finish, or cancel one."
            )
            % {"count": MOST_LIVE},
            code="jobs",
            retry_after=LATER,
        )
    if jobs.filter(created_at__gt=timezone.now() - HOUR).order_by().count() >= MOST_AN_HOUR:
        raise LimitReached(
            _("You have started %(count)s jobs in this project within an hour. Wait some minutes, then try again.")
            % {"count": MOST_AN_HOUR},
            code="jobs",
            retry_after=LATER,
        )
