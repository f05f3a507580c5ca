"""Routes of audits: plan, read notes, mark leaks, the result, and decisions about leaks.

Auditors get the result only after the audit has ended, and nobody learns before which leaks are planted.
"""

from collections.abc import Sequence
from typing import Any, Literal, Self, TypeVar

from django.http import Http404
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext as _
from ninja import Field, Query, Schema

from annotations.core.access import Access, Can
from annotations.core.api.paging import Page, PageAnswer, Paging, paged, paged_rows
from annotations.core.api.routes import Answer, ApiRequest, Body, Problem, ProjectRouter, named
from annotations.models import AuditMark, AuditPlan, Release
from annotations.release.api.releases import Named
from annotations.release.rules.audits.looks import MOST_LEAKS
from annotations.release.rules.audits.shown import AuditedText
from annotations.release.selectors import audits
from annotations.release.services.audits import reading
from annotations.release.services.audits.planning import AuditSample, Choices, discard_plan, plan_audit, preview_of
from annotations.release.services.audits.reading import decide_leak as decide
from annotations.release.services.audits.reading import progress_of, show_leaks, show_note
from annotations.text.names import MAX_OFFSET

router = ProjectRouter(tags=["Audits"])
PATH = "/projects/{slug:slug}/releases/{int:release}/audit"
Made = TypeVar("Made")


class AuditItem(Schema):
    """A release, and the state of its audit: open, met or unmet; null where no audit is planned."""

    release: int
    release_state: str
    state: str | None

    @classmethod
    def of(cls, one: Release) -> Self:
        plan: AuditPlan | None = getattr(one, "audit", None)
        return cls(release=one.number, release_state=one.state, state=plan.state if plan else None)


class AuditChoices(Body):
    """What an audit should show: that at most the share `target` of the notes contains a leak, with this `confidence`.

    `planted` is the share of the sample's notes with a planted leak; `leaks` notes with a leak may be found before the
    audit ends. All shares are from 0 to 1.
    """

    target: float = Field(0.01, ge=0.0001, le=0.5)
    confidence: float = Field(0.95, ge=0.5, le=0.999)
    by: Literal["", "type", "site", "language"] = ""
    planted: float = Field(0.1, ge=0, le=0.5)
    leaks: int = Field(0, ge=0, le=MOST_LEAKS)

    def chosen(self) -> Choices:
        return Choices(self.by, self.confidence, self.target, self.planted, self.leaks)


class AuditVerdict(Schema):
    """An audit. `mine` counts the notes that the person has read, `begun`: the person reads one now.

    `result` is null for auditors until the audit has ended. In it, `planted`, `planted_found` and `recall` are null
    until then, and `bound` until the first look.
    """

    release: int
    state: str
    open: bool
    mine: int
    begun: bool
    reopens: bool
    result: dict[str, Any] | None


class PartItem(Schema):
    """A part of the shown text that the release replaced, or kept because of its policy. `kind`: replaced or kept."""

    start: int
    end: int
    kind: str
    label: str


class MarkItem(Schema):
    """A stretch of the shown text that the person marked as a leak: offsets in code points, end-exclusive."""

    id: int
    start: int
    end: int
    label: str

    @classmethod
    def of(cls, mark: AuditMark, shown: AuditedText) -> Self:
        start, end = shown.to_shown(mark.start, mark.end)
        return cls(id=mark.pk, start=start, end=end, label=mark.label)


class ReadingNote(Schema):
    """The note that the person reads: its number in the sample, and its text as the release has it.

    One identifier of the text may be planted: it is not in the release.
    """

    note: int
    language: str
    text: str
    parts: list[PartItem]
    marks: list[MarkItem]


class NewMark(Body):
    """A leak in the shown text: offsets in code points, end-exclusive, and the code of a label.

    `note` is the number of the note that the person reads.
    """

    note: int = Field(ge=0, le=MAX_OFFSET)
    start: int = Field(ge=0, le=MAX_OFFSET)
    end: int = Field(ge=0, le=MAX_OFFSET)
    label: str = Field(max_length=60)


class TheNote(Body):
    """The number of the note that the person reads, so that an old request changes no other note."""

    note: int = Field(ge=0, le=MAX_OFFSET)


class LeakItem(Answer):
    """A leak in its sentence of the original note. `decision` is empty, replace, allow or dismissed."""

    mark: int = Field(validation_alias="mark.pk")
    note: int
    start: int = Field(validation_alias="mark.start")
    end: int = Field(validation_alias="mark.end")
    label: str = Field(validation_alias="mark.label")
    before: str
    marked: str
    after: str
    decision: str
    decided_by: str | None


class LeakDecision(Body):
    """`replace` it in the release, `accept` the risk, `dismiss` it as no identifier, or `undo` the decision."""

    answer: Literal["replace", "accept", "dismiss", "undo"]


@router.get("/projects/{slug:slug}/audits", Can.AUDIT_RELEASES, response=Page[AuditItem])
def list_audits(request: ApiRequest, access: Access, paging: Query[Paging]) -> PageAnswer:
    """List the releases that have an audit, and for managers the others too; the newest first."""
    return paged_rows(request, paging, audits.audited(access), AuditItem.of, newest_first=True, by="number")


@router.get(f"{PATH}/preview", Can.RELEASE, response=AuditSample)
def preview_audit(access: Access, release: Named, wanted: Query[AuditChoices]) -> AuditSample:
    """Show the sample that choices give. Nothing is stored."""
    with named({"by": "by"}):
        return preview_of(release, wanted.chosen())


