"""Delete an archived project with all its rows.

The first transaction makes the project invisible to everyone. The rows follow in short transactions, so that nobody
waits for the deletion of a large project: the page deletes for a few seconds, and the relay deletes the rest. Whatever
is killed meanwhile, the relay goes on.
"""

import time
import uuid

from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from annotations import models
from annotations.core.hooks import project_deleted
from annotations.core.services import ServiceError, begin_erasure
from annotations.ops.events import PROJECT_DELETED, ProjectDeleted
from annotations.ops.services.erasing import empty_write_ahead_log
from annotations.projects.services.projects import check_no_jobs

# How much one transaction deletes. Chunks have up to 1 MiB.
NOTES, EVENTS, CHUNKS = 100, 5000, 50
# How long a page deletes before it leaves the rest to the relay, and how long the relay deletes at a time (seconds).
OF_PAGE, OF_RELAY = 5.0, 1.0


def deletion_preview(project: models.Project) -> ProjectDeleted:
    """Count what deleting the project deletes."""
    files = models.StoredFile.objects.filter(project=project)
    return {
        "project": project.pk,
        "notes": models.Document.objects.filter(project=project).count(),
        "annotation_sets": models.AnnotationSet.objects.filter(author__project=project).count(),
        "gold_versions": models.GoldVersion.objects.filter(project=project).count(),
        "models": files.filter(kind=models.StoredFileKind.MODEL).count(),
        "files": files.exclude(kind=models.StoredFileKind.MODEL).count(),
    }


def delete_project(
    *,
    project: models.Project,
    name: str,
    actor: models.User | None,
    seconds: float | None = OF_PAGE,
) -> ProjectDeleted:
    """Delete an archived project, whose name must be given exactly. Return the counts.

    After `seconds`, the relay deletes the rest of the rows; None deletes all of them now. One event remains, which
    belongs to no project: when, who, the project's id and the counts. Raises ServiceError.
    """
    counts = _hide(project, name, actor)
    finish_deletion(project.pk, seconds=seconds)
    return counts


def _hide(project: models.Project, name: str, actor: models.User | None) -> ProjectDeleted:
    """Begin the deletion: nobody finds the project any more, and its words are gone."""
    with transaction.atomic():
        begin_erasure(project.pk)
        fresh = models.Project.objects.select_for_update().filter(pk=project.pk).first()
        if fresh is None or models.Deletion.objects.filter(pk=project.pk).exists():
            raise ServiceError(_("This project was deleted already."), code="gone")
        if fresh.archived_at is None:
            raise ServiceError(_("Only an archived project can be deleted. Archive it first."), code="open")
        if name != fresh.name:
            raise ServiceError(_("This is not the name of the project. Nothing was deleted."), code="name")
        check_no_jobs(fresh)
        counts = deletion_preview(fresh)
        PROJECT_DELETED.record(actor=actor, data=counts)
        models.Deletion.objects.create(project_id=fresh.pk)
        models.Membership.objects.filter(project=fresh).delete()
        models.Project.objects.filter(pk=fresh.pk).update(slug=f"deleted-{uuid.uuid4().hex}", name="", guidelines="")
    return counts


def finish_deletions() -> None:
    """Go on with deletions under way for a moment. The relay calls this function every second."""
    until = time.monotonic() + OF_RELAY
    for project_id in models.Deletion.objects.values_list("pk", flat=True):
        finish_deletion(project_id, seconds=until - time.monotonic())


def finish_deletion(project_id: int, *, seconds: float | None = None) -> None:
    """Delete rows of a project under deletion for this long; None: all of them.

    If another process deletes rows of the project at the moment, this one leaves them to it.
    """
    until = None if seconds is None else time.monotonic() + seconds
    while _delete_some(project_id):
        if until is not None and time.monotonic() > until:
            return


def _delete_some(project_id: int) -> bool:
    """Delete some rows in one transaction. Return whether there are more for this process."""
    with transaction.atomic():
        if not models.Deletion.objects.select_for_update(skip_locked=True).filter(pk=project_id).first():
            return False
        for rows, most in (
            (models.Document.objects.filter(project=project_id), NOTES),
            # Published decisions that belong to no note.
            (models.PublishedDecision.objects.filter(project=project_id), NOTES),
            (models.StoredChunk.objects.filter(file__project=project_id), CHUNKS),
            # The database refuses this for all projects without a row of Deletion.
            (QuerySet(models.Event).filter(project_id=project_id), EVENTS),
        ):
            if ids := list(rows.order_by("pk").values_list("pk", flat=True)[:most]):
                QuerySet(rows.model).filter(pk__in=ids).delete()
                if rows.model is models.Document:
                    # A database trigger marked the notes as stale when their submitted sets were deleted.
                    models.Stale.objects.filter(document_id__in=ids).delete()
                return True
        _delete_rest(project_id)
        return False


def _delete_rest(project_id: int) -> None:
    """Delete the project itself and all rows that refer to it."""
    project = models.Project.objects.get(pk=project_id)
    project_deleted(project=project)
    # Categories and labels protect each other, so labels go first.
    models.Label.objects.filter(label_set__project=project).delete()
    project.delete()
    models.ChangedGold.objects.filter(project_id=project_id).delete()
    models.Deletion.objects.filter(pk=project_id).delete()
    transaction.on_commit(empty_write_ahead_log)
