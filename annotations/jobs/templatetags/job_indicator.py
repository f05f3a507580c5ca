"""The indicator of jobs in the header: how many run, wait or failed, and whether a worker is missing."""

from datetime import datetime, timedelta
from typing import Any

from django import template
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotations.core.access import Access, Can
from annotations.jobs.services.relay import workers_alive
from annotations.models import Job, JobState
from annotations.models.prepared import PreparedRead

register = template.Library()
# Failed jobs are counted among the newest jobs, for this time.
NEWEST, RECENT = 50, timedelta(days=7)


def _failed(project: int, since: datetime) -> QuerySet[Any, Any]:
    newest = Job.objects.filter(project_id=project).order_by("-id").values("pk")[:NEWEST]
    rows = Job.objects.filter(pk__in=newest, state=JobState.FAILED).order_by()
    return rows.exclude(finished_at__lte=since).values_list("pk")


# Each page of a project asks these.
_FAILED = PreparedRead(_failed, int, datetime)
_LIVE = PreparedRead(
    lambda project: (
        Job.objects.filter(project_id=project, state__in=(JobState.QUEUED, JobState.RUNNING))
        .order_by()
        .values_list("state", "queue")
    ),
    int,
)


@register.simple_tag(takes_context=True)
def job_indicator(context: dict[str, Any]) -> dict[str, Any] | None:
    """Return what to show of the project's jobs; None for people who may not see jobs.

    `parts` are pairs of a sentence and its short form; small screens show only `short`. `alert`: somebody should look
    at the jobs. `current` is the value of aria-current.
    """
    access: Access | None = context.get("access")
    if access is None or not access.can(Can.READ_NOTES):
        return None
    rows = _LIVE.all(access.project.pk)
    queues = sorted({queue for state, queue in rows if state == JobState.QUEUED})
    failed = len(_FAILED.all(access.project.pk, timezone.now() - RECENT))
    running = sum(state == JobState.RUNNING for state, _queue in rows)
    alive = [workers_alive(queue) for queue in queues]
    parts = _parts(running, len(rows) - running, failed)
    if None in alive:
        parts.append((_("The queue (Redis) does not respond."), _("queue not responding")))
    elif 0 in alive:
        parts.append((_("No worker is running."), _("no worker")))
    alert = bool(failed) or None in alive or 0 in alive
    short = f"{len(rows) or ''}{'!' if alert else ''}"
    return {"alert": alert, "parts": parts, "short": short, "current": _current(context)}


def _parts(running: int, waiting: int, failed: int) -> list[tuple[str, str]]:
    found = [
        (ngettext("%(n)d job is running.", "%(n)d jobs are running.", running), _("%(n)d running"), running),
        (ngettext("%(n)d job is waiting.", "%(n)d jobs are waiting.", waiting), _("%(n)d waiting"), waiting),
        (ngettext("%(n)d job failed.", "%(n)d jobs failed.", failed), _("%(n)d failed"), failed),
    ]
    return [(text % {"n": number}, short % {"n": number}) for text, short, number in found if number]


def _current(context: dict[str, Any]) -> str:
    match = getattr(context.get("request"), "resolver_match", None)
    here = match.url_name if match else ""
    return {"jobs": "page", "job": "true"}.get(here or "", "")
