"""Withdraw a release, so that it is exported no more."""

from django.db import transaction

from annotations.jobs.services.queue import cancel
from annotations.models import Job, Project, Release, ReleaseState, StoredFile, StoredFileKind, User
from annotations.release.events import RELEASE_WITHDRAWN
from annotations.release.services.exporting import EXPORT


def withdraw(*, release: Release, actor: User | None) -> Release:
    """Withdraw a release in any state, stop its jobs and delete its stored exports. Withdrawing twice does no harm.

    The released texts, the hash and the certificate stay, so that files that were handed over can still be verified.
    """
    with transaction.atomic():
        Project.objects.select_for_update(no_key=True).get(pk=release.project_id)
        locked = Release.objects.select_for_update(of=("self",)).get(pk=release.pk)
        if locked.state != ReleaseState.WITHDRAWN:
            locked.state = ReleaseState.WITHDRAWN
            locked.save(update_fields=["state"])
            exports = Job.objects.filter(project=release.project_id, kind=EXPORT, params__release_id=release.pk)
            files = [job.result["file_id"] for job in exports if "file_id" in job.result]
            stored = StoredFile.objects.filter(project=release.project_id, kind=StoredFileKind.RELEASE, pk__in=files)
            _deleted, by_type = stored.delete()
            for job in [*exports, *([locked.job] if locked.job else [])]:
                cancel(job)
            RELEASE_WITHDRAWN.record(
                actor=actor,
                project_id=release.project_id,
                data={"release": release.number, "files": by_type.get(StoredFile._meta.label, 0)},
            )
    release.refresh_from_db()
    return release
