"""Unfinished jobs of a project, which keep it from being archived or deleted."""

from dataclasses import dataclass

from django.utils.translation import gettext as _

from annotations.jobs.registry import JOBS
from annotations.jobs.services.allowance import LIVE
from annotations.models import Job, Project


@dataclass(frozen=True)
class LiveJob:
    pk: int
    title: str
    state: str


def live_jobs(project: Project) -> list[LiveJob]:
    """The jobs that are waiting, running or paused, the oldest first."""
    jobs = Job.objects.filter(project=project, state__in=LIVE).order_by("pk").only("kind", "state")
    return [LiveJob(job.pk, _title(job), job.get_state_display()) for job in jobs]


def _title(job: Job) -> str:
    kind = JOBS.get(job.kind)
    return _(kind.title) if kind else job.kind
