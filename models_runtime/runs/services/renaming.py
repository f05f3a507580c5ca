"""Rename runs. Files, commands and releases name a run's annotations `run:NAME`."""

from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from annotations.core.errors import ServiceError, good_name
from annotations.jobs.services.queue import LIVE
from annotations.models import Author, Job, Project, Release, User
from annotations.release.services.sources import specs_of
from models_runtime.models import Run
from models_runtime.runs.events import RUN_RENAMED

LONGEST_NAME = 80


def rename_run(*, run: Run, name: str, actor: User | None) -> Run:
    """Give a run another name. Ensembles keep the old name in the list of their members.

    Raises ServiceError `name`, `exists`, `live` while a job uses the run by its name, and `released` where a release,
    and so its certificate, names it.
    """
    name = good_name(name)
    if not name or len(name) > LONGEST_NAME:
        raise ServiceError(
            _("Enter a name of at most %(most)d characters for the run.") % {"most": LONGEST_NAME}, code="name"
        )
    try:
        with transaction.atomic():
            # Starting a job or a release locks the project too.
            Project.objects.select_for_update(no_key=True).get(pk=run.project_id)
            author = Author.objects.select_for_update().get(pk=run.author_id)
            if author.name != name:
                _check_unused(author)
                author.name = name
                author.save(update_fields=["name"])
                RUN_RENAMED.record(actor=actor, project_id=run.project_id, data={"author": author.pk})
    except IntegrityError as error:
        raise ServiceError(
            _("A run named “%(name)s” already exists. Choose another name.") % {"name": name}, code="exists"
        ) from error
    run.author = author
    return run


def _check_unused(author: Author) -> None:
    """Raise ServiceError where a live job or a release names the run."""
    spec = f"run:{author.name}"
    for params in Job.objects.filter(project=author.project_id, state__in=LIVE).values_list("params", flat=True):
        if spec in specs_of(str(params.get("set", ""))):
            raise ServiceError(
                _("A job is using this run by its name. Wait until the job ends, or cancel it."), code="live"
            )
    for number, chosen in Release.objects.filter(project=author.project_id).values_list("number", "set_spec"):
        if spec in specs_of(chosen):
            raise ServiceError(
                _("Release %(number)d names this run, also in its certificate. The run keeps its name.")
                % {"number": number},
                code="released",
            )
