"""Show auditors their progress and a note, and managers the leaks. The audit log records whose notes were read."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from annotations.core.access import Access, Can
from annotations.core.events import NOTE_READ, record_reads
from annotations.models import (
    AuditMark,
    AuditNote,
    AuditNoteState,
    AuditPlan,
    AuditPlanState,
    Project,
    ReleaseState,
    User,
)
from annotations.release.events import AUDIT_READ
from annotations.release.rules.audits.shown import AuditedText
from annotations.release.selectors.audits import Leak, audit_figures, listed_leaks, result_of, shown_of
from annotations.release.services.audits.reading import last_finished, reading_note


@dataclass(frozen=True, slots=True)
class Progress:
    """An audit for one person. `mine`: the notes that they have read; `begun`: they read one now.

    `reopens`: they can reopen their last note. `result` is None for auditors until the audit has ended.
    """

    open: bool
    mine: int
    begun: bool
    reopens: bool
    result: dict[str, Any] | None


def progress_of(access: Access, plan: AuditPlan) -> Progress:
    result = result_of(plan)
    seen = access.can(Can.RELEASE) or result.complete
    own = AuditNote.objects.filter(plan=plan, reader=access.user)
    return Progress(
        open=plan.state == AuditPlanState.OPEN and plan.release.state == ReleaseState.PREPARED,
        mine=own.filter(state=AuditNoteState.DONE).count(),
        begun=own.filter(state=AuditNoteState.READING).exists(),
        reopens=last_finished(plan, access.user) is not None,
        result=audit_figures(plan, result) if seen else None,
    )


def show_note(*, plan: AuditPlan, user: User) -> tuple[AuditNote, AuditedText] | None:
    """Return the note that the person reads with its shown text; None if they read none."""
    row = reading_note(plan, user)
    if row is None:
        return None
    note = row.note.document
    NOTE_READ.record(actor=user, project_id=note.project_id, document_id=note.pk, data={"what": AUDIT_READ})
    return row, shown_of(row)


def show_leaks(*, project: Project, marks: Sequence[AuditMark], actor: User | None) -> list[Leak]:
    """Return the leaks in their sentences of the original notes."""
    leaks = listed_leaks(project, marks)
    record_reads(actor=actor, project_id=project.pk, notes=(leak.note for leak in leaks), what="leaks of an audit")
    return leaks
