from typing import Any

from django.utils.translation import gettext as _

from annotations.core.services import ServiceError
from annotations.gold.services.making import make_gold_bulk
from annotations.gold.services.statistics import statistics_of
from annotations.jobs.runner import Claim
from annotations.jobs.services.queue import once
from annotations.models import Author, GoldVersion, Job, Project, User
from annotations.models.notes import NOT_IN_BULK


def run(claim: Claim) -> dict[str, Any]:
    """Make an author's submitted annotation sets gold. Notes with gold are skipped, so that the job can be repeated."""
    author_id = int(claim.params["author_id"])
    return make_gold_bulk(
        project_id=claim.project_id, author_id=author_id, actor_id=claim.actor_id, progress=claim.progress
    )


def count(claim: Claim) -> dict[str, Any]:
    """Compute and store the corpus statistics of a version. A repeated job finds the stored figures."""
    versions = GoldVersion.objects.select_related("project")
    version = versions.get(project_id=claim.project_id, number=claim.params["version"])
    parts = statistics_of(version, claim.progress)
    return {"version": version.number, "notes": sum(part.notes for part in parts.values())}


# Start the jobs that make gold in bulk and that count a version.


def start_gold(*, project: Project, author_id: int, actor: User, token: str = "") -> Job:
    """Start a job that makes an author's submitted annotation sets gold. Raises ServiceError `author`."""
    author = Author.objects.filter(project=project, pk=author_id).exclude(kind__in=NOT_IN_BULK).first()
    if author is None:
        message = _("This author has no annotations in this project. Choose an author from the list.")
        raise ServiceError(message, code="author")
    return once("gold", project, {"author_id": author.pk}, actor, token)


def start_statistics(*, version: GoldVersion, actor: User, token: str = "") -> Job:
    """Start the job that computes the corpus statistics of a version, or return the person's unfinished one."""
    return once("corpus", version.project, {"version": version.number}, actor, token)
