"""What erasing notes and deleting a project do to releases. Rows of notes and their findings go with the notes."""

from collections.abc import Sequence

from django.db.models import Count, F

from annotations.models import (
    AuditNote,
    AuditPlan,
    Project,
    Release,
    ReleasedNote,
    ReleaseErasure,
    ReleaseState,
)
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
        found.filter(state=ReleaseState.PREPARED).update(content_hash="", revision=F("revision") + 1)


# What an erasure does to audits. The rows of notes and marks are deleted with the notes.


def count_erased_in_audits(*, project: Project, notes: Sequence[int], patient: str) -> None:
    """Record in each audit how many notes of its sample are erased. A hook (annotations.core.hooks.patient_erased)."""
    del patient  # Audits keep nothing of a patient beside the notes.
    rows = AuditNote.objects.filter(plan__release__project=project, note__document__in=list(notes)).order_by()
    for plan, count in rows.values_list("plan").annotate(count=Count("pk")):
        AuditPlan.objects.filter(pk=plan).update(erased_count=F("erased_count") + count)


# Remember how many notes are erased from releases.


def remember_erased(*, project: Project, notes: Sequence[int], patient: str) -> None:
    """Record for each prepared release how many of its notes are being erased, but not which.

    A hook (annotations.core.hooks.patient_erased): it runs in the erasure's transaction, while the notes still exist.
    """
    rows = ReleasedNote.objects.filter(release__project=project, document__in=list(notes)).order_by()
    rows = rows.exclude(release__state=ReleaseState.PREPARING)
    for release, number in rows.values_list("release").annotate(notes=Count("pk")).order_by("release"):
        ReleaseErasure.objects.create(release_id=release, notes=number, patients=int(bool(patient)))
