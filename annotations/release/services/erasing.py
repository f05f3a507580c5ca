"""What erasing notes and deleting a project do to releases. Rows of notes and their findings go with the notes."""

from collections.abc import Sequence

from django.db.models import Count, F

from annotations.models import Project, Release, ReleasedNote
from annotations.release.services.settling import leave_out


def delete_releases(*, project: Project) -> None:
    """Delete the releases of a project that is being deleted. A hook (annotations.core.hooks.project_deleted).

    Releases protect their policies, which the project would delete first.
    """
    Release.objects.filter(project=project).delete()


def count_erased(*, project: Project, notes: Sequence[int], patient: str) -> None:
    """Record in each release how many of its notes are erased, and count its figures without them.

    A hook (annotations.core.hooks.patient_erased). The hash of a signed release stays, since it names what was handed
    over. Others are computed again.
    """
    del patient  # Releases keep nothing of a patient beside the notes.
    rows = ReleasedNote.objects.filter(release__project=project, document__in=list(notes)).order_by()
    for release, count in rows.values_list("release").annotate(count=Count("pk")):
        found = Release.objects.filter(pk=release)
        leave_out(release=found.get(), notes=notes)
        found.update(erased_count=F("erased_count") + count)
        found.filter(state=Release.State.PREPARED).update(content_hash="", revision=F("revision") + 1)
