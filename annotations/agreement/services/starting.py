"""Figures of agreement as a job: one for each content, whoever asks."""

from django.db import transaction

from annotations.agreement.selectors.figures import content_key
from annotations.agreement.services.figures import kept_figures
from annotations.domain.agreement import Unit
from annotations.jobs.services.queue import enqueue
from annotations.models import Job, Project, User


def start_agreement(*, project: Project, unit: Unit, actor: User) -> Job:
    """The job that computes a unit's figures from the readings as they are now.

    Asked for again it is the same job, failed or cancelled ones included: these are started again from their page. One
    that is done is made anew where its figures are gone.
    """
    key = f"agreement-{project.pk}-{content_key(project, unit)}"
    with transaction.atomic():
        Project.objects.select_for_update().get(pk=project.pk)
        made = Job.objects.filter(project=project, kind="agreement", key__startswith=key)
        last = made.order_by("-id").first()
        if last is not None and (last.state != Job.State.DONE or kept_figures(project, unit) is not None):
            return last
        return enqueue(
            kind="agreement", project=project, params={"unit": str(unit)}, key=f"{key}-{made.count()}", actor=actor
        )
