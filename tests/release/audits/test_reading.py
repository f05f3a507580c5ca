"""Reading released notes: one person at a time, marks, planted leaks, finishing, reopening."""

from datetime import timedelta

import pytest
from django.utils import timezone

from annotations.core.errors import ServiceError
from annotations.models import (
    AuditMark,
    AuditNote,
    AuditNoteState,
    AuditPlan,
    AuditPlanState,
    Event,
    LeakFinding,
    Release,
    ReleasedNote,
    ReleasedNoteState,
)
from annotations.release.events import AUDIT_NOTE_FINISHED
from annotations.release.selectors.audits import audit_result, shown_of
from annotations.release.services.audits.reading import (
    LEASE,
    finish,
    last_finished,
    mark,
    next_note,
    reading_note,
    reopen,
    unmark,
)
from tests import factories as make
from tests.worlds.audited import planned, read_one


@pytest.fixture
def plan(ward):
    return planned(ward.release)


def test_a_begun_note_is_resumed_and_others_get_another(ward, plan):
    first, second = next_note(plan=plan, user=ward.rev), next_note(plan=plan, user=ward.rev2)
    assert (first.position, second.position) == (1, 2)
    assert next_note(plan=plan, user=ward.rev).pk == first.pk
    # A mark keeps the note.
    AuditNote.objects.filter(reader=ward.rev).update(leased_until=timezone.now() + timedelta(seconds=5))
    mark(note=reading_note(plan, ward.rev), start=40, end=60, label="DOCTOR", user=ward.rev)
    assert reading_note(plan, ward.rev).leased_until > timezone.now() + LEASE - timedelta(minutes=1)
    # An abandoned note goes to somebody else without its marks.
    AuditNote.objects.filter(reader=ward.rev2).update(state=AuditNoteState.DONE)
    AuditNote.objects.filter(pk=first.pk).update(leased_until=timezone.now() - timedelta(seconds=1))
    assert next_note(plan=plan, user=ward.rev2).pk == first.pk
    assert not AuditMark.objects.exists()
    with pytest.raises(ServiceError, match="no longer yours"):
        finish(note=AuditNote.objects.get(pk=first.pk), user=ward.rev)


def test_people_get_notes_that_they_did_not_annotate(ward, plan):
    first = plan.notes.get(position=1)
    make.make_set(first.note.document, ward.rev, submitted=True)
    assert next_note(plan=plan, user=ward.rev).position == 2
    # Where nothing else is left, they read their own.
    plan.notes.filter(position__gt=2).update(state=AuditNoteState.DONE)
    finish(note=AuditNote.objects.get(position=2), user=ward.rev)
    assert next_note(plan=plan, user=ward.rev).position == 1


def test_a_leak_is_a_finding_of_the_release_and_holds_its_note_back(ward, plan):
    note = read_one(plan, ward.rev, "dott. Bianchi")
    finish(note=note, user=ward.rev)  # once more changes nothing
    assert Event.objects.filter(verb=AUDIT_NOTE_FINISHED).count() == 1
    assert AuditNote.objects.filter(state="done").count() == 1
    [made] = AuditMark.objects.all()
    assert note.note.document.text[made.start : made.end] == "dott. Bianchi" and made.leak is True
    finding = LeakFinding.objects.get()
    assert made.finding == finding and finding.origin == LeakFinding.Origin.AUDIT and not finding.decision
    assert note.note.text[finding.start : finding.end] == "dott. Bianchi"
    assert ReleasedNote.objects.get(pk=note.note_id).state == ReleasedNoteState.HELD
    assert Release.objects.get().revision == 1
    # The last note can be reopened.
    AuditPlan.objects.update(state=AuditPlanState.OPEN)
    plan.refresh_from_db()
    next_note(plan=plan, user=ward.rev)
    assert reopen(plan=plan, user=ward.rev).pk == note.pk
    assert not LeakFinding.objects.exists() and AuditMark.objects.get().leak is None
    assert ReleasedNote.objects.get(pk=note.note_id).state == ReleasedNoteState.DONE
    assert AuditNote.objects.filter(state="reading").count() == 1
    unmark(note=note, mark=AuditMark.objects.get().pk, user=ward.rev)
    finish(note=note, user=ward.rev)
    assert not LeakFinding.objects.exists()


