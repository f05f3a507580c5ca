"""Read the notes of an audit one by one: take a note, mark leaks, finish, reopen.

A note is read by one person at a time. It is theirs for LEASE after they took it or marked something; then somebody
else may take it, unless it is finished first.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

from django.db import transaction
from django.db.models import F, Q
from django.utils import timezone
from django.utils.translation import gettext as _

from annotations.core.access import Access, Can
from annotations.core.sealing import project_key
from annotations.core.services import NOTE_READ, ServiceError, Whose, hold, record_reads
from annotations.jobs.services.queue import one_at_a_time
from annotations.models import (
    AnnotationSet,
    AuditMark,
    AuditNote,
    AuditNoteState,
    AuditPlan,
    AuditPlanState,
    Label,
    LeakFinding,
    Project,
    Release,
    ReleaseState,
    Review,
    User,
)
from annotations.release import events
from annotations.release.rules.audits.looks import reached
from annotations.release.rules.audits.shown import AuditedText
from annotations.release.rules.redaction.released import span_to_released
from annotations.release.selectors import audits
from annotations.release.selectors.findings import stored_pieces
from annotations.release.services.deciding import UNDO, answer_chosen, hold_back
from annotations.text.search import folded
from annotations.text.spans import trim

LEASE = timedelta(minutes=30)
LOOKED_AT = 20
"""So many waiting notes are considered to find one that the person has not annotated."""


def next_note(*, plan: AuditPlan, user: User) -> AuditNote | None:
    """The note to read: the one that the person has begun, else the next that nobody reads; None if there is none.

    Of the next notes, those that the person has annotated or reviewed come last. Raises ServiceError `closed`.
    """
    for _try in range(LOOKED_AT):
        with transaction.atomic():
            hold(plan.release.project_id)
            _require_open(plan.pk)
            # Otherwise a double click could take a second note, between the search for the first and its commit.
            one_at_a_time(user)
            now = timezone.now()
            mine = AuditNote.objects.filter(plan=plan, reader=user, state=AuditNoteState.READING).first()
            if mine is not None:
                return mine
            free = Q(state=AuditNoteState.WAITING) | Q(state=AuditNoteState.READING, leased_until__lt=now)
            rows = AuditNote.objects.filter(free, plan=plan).order_by("position")
            candidates = list(rows.values_list("pk", "note__document_id")[:LOOKED_AT])
            if not candidates:
                return None
            own = _worked_on(user, [document for _pk, document in candidates])
            chosen = next((pk for pk, document in candidates if document not in own), candidates[0][0])
            taken = AuditNote.objects.filter(free, pk=chosen).update(
                state=AuditNoteState.READING, reader=user, leased_until=now + LEASE
            )
            if taken:
                row = AuditNote.objects.get(pk=chosen)
                AuditMark.objects.filter(note=row).delete()  # of a reader whose time is over
                events.AUDIT_NOTE_TAKEN.record(data=_act(row), **_whose(user, row))
                return row
    return None


def _worked_on(user: User, documents: list[int]) -> set[int]:
    """The notes of these that the person has annotated, or for which they decided on suggestions."""
    sets = AnnotationSet.objects.filter(document__in=documents, author__user=user)
    reviews = Review.objects.filter(document__in=documents, finished_by=user)
    return {*sets.values_list("document_id", flat=True), *reviews.values_list("document_id", flat=True)}


_with_texts = AuditNote.objects.select_related("note__document", "note__release", "plan__release")
"""Notes of audits with their texts."""


def reading_note(plan: AuditPlan, user: User) -> AuditNote | None:
    """The note that the person is reading, with its texts."""
    return _with_texts.filter(plan=plan, reader=user, state=AuditNoteState.READING).first()


def note_of(plan: AuditPlan, position: int, user: User) -> AuditNote:
    """The note at this position of the sample, if the person reads it or has read it. Raises ServiceError `gone`."""
    found = _with_texts.filter(plan=plan, position=position, reader=user).first()
    if found is None:
        raise ServiceError(_("This note is no longer yours to read. Read the next."), code="gone")
    return found


def mark(*, note: AuditNote, start: int, end: int, label: str, user: User) -> AuditMark:
    """Mark a stretch of the shown text (code points, end-exclusive) as a leak with a label's code.

    White space at its ends is left out. Marking the same stretch again changes its label. Raises ServiceError `gone` if
    the note is no longer the person's, `label`, `bounds`, and `replaced` where nothing of the original is left.
    """
    with transaction.atomic():
        row = _mine(note, user)
        shown = audits.shown_of(row)
        if not 0 <= start < end <= len(shown.text):
            raise ServiceError(_("Select text of the note."), code="bounds")
        start, end = trim(shown.text, start, end)
        if start >= end:
            raise ServiceError(_("Select text of the note, not only spaces."), code="bounds")
        if not Label.objects.filter(label_set__project=row.note.release.project_id, code=label).exists():
            raise ServiceError(_("Choose a label of the project."), code="label")
        begin, past = shown.to_original(start, end)
        if shown.is_replaced(begin, past):
            message = _("This text was already replaced. Mark only text of the original note.")
            raise ServiceError(message, code="replaced")
        made, _new = AuditMark.objects.update_or_create(note=row, start=begin, end=past, defaults={"label": label})
        _extend(row)
        events.AUDIT_MARKED.record(data={**_act(row), "start": begin, "end": past, "label": label}, **_whose(user, row))
    return made


def unmark(*, note: AuditNote, mark: int, user: User) -> None:
    """Remove a mark of the note that the person reads. Raises ServiceError `gone`."""
    with transaction.atomic():
        row = _mine(note, user)
        found = AuditMark.objects.filter(note=row, pk=mark).first()
        if found is None:
            return
        data: events.AuditMarked = {**_act(row), "start": found.start, "end": found.end, "label": found.label}
        found.delete()
        _extend(row)
        events.AUDIT_UNMARKED.record(data=data, **_whose(user, row))


def finish(*, note: AuditNote, user: User) -> AuditPlan:
    """Finish a note: count its planted leak, and open a finding of the release for each leak. Return the plan.

    A note with a leak is held back until a manager has decided. A repeated request changes nothing. Raises ServiceError
    `gone` if the note is no longer the person's.
    """
    with transaction.atomic():
        hold(note.plan.release.project_id)
        release = _locked_release(note.plan)
        plan = AuditPlan.objects.select_for_update(of=("self",)).get(release=release)
        again = AuditNote.objects.filter(pk=note.pk, reader=user, state=AuditNoteState.DONE)
        if again.exists():
            return plan
        row = _mine(note, user)
        shown = audits.shown_of(row)
        marks = list(row.marks.all())
        if shown.planted is not None:
            row.planted_found = any(shown.finds_planted(one.start, one.end) for one in marks)
        for one in marks:
            one.leak = shown.is_leak(one.start, one.end)
        leaks = [one for one in marks if one.leak]
        _open_findings(row, leaks)
        AuditMark.objects.bulk_update(marks, ["leak", "finding"])
        row.state, row.leased_until, row.done_at = AuditNoteState.DONE, None, timezone.now()
        row.save(update_fields=["state", "leased_until", "done_at", "planted_found"])
        if leaks:
            changed(release)
        _judge(plan)
        events.AUDIT_NOTE_FINISHED.record(data={**_act(row), "marks": len(marks)}, **_whose(user, row))
    return plan


def last_finished(plan: AuditPlan, user: User) -> AuditNote | None:
    """The person's last finished note, if it can be reopened: no look has counted it, and nobody decided on it."""
    if plan.state != AuditPlanState.OPEN:
        return None
    row = AuditNote.objects.filter(plan=plan, reader=user, state=AuditNoteState.DONE).order_by("-done_at").first()
    if row is None or row.position <= reached(plan.looks, audits.Readings(plan).read):  # a look has counted it
        return None
    decided = row.marks.filter(Q(dismissed_at__isnull=False) | ~Q(finding__decision=""), finding__isnull=False)
    return None if decided.exists() else row


