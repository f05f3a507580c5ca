"""The download of the decision log."""

from collections.abc import Iterator

from django.utils import timezone

from annotations.core.events import FILE_DOWNLOADED
from annotations.models import Project, User
from annotations.review.selectors.decision_log import FORMATS


def export_decisions(*, project: Project, actor: User, format: str) -> tuple[Iterator[str], str]:
    """Return the lines of the log in a format of FORMATS, and the name of the file. Record the download."""
    FILE_DOWNLOADED.record(actor=actor, project_id=project.pk, data={"decisions": format})
    day = timezone.localdate().isoformat()
    return FORMATS[format](project), f"{project.slug}-decisions-{day}.{format}"
