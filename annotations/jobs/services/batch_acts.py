"""Acts that one person makes on many notes: done in short transactions, continued if stopped, and undone together."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, TypeVar

from django.db import IntegrityError, transaction
from django.db.models import F, Model
from django.utils import timezone
from django.utils.translation import gettext as _

from annotations.core.services import Fence, Progress, ServiceError, hold, keep_labels
from annotations.jobs.runner import Claim
from annotations.jobs.services.queue import LIVE, enqueue
from annotations.models import BulkAct, Job, MajorityAct, User

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