def reopen(*, plan: AuditPlan, user: User) -> AuditNote:
    """Reopen the note that the person finished last. A note that they have begun meanwhile is given back unread.

    Raises ServiceError `closed` if no note can be reopened.
    """
    with transaction.atomic():
        hold(plan.release.project_id)
        release = _locked_release(plan)
        locked = AuditPlan.objects.select_for_update(of=("self",)).get(pk=plan.pk)
        row = last_finished(locked, user)
        if row is None:
            message = _("This note can't be reopened any more: the audit has counted it, or a manager has decided.")
            raise ServiceError(message, code="closed")
        begun = AuditNote.objects.filter(plan=plan, reader=user, state=AuditNoteState.READING)
        AuditMark.objects.filter(note__in=begun).delete()
        begun.update(state=AuditNoteState.WAITING, reader=None, leased_until=None)
        findings = LeakFinding.objects.filter(pk__in=row.marks.exclude(finding=None).values("finding"), decision="")
        if findings.exists():
            findings.delete()
            hold_back([row.note_id])
            changed(release)
        row.marks.update(leak=None, finding=None)
        row.state, row.leased_until, row.done_at = AuditNoteState.READING, timezone.now() + LEASE, None
        row.planted_found = None
        row.save(update_fields=["state", "leased_until", "done_at", "planted_found"])
        events.AUDIT_NOTE_REOPENED.record(data=_act(row), **_whose(user, row))
    return row


