"""Starting, canceling, pausing and restarting jobs.

The job's row is the truth. Redis is notified after the commit; the relay repeats notifications that Redis lost.
"""

import logging
from collections import defaultdict
from collections.abc import Iterable
from functools import partial
from typing import Any

from django.db import transaction
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from annotations.core.access import WHEN_ARCHIVED
from annotations.core.errors import ServiceError
from annotations.core.locks import keep_open
from annotations.jobs.registry import kind_of, load
from annotations.jobs.runner.claims import release
from annotations.jobs.services.allowance import check_allowance, one_at_a_time
from annotations.jobs.services.doorbell import RedisError, ring
from annotations.models import Job, JobState, Project, Share, User

logger = logging.getLogger("deidreview.jobs")
ENDED = (JobState.FAILED, JobState.CANCELED)
HELD_UP = (JobState.QUEUED, JobState.PAUSED)


def enqueue(
    *,
    kind: str,
    project: Project,
    params: dict[str, Any],
    key: str,
    actor: User | None,
    total: int = 0,
    queue: str = "",
) -> Job:
    """Create a job, or return the project's job created with the same `key`, so that a double click starts one job.

    `params` holds ids and choices, never note text. `queue` replaces the queue of the kind. An unavailable Redis does
    no harm: the relay notifies workers later. Raises LimitReached where `actor` has too many jobs; jobs without an
    actor have no limit. Raises ProjectArchived where the job would change an archived project.
    """
    with transaction.atomic():
        _keep_open(kind, project.pk)
        # Before the person's row, since a new job's number is counted in the project's row.
        Project.objects.select_for_update(no_key=True).get(pk=project.pk)
        if actor is not None:
            one_at_a_time(actor)
            before = Job.objects.filter(project=project, key=key).first()
            if before is not None:
                return before
            check_allowance(project, actor)
        job, made = Job.objects.get_or_create(
            project=project,
            key=key,
            defaults={
                "kind": kind,
                "params": params,
                "queue": queue or kind_of(kind).queue,
                "total": total,
                "created_by": actor,
            },
        )
        if made:
            push_on_commit(job.pk)
        return job


def _keep_open(kind: str, project_id: int) -> None:
    """Raise ProjectArchived where jobs of this kind change projects and this one is archived; else keep it open."""
    if kind_of(kind).right not in WHEN_ARCHIVED:
        keep_open(project_id)


def push_on_commit(job_id: int) -> None:
    transaction.on_commit(partial(push, [job_id]))


def push(job_ids: Iterable[int]) -> int:
    """Notify workers of those jobs that are waiting, and return how many. An unavailable Redis raises no error."""
    queues: dict[str, list[int]] = defaultdict(list)
    rows = Job.objects.filter(pk__in=list(job_ids), state=JobState.QUEUED).order_by("id")
    for pk, queue in rows.values_list("pk", "queue"):
        queues[queue].append(pk)
    rung = 0
    for queue, ids in queues.items():
        try:
            ring(queue, ids)
        except RedisError as error:
            logger.warning(
                "Redis is unavailable (%s); the relay will notify workers of %d job(s)", type(error).__name__, len(ids)
            )
            continue
        Job.objects.filter(pk__in=ids, state=JobState.QUEUED).update(pushed_at=Now())
        rung += len(ids)
    return rung


def cancel(job: Job) -> Job:
    """Stop a job for good and undo what it wrote. A running job stops at its next step. Safe to repeat."""
    kind = kind_of(job.kind)
    with transaction.atomic():
        waiting = Job.objects.filter(pk=job.pk, state__in=HELD_UP)
        # There is nothing to undo, so the job ends without a worker.
        untouched = waiting.filter(started_at=None) if kind.undo else waiting
        if untouched.update(state=JobState.CANCELED, finished_at=Now(), pause_requested=False):
            if kind.undo:
                load(kind.undo)(job.params, str(JobState.CANCELED))
        elif waiting.update(state=JobState.QUEUED, cancel_requested=True, pause_requested=False, pushed_at=None):
            push_on_commit(job.pk)
        else:
            Job.objects.filter(pk=job.pk, state=JobState.RUNNING).update(cancel_requested=True)
    job.refresh_from_db()
    return job


def pause(job: Job) -> Job:
    """Pause a job; `resume` continues it. Raises ServiceError where the kind can't be paused."""
    if not kind_of(job.kind).can_pause:
        raise ServiceError(_("This job can't be paused. You can cancel it."), code="pause")
    if not Job.objects.filter(pk=job.pk, state=JobState.QUEUED, cancel_requested=False).update(state=JobState.PAUSED):
        Job.objects.filter(pk=job.pk, state=JobState.RUNNING).update(pause_requested=True)
    job.refresh_from_db()
    return job


def resume(job: Job) -> Job:
    """Continue a paused job, or withdraw a request to pause it."""
    with transaction.atomic():
        if Job.objects.filter(pk=job.pk, state=JobState.PAUSED).update(state=JobState.QUEUED, pushed_at=None):
            push_on_commit(job.pk)
        else:
            Job.objects.filter(pk=job.pk, state=JobState.RUNNING).update(pause_requested=False)
    job.refresh_from_db()
    return job


def retry(job: Job) -> Job:
    """Restart a failed or canceled job. Safe to repeat. Raises ServiceError where the job can't be restarted.

    The job counts for the person who first started it: raises LimitReached where that person has too many jobs.
    """
    if job.state in ENDED and not kind_of(job.kind).can_retry:
        raise ServiceError(
            _("This job can't be restarted because its input was deleted. Start a new job."), code="retry"
        )
    with transaction.atomic():
        _keep_open(job.kind, job.project_id)
        if job.created_by is not None and job.state in ENDED:
            one_at_a_time(job.created_by)
            check_allowance(job.project, job.created_by)
        again = Job.objects.filter(pk=job.pk, state__in=ENDED).update(
            state=JobState.QUEUED,
            attempt=0,
            done=0,
            error="",
            result={},
            cancel_requested=False,
            pause_requested=False,
            pushed_at=None,
            started_at=None,
            claimed_at=None,
            claimed_done=0,
            finished_at=None,
            no_help_until=None,
        )
        if again:
            release(Share.objects.filter(job=job))
            if redo := kind_of(job.kind).redo:
                load(redo)(job.params)
            push_on_commit(job.pk)
    job.refresh_from_db()
    return job
