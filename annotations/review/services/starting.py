"""Start and undo bulk acts of review: small ones in the request, large ones as a job."""

from django.db import transaction

from annotations.jobs.services.batch_acts import begin_undo, check_ended, start_job
from annotations.models import BulkAct, Job, Project, User
from annotations.review.services.bulk import AT_ONCE, at_once, begin_bulk, run_bulk, undo_bulk


def start_bulk(*, bulk: BulkAct, actor: User, with_gold: bool = False, with_doubtful: bool = False) -> Job | None:
    """Run the act, or start a job for it and return the job. A second call does nothing more.

    `with_gold`: include notes that already have gold. `with_doubtful`: include doubtful suggestions. Raises
    ServiceError `user`.
    """
    with transaction.atomic():
        _keep_project(bulk, bulk.planned)
        begun = begin_bulk(bulk=bulk, user=actor, with_gold=with_gold, with_doubtful=with_doubtful)
        if bulk.planned > AT_ONCE:
            return start_job(bulk, "bulk", actor)
        if begun:
            at_once(bulk, run_bulk)
    return None


def start_undo(*, bulk: BulkAct, actor: User) -> Job | None:
    """Undo the act, or start a job for that and return the job. Raises ServiceError `live` while the act's job runs."""
    with transaction.atomic():
        _keep_project(bulk, bulk.decided)
        BulkAct.objects.select_for_update().get(pk=bulk.pk)
        check_ended(bulk, "bulk")
        begun = begin_undo(bulk)
        if bulk.decided > AT_ONCE:
            return start_job(bulk, "bulk_undo", actor)
        if begun:
            at_once(bulk, undo_bulk)
    return None


def _keep_project(bulk: BulkAct, size: int) -> None:
    """Lock the project before the act if a job follows, in the order of docs/architecture.md."""
    if size > AT_ONCE:
        Project.objects.select_for_update(no_key=True).get(pk=bulk.project_id)
