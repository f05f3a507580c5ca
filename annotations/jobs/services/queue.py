"""Starting, canceling, pausing and restarting jobs.

The job's row is the truth. Redis is notified after the commit; the relay repeats notifications that Redis lost.
"""

import hashlib
import json
import logging
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from typing import Any, Final, TypeVar

from django.db import IntegrityError, models, transaction
from django.db.models import F, Model
from django.db.models.functions import Now
from django.http import Http404
from django.shortcuts import get_object_or_404
from django.utils import timezone
from django.utils.translation import gettext as _
from redis.exceptions import RedisError

from annotations.core.access import WHEN_ARCHIVED, Access, closed_to, require
from annotations.core.services import Fence, LimitReached, Progress, ServiceError, hold, keep_labels, keep_open
from annotations.jobs.registry import JOBS, kind_of, load
from annotations.jobs.runner import Claim
from annotations.jobs.runner.claims import release
from annotations.jobs.services.relay import ring
from annotations.models import BulkAct, Job, JobState, MajorityAct, Project, Share, User

# Limits on one person's jobs in a project: unfinished jobs, and jobs started within an hour.


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
        message = _(
            "You have %(count)s waiting, running or paused jobs in this project. Wait until one "
            "finishes, or cancel one."
        )
        raise LimitReached(message % {"count": MOST_LIVE}, code="jobs", retry_after=LATER)
    if jobs.filter(created_at__gt=timezone.now() - HOUR).order_by().count() >= MOST_AN_HOUR:
        message = _(
            "You have started %(count)s jobs in this project within an hour. Wait a few minutes, then try again."
        )
        raise LimitReached(message % {"count": MOST_AN_HOUR}, code="jobs", retry_after=LATER)


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
        about = {"kind": kind, "params": params, "queue": queue or kind_of(kind).queue, "total": total}
        job, made = Job.objects.get_or_create(project=project, key=key, defaults=about | {"created_by": actor})
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
        message = _("This job can't be restarted because its input was deleted. Start a new job.")
        raise ServiceError(message, code="retry")
    with transaction.atomic():
        _keep_open(job.kind, job.project_id)
        if job.created_by is not None and job.state in ENDED:
            one_at_a_time(job.created_by)
            check_allowance(job.project, job.created_by)
        if _queue_again(job, ENDED) and (redo := kind_of(job.kind).redo):
            load(redo)(job.params)
    job.refresh_from_db()
    return job


def continue_with_more(job: Job) -> Job:
    """Start an ended job again, also a done one, because there is more for it to do. A live job stays as it is.

    Its handler goes on from the rows that it finds. The limits on a person's jobs don't apply. Raises ProjectArchived.
    """
    with transaction.atomic():
        _keep_open(job.kind, job.project_id)
        _queue_again(job, (*ENDED, JobState.DONE))
    job.refresh_from_db()
    return job


_OF_A_RUN: Final = (
    *("state", "attempt", "done", "error", "result", "cancel_requested", "pause_requested", "pushed_at", "started_at"),
    *("claimed_at", "claimed_done", "finished_at", "no_help_until"),
)
"""What a job that starts again has as if it were new."""


def _queue_again(job: Job, states: Iterable[str]) -> bool:
    new = Job()
    again = Job.objects.filter(pk=job.pk, state__in=states).update(**{name: getattr(new, name) for name in _OF_A_RUN})
    if again:
        release(Share.objects.filter(job=job))
        push_on_commit(job.pk)
    return bool(again)


ACTS: Final[dict[str, Callable[[Job], Job]]] = {"cancel": cancel, "pause": pause, "resume": resume, "retry": retry}
"""What people do with a job, by the name of the button."""


# Starting a job once, also where a person asks for it twice.
#
# `enqueue` is the rule: one job for a key in a project. `once` makes the key of a job that has no row of its own;
# `started_with` finds the row (a run, a model, a judging) that was made together with its job.


Row = TypeVar("Row", bound=models.Model)


def once(kind: str, project: Project, params: dict[str, Any], actor: User, token: str) -> Job:
    """Start a job, or return the same person's unfinished job with the same parameters."""
    with transaction.atomic():
        Project.objects.select_for_update().get(pk=project.pk)
        live = Job.objects.filter(project=project, kind=kind, params=params, created_by=actor, state__in=LIVE).first()
        if live is not None:
            return live
        asked = json.dumps([kind, project.pk, actor.pk, token or uuid.uuid4().hex, params], sort_keys=True)
        key = f"{kind}-{hashlib.sha256(asked.encode()).hexdigest()}"
        return enqueue(kind=kind, project=project, params=params, key=key, actor=actor)


def key_of(kind: str, key: str) -> str:
    """The key of a job whose row is found by `started_with`. `key` is that of the form or command."""
    return f"{kind}-{key}"


def started_with(made: type[Row], project: Project, kind: str, key: str) -> Row | None:
    """Return the row that was made with this job in this project, or None if nothing was started with the key yet."""
    return made._default_manager.filter(project=project, job__key=key_of(kind, key)).first()


