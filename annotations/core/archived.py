"""Archived projects, which nobody can change before a manager restores them.

On pages, the rights of every role shrink to reading (annotations.core.access). Whatever else changes a project is
refused in its own transaction: each change records an event (annotations.core.events), and long work begins with a job.
"""

from django.core.exceptions import PermissionDenied
from django.utils.translation import gettext as _

from annotations.core.errors import ServiceError
from annotations.core.label_lock import advisory_lock
from annotations.models import Project
from annotations.models.prepared import PreparedRead

# The number of this lock, different from those of the labels and of erasures.
_ARCHIVING = 0xA2C4
# Every recorded event asks this, also that of a span.
_ARCHIVED = PreparedRead(
    lambda project: Project.objects.filter(pk=project, archived_at__isnull=False).order_by().values_list("pk"), int
)


class ProjectArchived(ServiceError, PermissionDenied):
    """The project is archived, so it can't be changed. Pages answer with 403 and this sentence."""

    def __init__(self) -> None:
        super().__init__(
            _("This project is archived. A manager can restore it in the project settings."), code="archived"
        )


def check_open(project_id: int) -> None:
    """Raise ProjectArchived, which rolls the caller's transaction back, if the project is archived."""
    if _ARCHIVED.first(project_id) is not None:
        raise ProjectArchived


def keep_open(project_id: int) -> None:
    """Like `check_open`, and keep the project from being archived until the caller's transaction ends."""
    advisory_lock(_ARCHIVING, project_id, shared=True)
    check_open(project_id)


def begin_archiving(project_id: int) -> None:
    """Wait for transactions that called `keep_open`, and exclude new ones until the transaction ends."""
    advisory_lock(_ARCHIVING, project_id, shared=False)
