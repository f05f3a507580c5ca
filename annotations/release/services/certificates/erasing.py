"""Remember how many notes are erased from releases."""

from collections.abc import Sequence

from django.db.models import Count

from annotations.models import Project, Release, ReleasedNote, ReleaseErasure


def remember_erased(*, project: Project, notes: Sequence[int], patient: str) -> None:
    """Record for each prepared release how many of its notes are being erased, but not which.

    A hook (annotations.core.hooks.patient_erased): it runs in the erasure's transaction, while the notes still exist.
    """
    rows = ReleasedNote.objects.filter(release__project=project, document__in=list(notes)).order_by()
    rows = rows.exclude(release__state=Release.State.PREPARING)
    for release, number in rows.values_list("release").annotate(notes=Count("pk")).order_by("release"):
        ReleaseErasure.objects.create(release_id=release, notes=number, patients=int(bool(patient)))
