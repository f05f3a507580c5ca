from typing import Any

from annotations.core.services import ServiceError
from annotations.core.stored_files import open_stored
from annotations.jobs.runner import Claim
from annotations.models import Project, User
from annotations.ops.services.archives.reading import fill_project
from annotations.ops.services.archives.staging import drop_upload, upload_of
from annotations.ops.services.archives.writing import store_archive


def export(claim: Claim) -> dict[str, Any]:
    """Write an archive into a stored file. After a crash the job starts over: a partial file is never stored."""
    return store_archive(project=Project.objects.get(pk=claim.project_id), actor=_actor(claim), progress=claim.progress)


def load(claim: Claim) -> None:
    """Fill an empty project from its upload, in one transaction, which also ends the job and deletes the upload."""
    project = Project.objects.get(pk=claim.project_id)
    stored = upload_of(project, int(claim.params["file_id"]))
    if stored is None:
        raise ServiceError("The upload has expired. Import the archive again.", code="gone")

    def finish(result: dict[str, Any]) -> None:
        stored.delete()
        claim.finish(result)

    with open_stored(stored) as file:
        fill_project(project=project, file=file, actor=_actor(claim), progress=claim.progress, finish=finish)


def undo(params: dict[str, Any], state: str) -> None:
    """Delete the upload of an import that failed or was canceled. Of its rows nothing was stored."""
    drop_upload(int(params["file_id"]))


def _actor(claim: Claim) -> User | None:
    return User.objects.filter(pk=claim.actor_id).first() if claim.actor_id else None
