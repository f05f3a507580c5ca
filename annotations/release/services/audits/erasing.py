"""What an erasure does to audits. The rows of notes and marks are deleted with the notes."""

from collections.abc import Sequence

from django.db.models import Count, F

from annotations.models import AuditNote, AuditPlan, Project


def count_erased_in_audits(*, project: Project, notes: Sequence[int], patient: str) -> None:
    """Record in each audit how many notes of its sample are erased. A hook (annotations.core.hooks.patient_erased)."""
    del patient  # Audits keep nothing of a patient beside the notes.
    rows = AuditNote.objects.filter(plan__release__project=project, note__document__in=list(notes)).order_by()
    for plan, count in rows.values_list("plan").annotate(count=Count("pk")):
        AuditPlan.objects.filter(pk=plan).update(erased_count=F("erased_count") + count)
