"""Start the jobs of a majority vote over many notes and of its undo."""

import uuid

from django.db import transaction
from django.utils.translation import gettext as _

from annotations.agreement.services.adjudication.majority import begin_undo, plan_majority
from annotations.core.errors import ServiceError
from annotations.jobs.services.allowance import LIVE
from annotations.jobs.services.queue import enqueue
from annotations.models import Job, MajorityAct, Project, User


def start_majority(*, project: Project, user: User, key: str) -> Job:
    """Start a vote with the key of a form, or return the job that was started with it. Raises ServiceError `none`."""
    with transaction.atomic():
        Project.objects.select_for_update(no_key=True).get(pk=project.pk)
        act = plan_majority(project=project, user=user, key=uuid.uuid5(uuid.NAMESPACE_OID, key))
        return _enqueue("majority", act, user)


def start_undo(*, act: MajorityAct, user: User) -> Job:
    """Start the undo of a vote, or return its job. Raises ServiceError `live` while the vote's job runs."""
    with transaction.atomic():
        Project.objects.select_for_update(no_key=True).get(pk=act.project_id)
        if job_of(act, "majority", live=True):
            raise ServiceError(
                _("The job of this majority vote is still running. Cancel the job first, then undo the vote."),
                code="live",
            )
        begin_undo(act)
        return _enqueue("majority_undo", act, user)


def _enqueue(kind: str, act: MajorityAct, user: User) -> Job:
    params = {"vote": str(act.pk)}
    return enqueue(kind=kind, project=act.project, params=params, key=f"{kind}-{act.pk}", actor=user)


def job_of(act: MajorityAct, kind: str, *, live: bool = False) -> Job | None:
    jobs = Job.objects.filter(project=act.project_id, kind=kind, params__vote=str(act.pk))
    return (jobs.filter(state__in=LIVE) if live else jobs).first()
