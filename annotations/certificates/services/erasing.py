"""Count notes that are erased from releases."""

from collections.abc import Sequence

from django.db.models import Count, F

from annotations.models import Project, Release, ReleasedNote, ReleaseErasure


def count_erased(*, project: Project, notes: Sequence[int], patient: str) -> int:
    """Record for each release of the project how many of its notes are being erased. Return the number of releases.

    Runs in the transaction of the erasure (hook patient_erased), while the notes still exist. The rows don't say which.
    """
    released = ReleasedNote.objects.filter(release__project=project, document__in=notes).order_by()
    counts = dict(released.values_list("release").annotate(notes=Count("pk")))
    for pk, number in sorted(counts.items()):
        ReleaseErasure.objects.create(release_id=pk, notes=number, patients=int(bool(patient)))
        Release.objects.filter(pk=pk).update(erased_count=F("erased_count") + number)
    return len(counts)