@router.post(PATH, Can.RELEASE, response={201: AuditVerdict})
def plan_release_audit(access: Access, release: Named, body: AuditChoices) -> AuditVerdict:
    """Plan the audit of a release: draw the sample and plant leaks in it."""
    with named({"by": "by", "planted": "planted"}):
        plan = plan_audit(release=release, choices=body.chosen(), actor=access.user)
    return _state(access, plan)


@router.get(PATH, Can.AUDIT_RELEASES, response=AuditVerdict)
def read_audit(access: Access, release: Named) -> AuditVerdict:
    """Read the state of an audit, and its result once it has ended (managers: at any time)."""
    return _state(access, _plan(release))


@router.delete(PATH, Can.RELEASE, response={204: None})
def discard_audit(access: Access, release: Named) -> None:
    """Discard the plan of an audit. This is possible until somebody opens a note."""
    discard_plan(release=release, actor=access.user)


@router.post(f"{PATH}/next", Can.AUDIT_RELEASES, response=ReadingNote)
def next_audit_note(access: Access, release: Named) -> ReadingNote:
    """Take the next note to read, or go on with the one that the person has begun. The audit log records it."""
    plan = _plan(release)
    if reading.next_note(plan=plan, user=access.user) is None:
        raise Problem(409, "none-left", _("No note is left to read. Others may still read theirs."))
    return _shown(access, plan)


@router.get(f"{PATH}/note", Can.AUDIT_RELEASES, response=ReadingNote)
def read_audit_note(access: Access, release: Named) -> ReadingNote:
    """Read the note that the person has begun. The audit log records it."""
    return _shown(access, _plan(release))


@router.post(f"{PATH}/note/marks", Can.AUDIT_RELEASES, response={201: MarkItem})
def mark_leak(access: Access, release: Named, body: NewMark) -> MarkItem:
    """Mark a stretch of the shown text as a leak. The same stretch again gets the new label."""
    plan = _plan(release)
    row = reading.note_of(plan, body.note, access.user)
    with named({"bounds": "start", "replaced": "start", "label": "label"}):
        made = reading.mark(note=row, start=body.start, end=body.end, label=body.label, user=access.user)
    return MarkItem.of(made, audits.shown_of(row))


@router.delete(f"{PATH}/note/marks/{{int:mark}}", Can.AUDIT_RELEASES, response={204: None})
def unmark_leak(access: Access, release: Named, mark: int) -> None:
    """Remove a mark of the note that the person reads."""
    plan = _plan(release)
    row = reading.reading_note(plan, access.user)
    if row is None or not row.marks.filter(pk=mark).exists():
        raise Http404("The note has no such mark.")
    reading.unmark(note=row, mark=mark, user=access.user)


@router.post(f"{PATH}/note/finish", Can.AUDIT_RELEASES, response=AuditVerdict)
def finish_audit_note(access: Access, release: Named, body: TheNote) -> AuditVerdict:
    """Finish the note that the person reads. A note with a leak is held back until a manager has decided."""
    plan = _plan(release)
    reading.finish(note=reading.note_of(plan, body.note, access.user), user=access.user)
    return _state(access, _plan(release))


@router.post(f"{PATH}/reopen", Can.AUDIT_RELEASES, response=ReadingNote)
def reopen_audit_note(access: Access, release: Named) -> ReadingNote:
    """Reopen the note that the person finished last, if no look has counted it yet."""
    plan = _plan(release)
    reading.reopen(plan=plan, user=access.user)
    return _shown(access, plan)


@router.get(f"{PATH}/leaks", Can.RELEASE, response=Page[LeakItem])
def list_leaks(request: ApiRequest, access: Access, release: Named, paging: Query[Paging]) -> PageAnswer:
    """List the leaks that auditors found, in their sentences. The audit log records that their notes were read."""
    plan = _plan(release)

    def fetch(after: int | None, size: int) -> Sequence[audits.Leak]:
        marks = audits.leak_marks(plan).filter(pk__gt=after or 0).order_by("pk")[:size]
        return show_leaks(project=access.project, marks=list(marks), actor=access.user)

    return paged(request, paging, fetch, LeakItem.model_validate, lambda leak: leak.mark.pk)


@router.post(f"{PATH}/leaks/{{int:mark}}/decide", Can.RELEASE, response=AuditVerdict)
def decide_leak(access: Access, release: Named, mark: int, body: LeakDecision) -> AuditVerdict:
    """Decide about a leak, or undo the decision."""
    plan = _plan(release)
    marks = audits.leak_marks(plan).select_related("note__plan__release__project", "note__note")
    decide(mark=get_object_or_404(marks, pk=mark), answer=body.answer, actor=access.user)
    return _state(access, _plan(release))


def _plan(release: Release) -> AuditPlan:
    return get_object_or_404(AuditPlan.objects.select_related("release__project", "release__policy"), release=release)


def _state(access: Access, plan: AuditPlan) -> AuditVerdict:
    progress = progress_of(access, plan)
    result = audits.audit_figures(progress.result) if progress.result else None
    return AuditVerdict(**vars(progress) | {"release": plan.release.number, "state": plan.state, "result": result})


def _shown(access: Access, plan: AuditPlan) -> ReadingNote:
    found = show_note(plan=plan, user=access.user)
    if found is None:
        raise Http404("The person reads no note of this audit.")
    row, shown = found
    return ReadingNote(
        note=row.position, language=row.note.document.language or access.project.language, text=shown.text,
        parts=[PartItem.model_validate(part) for part in audits.labeled_parts(shown)],
        marks=[MarkItem.of(mark, shown) for mark in row.marks.all()],
    )  # fmt: skip