def changed(release: Release) -> None:
    """Note that the release's notes have changed, so that its hash and figures are computed again."""
    Release.objects.filter(pk=release.pk).update(revision=F("revision") + 1, content_hash="")


def _open_findings(row: AuditNote, leaks: list[AuditMark]) -> None:
    """A finding for each leak; a finding of the leak gate at the same place and of the same string is taken over."""
    if not leaks:
        return
    note = row.note
    key, pieces = project_key(note.release.project_id), stored_pieces(note.pieces)
    for one in leaks:
        start, end = span_to_released(pieces, one.start, one.end)
        one.finding, _made = LeakFinding.objects.get_or_create(
            note=note,
            where=LeakFinding.Where.TEXT,
            original_start=one.start,
            original_end=one.end,
            string_key=key.number("leak", folded(note.text[start:end])),
            defaults={
                "start": start, "end": end, "origin": LeakFinding.Origin.AUDIT, "label": one.label
            },
        )  # fmt: skip
    hold_back([note.pk])


def _judge(plan: AuditPlan) -> None:
    """Store the state of an audit, which is locked."""
    plan.state = str(audits.verdict_of(plan).state)
    plan.save(update_fields=["state"])


def _locked_release(plan: AuditPlan) -> Release:
    """The release, locked. Locks are taken in the order release, plan, note."""
    return Release.objects.select_for_update(of=("self",)).get(pk=plan.release_id)


def _mine(note: AuditNote, user: User) -> AuditNote:
    """The note, locked, if the person reads it and the audit is open."""
    rows = _with_texts.select_for_update(of=("self",))
    row = rows.filter(pk=note.pk, reader=user, state=AuditNoteState.READING).first()
    if row is None:
        message = _("This note is no longer yours to read: you finished it, or somebody else took it. Read the next.")
        raise ServiceError(message, code="gone")
    _require_open(row.plan_id)
    return row


def _require_open(plan: int) -> None:
    found = AuditPlan.objects.filter(
        pk=plan, state=AuditPlanState.OPEN, release__state__in=[ReleaseState.PREPARED, ReleaseState.PREPARING]
    )
    if not found.exists():
        raise ServiceError(_("The audit has ended. There is nothing left to read."), code="closed")


def _extend(row: AuditNote) -> None:
    AuditNote.objects.filter(pk=row.pk).update(leased_until=timezone.now() + LEASE)


def _act(row: AuditNote) -> events.AuditNoteAct:
    return {"release": row.plan.release.number, "position": row.position}


