"""Events of audits. Data never say which notes have planted leaks."""

from typing import TypedDict

from django.utils.translation import gettext_lazy as _

from annotations.core.events import Verb


class AuditPlanned(TypedDict):
    """`drawn` and `notes` are counts; the other values are the choices, shares from 0 to 1."""

    release: int
    notes: int
    drawn: int
    by: str
    confidence: float
    target: float
    planted: float
    leaks: int


class AuditOf(TypedDict):
    release: int


class AuditNoteAct(TypedDict):
    """`position` is the number of the note in the sample."""

    release: int
    position: int


class AuditMarked(AuditNoteAct):
    """A span in code points of the original note."""

    start: int
    end: int
    label: str


class AuditNoteFinished(AuditNoteAct):
    marks: int


AUDIT_READ = "audit"
"""What a note was opened for (NOTE_READ), where an auditor saw the released text and not the original."""

AUDIT_PLANNED = Verb[AuditPlanned]("audit.planned", _("planned the audit of a release"))
AUDIT_DISCARDED = Verb[AuditOf]("audit.discarded", _("discarded the plan of an audit"))
AUDIT_NOTE_TAKEN = Verb[AuditNoteAct]("audit.note_taken", _("began to read a released note"))
AUDIT_MARKED = Verb[AuditMarked]("audit.marked", _("marked a leak in a released note"))
AUDIT_UNMARKED = Verb[AuditMarked]("audit.unmarked", _("removed a mark from a released note"))
AUDIT_NOTE_FINISHED = Verb[AuditNoteFinished]("audit.note_finished", _("finished a released note"))
AUDIT_NOTE_REOPENED = Verb[AuditNoteAct]("audit.note_reopened", _("reopened a released note"))
AUDIT_LEAK_DISMISSED = Verb[AuditMarked]("audit.leak_dismissed", _("decided that a marked stretch is no identifier"))
AUDIT_LEAK_RESTORED = Verb[AuditMarked]("audit.leak_restored", _("decided that a marked stretch is an identifier"))
