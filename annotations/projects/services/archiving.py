"""Archive a project, which makes it read-only for everyone, and restore it."""

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from annotations.core.errors import ServiceError
from annotations.core.locks import begin_archiving, change_labels
from annotations.models import Import, ImportState, Project, User
from annotations.projects.events import PROJECT_ARCHIVED, PROJECT_RESTORED
from annotations.projects.selectors.live_jobs import live_jobs


def archive_project(*, project: Project, actor: User | None) -> bool:
    """Archive a project. Return whether it was open. Raises ServiceError while a job or an import is unfinished.

    The locks wait for changes of spans under way and for jobs that are being started: they are stored before.
    """
    with transaction.atomic():
        change_labels(project.pk)
        fresh = Project.objects.select_for_update(no_key=True).get(pk=project.pk)
        if fresh.archived_at is not None:
            return False
        begin_archiving(project.pk)
        check_no_jobs(project)
        PROJECT_ARCHIVED.record(actor=actor, project_id=project.pk, data={})
        fresh.archived_at = timezone.now()
        fresh.save(update_fields=["archived_at"])
    return True


def check_no_jobs(project: Project) -> None:
    """Raise ServiceError while a job of the project waits, runs or is paused, or a command imports notes."""
    if live_jobs(project):
        raise ServiceError(
            _("Some jobs of this project are waiting, running or paused. Wait until they finish, or cancel them."),
            code="jobs",
        )
    if Import.objects.filter(project=project, state=ImportState.RUNNING).exists():
        raise ServiceError(_("An import is running. Wait until it finishes, or cancel it."), code="import")


def restore_project(*, project: Project, actor: User | None) -> bool:
    """Make an archived project open again. Return whether it was archived."""
    with transaction.atomic():
        restored = Project.objects.filter(pk=project.pk, archived_at__isnull=False).update(archived_at=None)
        if restored:
            PROJECT_RESTORED.record(actor=actor, project_id=project.pk, data={})
    return bool(restored)