def _whose(user: User | None, row: AuditNote) -> Whose:
    return {"actor": user, "project_id": row.plan.release.project_id, "document_id": row.note.document_id}


# Decide about what auditors marked: replace it, accept it, or say that it is not an identifier.


Answer = LeakFinding.Answer


def decide_leak(*, mark: AuditMark, answer: str, actor: User | None) -> None:
    """Decide about a leak, or `undo` the decision. Raises ServiceError `gone`, and as `answer_chosen`.

    `replace` it in the release, whose note is prepared again, or `accept` it: both count as a leak of the audit, and
    the certificate names who accepted it. `dismiss`: the marked stretch identifies nobody, stays, and is not a leak.
    """
    finding = LeakFinding.objects.filter(pk=mark.finding_id or 0).first() if mark.leak else None
    if finding is None:
        raise ServiceError(_("This leak no longer exists. Reload the page."), code="gone")
    act = partial(answer_chosen, release=mark.note.plan.release, findings=[finding.pk], actor=actor)
    wanted = {"replace": Answer.REPLACE, "accept": Answer.ALLOW, "dismiss": Answer.ALLOW}.get(answer)
    if finding.decision and finding.decision != wanted:
        act(answer=UNDO)
    if wanted and finding.decision != wanted:
        act(answer=wanted)
    _dismiss(mark, actor, dismissed=answer == "dismiss")


def _dismiss(mark: AuditMark, actor: User | None, *, dismissed: bool) -> None:
    """Store whether the stretch identifies nobody, unless that is stored already."""
    verb = events.AUDIT_LEAK_DISMISSED if dismissed else events.AUDIT_LEAK_RESTORED
    row = mark.note
    data: events.AuditMarked = {**_act(row), "start": mark.start, "end": mark.end, "label": mark.label}
    with transaction.atomic():
        found = AuditMark.objects.filter(pk=mark.pk, dismissed_at__isnull=dismissed)
        if found.update(dismissed_by=actor if dismissed else None, dismissed_at=timezone.now() if dismissed else None):
            _judge(AuditPlan.objects.select_for_update(of=("self",)).get(pk=row.plan_id))
            verb.record(data=data, **_whose(actor, row))


# Show auditors their progress and a note, and managers the leaks. The audit log records whose notes were read.


@dataclass(frozen=True)
class Progress:
    """An audit for one person. `mine`: the notes that they have read; `begun`: they read one now.

    `reopens`: they can reopen their last note. `result` is None for auditors until the audit has ended.
    """

    open: bool
    mine: int
    begun: bool
    reopens: bool
    result: audits.AuditResult | None


def progress_of(access: Access, plan: AuditPlan) -> Progress:
    result = audits.result_of(plan)
    own = AuditNote.objects.filter(plan=plan, reader=access.user)
    return Progress(
        open=plan.state == AuditPlanState.OPEN and plan.release.state == ReleaseState.PREPARED,
        mine=own.filter(state=AuditNoteState.DONE).count(),
        begun=own.filter(state=AuditNoteState.READING).exists(),
        reopens=last_finished(plan, access.user) is not None,
        result=result if access.can(Can.RELEASE) or result.complete else None,
    )


def show_note(*, plan: AuditPlan, user: User) -> tuple[AuditNote, AuditedText] | None:
    """Return the note that the person reads with its shown text; None if they read none."""
    row = reading_note(plan, user)
    if row is None:
        return None
    note = row.note.document
    NOTE_READ.record(actor=user, project_id=note.project_id, document_id=note.pk, data={"what": events.AUDIT_READ})
    return row, audits.shown_of(row)


def show_leaks(*, project: Project, marks: Sequence[AuditMark], actor: User | None) -> list[audits.Leak]:
    """Return the leaks in their sentences of the original notes."""
    leaks = audits.listed_leaks(project, marks)
    record_reads(actor=actor, project_id=project.pk, notes=(leak.note for leak in leaks), what="leaks of an audit")
    return leaks
