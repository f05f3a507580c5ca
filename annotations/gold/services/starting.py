"""Making gold in bulk as a job."""

from django.utils.translation import gettext as _

from annotations.core.errors import ServiceError
from annotations.jobs.services.starting import once
from annotations.models import Author, Job, Project, User
from annotations.models.author import NOT_IN_BULK


def start_gold(*, project: Project, author_id: int, actor: User, token: str = "") -> Job:
    """Start making an author's submitted readings gold. Raises ServiceError."""
    author = Author.objects.filter(project=project, pk=author_id).exclude(kind__in=NOT_IN_BULK).first()
    if author is None:
        raise ServiceError(_("this project has no such author of readings; choose one of the list"), code="author")
    return once("gold", project, {"author_id": author.pk}, actor, token)
