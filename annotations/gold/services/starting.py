"""Start the jobs that make gold in bulk and that count a version."""

from django.utils.translation import gettext as _

from annotations.core.errors import ServiceError
from annotations.jobs.services.starting import once
from annotations.models import Author, GoldVersion, Job, Project, User
from annotations.models.author import NOT_IN_BULK


def start_gold(*, project: Project, author_id: int, actor: User, token: str = "") -> Job:
    """Start a job that makes an author's submitted annotation sets gold. Raises ServiceError `author`."""
    author = Author.objects.filter(project=project, pk=author_id).exclude(kind__in=NOT_IN_BULK).first()
    if author is None:
        raise ServiceError(
            _("This author has no annotations in this project. Choose an author from the list."), code="author"
        )
    return once("gold", project, {"author_id": author.pk}, actor, token)


def start_statistics(*, version: GoldVersion, actor: User, token: str = "") -> Job:
    """Start the job that computes the corpus statistics of a version, or return the person's unfinished one."""
    return once("corpus", version.project, {"version": version.number}, actor, token)
