"""Compute the figures of agreement in a job: one job for one content, whoever starts it."""

from django.db import transaction

from annotations.agreement.rules import ComparedUnit
from annotations.agreement.selectors.figures import content_key
from annotations.agreement.services.figures import kept_figures
from annotations.core.tokenizers import check_tokenizer
from annotations.jobs.services.queue import enqueue
from annotations.models import Job, JobState, Project, User


def start_agreement(*, project: Project, unit: ComparedUnit, tokenizer: str = "", actor: User) -> Job:
    """The job that computes a unit's figures from the current annotations.

    A second call returns the same job, even a failed or canceled one, which people start again from its page. Only a
    job that is done and whose figures are gone is followed by a new job.
    """
    check_tokenizer(tokenizer)
    key = f"agreement-{project.pk}-{content_key(project, unit, tokenizer)}"
    with transaction.atomic():
        Project.objects.select_for_update().get(pk=project.pk)
        made = Job.objects.filter(project=project, kind="agreement", key__startswith=key)
        last = made.order_by("-id").first()
        if last is not None and (last.state != JobState.DONE or kept_figures(project, unit, tokenizer) is not None):
            return last
        params = {"unit": str(unit)} | ({"tokenizer": tokenizer} if tokenizer else {})
        return enqueue(kind="agreement", project=project, params=params, key=f"{key}-{made.count()}", actor=actor)
