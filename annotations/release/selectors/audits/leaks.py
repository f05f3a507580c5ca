"""Leaks that auditors found, in their sentences."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import QuerySet

from annotations.models import AuditMark, AuditPlan, Project
from annotations.notes.selectors.annotation_sets import line_at
from annotations.notes.selectors.in_context import LabelLook, label_looks
from annotations.text.sentences import around


@dataclass(frozen=True)
class Leak:
    """A leak in its sentence of the original. `note` is the id of the note, `decision` empty while it is open."""

    mark: AuditMark
    note: int
    name: str
    language: str
    line: int
    look: LabelLook
    before: str
    marked: str
    after: str
    decision: str
    decided_by: str


def leak_marks(plan: AuditPlan) -> QuerySet[AuditMark]:
    """The leaks that auditors found, with what `listed_leaks` needs; dismissed ones too."""
    marks = AuditMark.objects.filter(note__plan=plan, leak=True)
    return marks.select_related("note__note__document", "finding__decided_by", "dismissed_by", "note__reader")


def listed_leaks(project: Project, marks: Sequence[AuditMark]) -> list[Leak]:
    """The marks with their sentences. Their notes, findings and people must be loaded."""
    looks = label_looks(project)
    return [_leak(mark, looks.get(mark.label) or LabelLook(mark.label, mark.label)) for mark in marks]


def _leak(mark: AuditMark, look: LabelLook) -> Leak:
    document = mark.note.note.document
    text = document.text
    low, high = around(text, mark.start, mark.end)
    decision, person = "", None
    if mark.dismissed_at is not None:
        decision, person = "dismissed", mark.dismissed_by
    elif mark.finding is not None and mark.finding.decision:
        decision, person = mark.finding.decision, mark.finding.decided_by
    return Leak(
        mark=mark,
        note=document.pk,
        name=document.name,
        language=document.language,
        line=line_at(text, mark.start),
        look=look,
        before=text[low : mark.start],
        marked=text[mark.start : mark.end],
        after=text[mark.end : high],
        decision=decision,
        decided_by=person.username if person else "",
    )
