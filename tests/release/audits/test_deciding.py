"""Decisions about leaks: replace, accept, no identifier, undo; and what they change."""

import pytest

from annotations.models import AuditMark, AuditPlan, AuditPlanState, Event, LeakFinding, ReleasedNote, ReleasedNoteState
from annotations.release.events import AUDIT_LEAK_DISMISSED, AUDIT_LEAK_RESTORED
from annotations.release.selectors.audits import audit_result
from annotations.release.services.audits.reading import decide_leak
from annotations.release.services.deciding import answer_chosen
from tests.worlds.audited import planned, read_one


@pytest.fixture
def leak(ward):
    """A mark in the second note, which has ended the audit."""
    plan = planned(ward.release)
    read_one(plan, ward.rev)
    read_one(plan, ward.rev, "Bianchi")
    assert plan.state == AuditPlanState.UNMET
    return AuditMark.objects.select_related("note__plan__release__project", "note__note").get()


def released(leak):
    return ReleasedNote.objects.get(pk=leak.note.note_id)


def test_replacing_prepares_the_note_again_and_still_counts(ward, leak):
    decide_leak(mark=leak, answer="replace", actor=ward.mia)
    row = released(leak)
    assert "Bianchi" not in row.text and row.text.endswith("[DOCTOR].") and row.state == ReleasedNoteState.DONE
    result = audit_result(ward.release)
    assert result.leaks == 1 and result.undecided == 0 and result.accepted == []
    ward.release.refresh_from_db()
    assert ward.release.content_hash


def test_accepting_names_who_did_it(ward, leak):
    assert audit_result(ward.release).undecided == 1
    decide_leak(mark=leak, answer="accept", actor=ward.mia)
    assert "Bianchi" in released(leak).text and released(leak).state == ReleasedNoteState.DONE
    result = audit_result(ward.release)
    assert result.leaks == 1 and [(one.label, one.user) for one in result.accepted] == [("DOCTOR", ward.mia)]


def test_what_is_no_identifier_does_not_count_and_reading_goes_on(ward, leak):
    decide_leak(mark=leak, answer="dismiss", actor=ward.mia)
    result = audit_result(ward.release)
    assert result.leaks == 0 and result.accepted == [] and not result.complete
    assert AuditPlan.objects.get().state == AuditPlanState.OPEN
    assert released(leak).state == ReleasedNoteState.DONE
    leak.refresh_from_db()
    decide_leak(mark=leak, answer="undo", actor=ward.mia)
    assert AuditPlan.objects.get().state == AuditPlanState.UNMET
    assert released(leak).state == ReleasedNoteState.HELD
    assert Event.objects.filter(verb__in=[AUDIT_LEAK_DISMISSED, AUDIT_LEAK_RESTORED]).count() == 2


def test_another_decision_replaces_the_first(ward, leak):
    for _time in range(2):  # the second time changes nothing
        decide_leak(mark=leak, answer="dismiss", actor=ward.mia)
        leak.refresh_from_db()
    assert Event.objects.filter(verb=AUDIT_LEAK_DISMISSED).count() == 1
    decide_leak(mark=leak, answer="replace", actor=ward.mia)
    assert LeakFinding.objects.get().decision == "replace" and AuditMark.objects.get().dismissed_at is None
    assert audit_result(ward.release).leaks == 1


def test_a_leak_stays_open_when_its_note_is_prepared_again(ward, leak):
    """Another decision prepares the note again. What a person has marked is decided by a person."""
    finding = LeakFinding.objects.get()
    other = LeakFinding.objects.create(
        note=finding.note, start=11, end=18, original_start=13, original_end=20, origin="denied", label="PATIENT",
        string_key=5,
    )  # fmt: skip
    ward.release.refresh_from_db()
    answer_chosen(release=ward.release, findings=[other.pk], answer="replace", actor=ward.mia)
    finding.refresh_from_db()
    row = released(leak)
    assert not finding.decision and row.state == ReleasedNoteState.HELD
    assert row.text[finding.start : finding.end] == "Bianchi" and "54 anni" not in row.text
