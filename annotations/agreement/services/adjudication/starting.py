"""Start the jobs of a majority vote over many notes and of its undo."""

import uuid

from django.db import transaction

from annotations.agreement.services.adjudication.majority import plan_majority
from annotations.jobs.services.batch_acts import begin_undo, check_ended, start_job
from annotations.models import Job, MajorityAct, Project, User


def start_majority(*, project: Project, user: User, key: str) -> Job:
    """Start a vote with the key of a form, or return the job that was started with it. Raises ServiceError `none`."""
    with transaction.atomic():
        Project.objects.select_for_update(no_key=True).get(pk=project.pk)
        act = plan_majority(project=project, user=user, key=uuid.uuid5(uuid.NAMESPACE_OID, key))
        return start_job(act, "majority", user)


def start_undo(*, act: MajorityAct, user: User) -> Job:
    """Start the undo of a vote, or return its job. Raises ServiceError `live` while the vote's job runs."""
    with transaction.atomic():
        Project.objects.select_for_update(no_key=True).get(pk=act.project_id)
        check_ended(act, "majority")
        begin_undo(act)
        return start_job(act, "majority_undo", user)