def test_marks(ward, plan):
    next_note(plan=plan, user=ward.rev)
    note = reading_note(plan, ward.rev)
    text = shown_of(note).text
    at = text.index(" Bianchi")
    made = mark(note=note, start=at, end=at + 8, label="PATIENT", user=ward.rev)  # with a space before it
    assert note.note.document.text[made.start : made.end] == "Bianchi"
    again = mark(note=note, start=at + 1, end=at + 8, label="DOCTOR", user=ward.rev)
    assert again.pk == made.pk and AuditMark.objects.get().label == "DOCTOR"
    for start, end, label, reason in [
        (0, 9, "DOCTOR", "already replaced"),
        (at, at + 1, "DOCTOR", "not only spaces"),
        (5, 5, "DOCTOR", "Select text"),
        (5, 999, "DOCTOR", "Select text"),
        (at, at + 8, "NOBODY", "label of the project"),
    ]:
        with pytest.raises(ServiceError, match=reason):
            mark(note=note, start=start, end=end, label=label, user=ward.rev)
    with pytest.raises(ServiceError, match="no longer yours"):
        mark(note=note, start=at, end=at + 8, label="DOCTOR", user=ward.rev2)
    unmark(note=note, mark=made.pk, user=ward.rev)
    unmark(note=note, mark=made.pk, user=ward.rev)
    assert not AuditMark.objects.exists()


def test_planted_leaks_are_counted_and_are_no_leaks(ward):
    plan = planned(ward.release, planted=0.5, target=0.3)
    found = missed = 0
    while plan.state == AuditPlanState.OPEN and (taken := next_note(plan=plan, user=ward.rev)) is not None:
        note = reading_note(plan, ward.rev)
        if note.planted_start is not None and found < 3:
            start, end = shown_of(note).to_shown(note.planted_start, note.planted_end)
            mark(note=note, start=start, end=end, label="CITY", user=ward.rev)
            found += 1
        elif note.planted_start is not None:
            missed += 1
        finish(note=taken, user=ward.rev)
        plan.refresh_from_db()
    result = audit_result(ward.release)
    assert (result.planted, result.planted_found, result.leaks) == (found + missed, found, 0)
    assert not LeakFinding.objects.exists()
    assert not ReleasedNote.objects.filter(state="held").exists()


def test_the_audit_ends_when_the_target_cannot_be_met(ward, plan):
    for _note in range(9):
        read_one(plan, ward.rev)
    read_one(plan, ward.rev2, "Bianchi")
    assert plan.state == AuditPlanState.UNMET
    result = audit_result(ward.release)
    assert result.complete and not result.met and result.leaks == 1 and result.counted == 9
    assert 0.1 < result.bound < 0.3
    assert result.labels["DOCTOR"].bound == result.bound


def test_notes_count_in_the_order_of_the_sample(ward, plan):
    """An auditor who is slow keeps the bound waiting, so that the order in which people finish means nothing."""
    slow = next_note(plan=plan, user=ward.rev2)
    for _note in range(plan.drawn - 1):
        read_one(plan, ward.rev)
    assert plan.state == AuditPlanState.OPEN and next_note(plan=plan, user=ward.rev) is None
    finish(note=slow, user=ward.rev2)
    plan.refresh_from_db()
    assert plan.state == AuditPlanState.MET
    with pytest.raises(ServiceError, match="The audit has ended"):
        next_note(plan=plan, user=ward.rev)
    result = audit_result(ward.release)
    assert result.complete and result.met and result.bound == 0.1 and result.recall is None
    assert {one.user.username: one.read for one in result.auditors} == {"rita": 17, ward.rev2.username: 1}


def test_a_counted_note_cannot_be_reopened(ward):
    plan = planned(ward.release, leaks=1, target=0.15)
    for _note in range(sum(plan.looks[0].values())):
        read_one(plan, ward.rev, *(["Bianchi"] if _note == 0 else []))
    assert plan.state == AuditPlanState.OPEN
    assert last_finished(plan, ward.rev) is None
    with pytest.raises(ServiceError, match="can't be reopened"):
        reopen(plan=plan, user=ward.rev)


@pytest.mark.parametrize("state", ["signed", "withdrawn"])
def test_nothing_is_read_of_a_release_that_is_closed(ward, plan, state):
    next_note(plan=plan, user=ward.rev)
    Release.objects.update(state=state)
    with pytest.raises(ServiceError, match="has ended"):
        next_note(plan=plan, user=ward.rev2)
    with pytest.raises(ServiceError, match="has ended"):
        finish(note=reading_note(plan, ward.rev), user=ward.rev)