def start_for(row: Any, kind: str, key: str, actor: User | None, params: dict[str, Any], **more: Any) -> Job:
    """Start the job of a row, which `started_with` then finds, as `enqueue` does."""
    row.job = job = enqueue(kind=kind, project=row.project, params=params, key=key_of(kind, key), actor=actor, **more)
    row.save(update_fields=["job"])
    return job


# Find a job that a person may see or control. Pages and the API use these functions.


def job_for(access: Access, number: int) -> Job:
    """Return a job of the project. Raises Http404 where this person may not see it."""
    row = get_object_or_404(Job.objects.select_related("created_by"), project=access.project, number=number)
    # The page of an export, a score or a comparison shows what annotation sets contain.
    authors = [pk for pk in (row.params.get("author_id"), *row.params.get("authors", [])) if pk]
    if closed_to(access, spec=str(row.params.get("set", "")), authors=authors):
        raise Http404("This job does not exist.")
    return row


def job_to_control(access: Access, number: int) -> Job:
    """Return a job that this person may cancel, pause and retry: people who may start such a job. Raises as above."""
    row = job_for(access, number)
    kind = JOBS.get(row.kind)
    if kind is None:
        raise Http404("This kind of job does not exist.")
    require(access, kind.right)
    return row


@contextmanager
def locked(project: Project, exists: str) -> Iterator[None]:
    """A transaction in which a row and its job are made, and nothing else is started in the project.

    Raises ServiceError `exists` with this sentence if the name of the row is in use.
    """
    try:
        with transaction.atomic():
            Project.objects.select_for_update().get(pk=project.pk)
            yield
    except IntegrityError as error:
        raise ServiceError(exists, code="exists") from error


# Acts that one person makes on many notes: done in short transactions, continued if stopped, and undone together.


BatchAct = BulkAct | MajorityAct
Act = TypeVar("Act", BulkAct, MajorityAct)


def do_batches(
    act: BatchAct,
    state: str,
    done: int,
    batches: Iterable[Sequence[Any]],
    work: Callable[[Any], dict[str, int]],
    progress: Progress,
    fence: Fence,
    attempts: int = 1,
) -> None:
    """Do each batch in a transaction of its own, and add what `work` returns to the act's counts.

    `done` were done before. After an IntegrityError, a batch is tried again. Raises ServiceError `state`.
    """
    todo = list(batches)
    total = done + sum(map(len, todo))
    progress(done, total)
    for batch in todo:
        for left in reversed(range(attempts)):
            try:
                with transaction.atomic():
                    keep_labels(act.project_id)
                    fence()
                    hold(act.project_id)
                    count(act, state, **{name: F(name) + n for name, n in work(batch).items()})
                break
            except IntegrityError:
                if not left:
                    raise
        done += len(batch)
        progress(done, total)


def count(act: BatchAct, state: str, **counts: Any) -> None:
    """Update the act's counts in the batch's transaction. Raises ServiceError `state` if the act's state has changed.

    The check keeps a restarted job from deciding again what was undone meanwhile.
    """
    if not type(act)._default_manager.filter(pk=act.pk, state=state).update(**counts):
        raise ServiceError(_("This act was undone or has ended in the meantime. Reload the page."), code="state")


def end(act: BatchAct, state: str, **counts: Any) -> None:
    """End the act, inside the caller's transaction."""
    type(act)._default_manager.filter(pk=act.pk).update(state=state, ended_at=timezone.now(), **counts)
    act.refresh_from_db()


def begin_undo(act: BatchAct) -> bool:
    """Mark the act as being undone, also if it was stopped halfway. Returns whether this call did so."""
    rows = type(act)._default_manager.filter(pk=act.pk, state__in=["working", "done"])
    return bool(rows.update(state="undoing", kept=0, undone=0))


# The jobs of acts, which have the act's id among their parameters.


def start_job(act: BatchAct, kind: str, actor: User) -> Job:
    """Start a job of the act, or return the one that was started."""
    return enqueue(kind=kind, project=act.project, params=_params(act), key=f"{kind}-{act.pk}", actor=actor)


def job_of(act: BatchAct, kind: str, *, live: bool = False) -> Job | None:
    jobs = Job.objects.filter(project=act.project_id, kind=kind, params=_params(act))
    return (jobs.filter(state__in=LIVE) if live else jobs).first()


def check_ended(act: BatchAct, kind: str) -> None:
    """Raise ServiceError `live` while a job of the act runs."""
    if job_of(act, kind, live=True):
        message = _("The job of this act is still running. Cancel the job first, then undo the act.")
        raise ServiceError(message, code="live")


def act_of(model: type[Act], claim: Claim) -> Act:
    """The act of a job."""
    rows = model._default_manager.select_related("project", "user")
    return rows.get(pk=claim.params[_PARAMETERS[model]], project_id=claim.project_id)


def _params(act: BatchAct) -> dict[str, str]:
    return {_PARAMETERS[type(act)]: str(act.pk)}


_PARAMETERS: Final[dict[type[Model], str]] = {BulkAct: "bulk", MajorityAct: "vote"}
