"""Audits of released notes: planning the sample, reading, decisions about leaks, and results."""

from collections import Counter
from dataclasses import replace
from datetime import timedelta

import pytest
from django.utils import timezone

from annotations import models
from annotations.core.services import ServiceError
from annotations.ops.services.erasing import delete_note, erase_patient
from annotations.release import events
from annotations.release.selectors.audits import audit_result, shown_of
from annotations.release.services.audits import reading
from annotations.release.services.audits.planning import Choices, discard_plan, plan_audit
from annotations.release.services.deciding import answer_chosen
from annotations.release.services.steps import bound_in_words
from tests import factories as make
from tests.worlds.audited import make_release, planned, read_one


@pytest.fixture
def plan(ward):
    return planned(ward.release)


def test_a_begun_note_is_resumed_and_others_get_another(ward, plan):
    first, second = reading.next_note(plan=plan, user=ward.rev), reading.next_note(plan=plan, user=ward.rev2)
    assert (first.position, second.position) == (1, 2) and reading.next_note(plan=plan, user=ward.rev).pk == first.pk
    # A mark keeps the note.
    models.AuditNote.objects.filter(reader=ward.rev).update(leased_until=timezone.now() + timedelta(seconds=5))
    reading.mark(note=reading.reading_note(plan, ward.rev), start=40, end=60, label="DOCTOR", user=ward.rev)
    assert reading.reading_note(plan, ward.rev).leased_until > timezone.now() + reading.LEASE - timedelta(minutes=1)
    # An abandoned note goes to somebody else without its marks.
    models.AuditNote.objects.filter(reader=ward.rev2).update(state=models.AuditNoteState.DONE)
    models.AuditNote.objects.filter(pk=first.pk).update(leased_until=timezone.now() - timedelta(seconds=1))
    assert reading.next_note(plan=plan, user=ward.rev2).pk == first.pk and not models.AuditMark.objects.exists()
    with pytest.raises(ServiceError, match="no longer yours"):
        reading.finish(note=models.AuditNote.objects.get(pk=first.pk), user=ward.rev)


def test_people_get_notes_that_they_did_not_annotate(ward, plan):
    make.make_set(plan.notes.get(position=1).note.document, ward.rev, submitted=True)
    assert reading.next_note(plan=plan, user=ward.rev).position == 2
    # Where nothing else is left, they read their own.
    plan.notes.filter(position__gt=2).update(state=models.AuditNoteState.DONE)
    reading.finish(note=models.AuditNote.objects.get(position=2), user=ward.rev)
    assert reading.next_note(plan=plan, user=ward.rev).position == 1


def test_a_leak_is_a_finding_of_the_release_and_holds_its_note_back(ward, plan):
    note = read_one(plan, ward.rev, "dott. Bianchi")
    reading.finish(note=note, user=ward.rev)  # once more changes nothing
    assert models.Event.objects.filter(verb=events.AUDIT_NOTE_FINISHED).count() == 1
    assert models.AuditNote.objects.filter(state="done").count() == 1
    [made] = models.AuditMark.objects.all()
    assert note.note.document.text[made.start : made.end] == "dott. Bianchi" and made.leak is True
    finding = models.LeakFinding.objects.get()
    assert made.finding == finding and finding.origin == models.LeakFinding.Origin.AUDIT and not finding.decision
    assert note.note.text[finding.start : finding.end] == "dott. Bianchi"
    assert models.ReleasedNote.objects.get(pk=note.note_id).state == models.ReleasedNoteState.HELD
    assert models.Release.objects.get().revision == 1
    # The last note can be reopened.
    models.AuditPlan.objects.update(state=models.AuditPlanState.OPEN)
    plan.refresh_from_db()
    reading.next_note(plan=plan, user=ward.rev)
    assert reading.reopen(plan=plan, user=ward.rev).pk == note.pk
    assert not models.LeakFinding.objects.exists() and models.AuditMark.objects.get().leak is None
    assert models.ReleasedNote.objects.get(pk=note.note_id).state == models.ReleasedNoteState.DONE
    assert models.AuditNote.objects.filter(state="reading").count() == 1
    reading.unmark(note=note, mark=models.AuditMark.objects.get().pk, user=ward.rev)
    reading.finish(note=note, user=ward.rev)
    assert not models.LeakFinding.objects.exists()


def test_marks(ward, plan):
    reading.next_note(plan=plan, user=ward.rev)
    note = reading.reading_note(plan, ward.rev)
    at = shown_of(note).text.index(" Bianchi")
    made = reading.mark(note=note, start=at, end=at + 8, label="PATIENT", user=ward.rev)  # with a space before it
    assert note.note.document.text[made.start : made.end] == "Bianchi"
    again = reading.mark(note=note, start=at + 1, end=at + 8, label="DOCTOR", user=ward.rev)
    assert again.pk == made.pk and models.AuditMark.objects.get().label == "DOCTOR"
    for start, end, label, reason in [
        (0, 9, "DOCTOR", "already replaced"), (at, at + 1, "DOCTOR", "not only spaces"),
        (5, 5, "DOCTOR", "Select text"), (5, 999, "DOCTOR", "Select text"),
        (at, at + 8, "NOBODY", "label of the project"),
    ]:  # fmt: skip
        with pytest.raises(ServiceError, match=reason):
            reading.mark(note=note, start=start, end=end, label=label, user=ward.rev)
    with pytest.raises(ServiceError, match="no longer yours"):
        reading.mark(note=note, start=at, end=at + 8, label="DOCTOR", user=ward.rev2)
    reading.unmark(note=note, mark=made.pk, user=ward.rev)
    reading.unmark(note=note, mark=made.pk, user=ward.rev)
    assert not models.AuditMark.objects.exists()


def test_planted_leaks_are_counted_and_are_no_leaks(ward):
    plan = planned(ward.release, planted=0.5, target=0.3)
    found = missed = 0
    while plan.state == "open" and (taken := reading.next_note(plan=plan, user=ward.rev)) is not None:
        note = reading.reading_note(plan, ward.rev)
        if note.planted_start is not None and found < 3:
            start, end = shown_of(note).to_shown(note.planted_start, note.planted_end)
            reading.mark(note=note, start=start, end=end, label="CITY", user=ward.rev)
            found += 1
        elif note.planted_start is not None:
            missed += 1
        reading.finish(note=taken, user=ward.rev)
        plan.refresh_from_db()
    result = audit_result(ward.release)
    assert (result.planted, result.planted_found, result.leaks) == (found + missed, found, 0)
    assert not models.LeakFinding.objects.exists() and not models.ReleasedNote.objects.filter(state="held").exists()


def test_notes_count_in_the_order_of_the_sample(ward, plan):
    """An auditor who is slow keeps the bound waiting, so that the order in which people finish means nothing."""
    slow = reading.next_note(plan=plan, user=ward.rev2)
    for _note in range(plan.drawn - 1):
        read_one(plan, ward.rev)
    assert plan.state == models.AuditPlanState.OPEN and reading.next_note(plan=plan, user=ward.rev) is None
    reading.finish(note=slow, user=ward.rev2)
    assert make.reread(plan).state == models.AuditPlanState.MET
    with pytest.raises(ServiceError, match="The audit has ended"):
        reading.next_note(plan=plan, user=ward.rev)
    result = audit_result(ward.release)
    assert result.complete and result.met and result.bound == 0.1 and result.recall is None
    assert {one.user.username: one.read for one in result.auditors} == {"rita": 17, ward.rev2.username: 1}


def test_a_counted_note_cannot_be_reopened(ward):
    plan = planned(ward.release, leaks=1, target=0.15)
    for _note in range(sum(plan.looks[0].values())):
        read_one(plan, ward.rev, *(["Bianchi"] if _note == 0 else []))
    assert plan.state == models.AuditPlanState.OPEN and reading.last_finished(plan, ward.rev) is None
    with pytest.raises(ServiceError, match="can't be reopened"):
        reading.reopen(plan=plan, user=ward.rev)


@pytest.mark.parametrize("state", ["signed", "withdrawn"])
def test_nothing_is_read_of_a_release_that_is_closed(ward, plan, state):
    reading.next_note(plan=plan, user=ward.rev)
    models.Release.objects.update(state=state)
    with pytest.raises(ServiceError, match="has ended"):
        reading.next_note(plan=plan, user=ward.rev2)
    with pytest.raises(ServiceError, match="has ended"):
        reading.finish(note=reading.reading_note(plan, ward.rev), user=ward.rev)


# Decisions about leaks: replace, accept, no identifier, undo; and what they change.


@pytest.fixture
def leak(ward):
    """A mark in the second note, which has ended the audit."""
    plan = planned(ward.release)
    read_one(plan, ward.rev)
    read_one(plan, ward.rev, "Bianchi")
    assert plan.state == models.AuditPlanState.UNMET
    return models.AuditMark.objects.select_related("note__plan__release__project", "note__note").get()


def released(leak):
    return models.ReleasedNote.objects.get(pk=leak.note.note_id)


def test_replacing_prepares_the_note_again_and_still_counts(ward, leak):
    reading.decide_leak(mark=leak, answer="replace", actor=ward.mia)
    row = released(leak)
    assert "Bianchi" not in row.text and row.text.endswith("[DOCTOR].") and row.state == models.ReleasedNoteState.DONE
    result = audit_result(ward.release)
    assert result.leaks == 1 and result.undecided == 0 and result.accepted == []
    assert make.reread(ward.release).content_hash


def test_what_is_no_identifier_does_not_count_and_reading_goes_on(ward, leak):
    reading.decide_leak(mark=leak, answer="dismiss", actor=ward.mia)
    result = audit_result(ward.release)
    assert result.leaks == 0 and result.accepted == [] and not result.complete
    assert models.AuditPlan.objects.get().state == models.AuditPlanState.OPEN
    assert released(leak).state == models.ReleasedNoteState.DONE
    leak.refresh_from_db()
    reading.decide_leak(mark=leak, answer="undo", actor=ward.mia)
    assert models.AuditPlan.objects.get().state == models.AuditPlanState.UNMET
    assert released(leak).state == models.ReleasedNoteState.HELD
    assert models.Event.objects.filter(verb__in=[events.AUDIT_LEAK_DISMISSED, events.AUDIT_LEAK_RESTORED]).count() == 2


def test_another_decision_replaces_the_first(ward, leak):
    for _time in range(2):  # the second time changes nothing
        reading.decide_leak(mark=leak, answer="dismiss", actor=ward.mia)
        leak.refresh_from_db()
    assert models.Event.objects.filter(verb=events.AUDIT_LEAK_DISMISSED).count() == 1
    reading.decide_leak(mark=leak, answer="replace", actor=ward.mia)
    assert models.LeakFinding.objects.get().decision == "replace"
    assert models.AuditMark.objects.get().dismissed_at is None and audit_result(ward.release).leaks == 1


def test_a_leak_stays_open_when_its_note_is_prepared_again(ward, leak):
    """Another decision prepares the note again. What a person has marked is decided by a person."""
    finding = models.LeakFinding.objects.get()
    other = models.LeakFinding.objects.create(
        note=finding.note, start=11, end=18, original_start=13, original_end=20, origin="denied", label="PATIENT",
        string_key=5,
    )  # fmt: skip
    ward.release.refresh_from_db()
    answer_chosen(release=ward.release, findings=[other.pk], answer="replace", actor=ward.mia)
    finding.refresh_from_db()
    row = released(leak)
    assert not finding.decision and row.state == models.ReleasedNoteState.HELD
    assert row.text[finding.start : finding.end] == "Bianchi" and "54 anni" not in row.text


# Planning an audit: the sample, its strata, planted leaks, and who may do it when.


def test_a_plan_draws_the_notes_that_its_target_needs(ward):
    plan = planned(ward.release, target=0.1)
    # Of 40 notes, 5 with a leak must be excluded: 18 notes are enough.
    assert plan.drawn == plan.notes.count() == 18
    assert list(plan.notes.values_list("position", flat=True)) == list(range(1, 19))
    event = models.Event.objects.get(verb=events.AUDIT_PLANNED)
    assert event.data["drawn"] == 18 and event.data["notes"] == 40 and "seed" not in event.data


def test_the_seed_repeats_the_draw(ward):
    first = planned(ward.release)
    notes = list(first.notes.values_list("note_id", flat=True))
    seed = first.seed
    discard_plan(release=ward.release, actor=ward.mia)
    again = plan_audit(release=ward.release, choices=Choices(target=0.1, planted=0), actor=None, seed=seed)
    assert list(again.notes.values_list("note_id", flat=True)) == notes
    assert models.Event.objects.filter(verb=events.AUDIT_DISCARDED).count() == 1


@pytest.mark.parametrize(("by", "strata"), [
    ("language", {"en": 10, "it": 30}), ("type", {"letter": 20, "report": 20}), ("site", {"Nord": 40}), ("", {"": 40})
])  # fmt: skip
def test_strata(ward, by, strata):
    plan = planned(ward.release, by=by)
    assert {name: one["notes"] for name, one in plan.strata.items()} == strata
    drawn = Counter(plan.notes.values_list("stratum", flat=True))
    assert drawn == plan.looks[-1] and all(n >= 10 for n in drawn.values())


def test_planted_leaks_are_real_identifiers_of_the_same_note(ward):
    plan = planned(ward.release, planted=0.2, target=0.2)
    planted = list(plan.notes.exclude(planted_start=None).select_related("note__document", "note__release"))
    assert len(planted) == round(0.2 * plan.drawn)
    for row in planted:
        page = shown_of(row)
        words = row.note.document.text[row.planted_start : row.planted_end]
        assert words in page.text and words not in row.note.text
    # What is planted depends on the project's key, and is stored nowhere but in the rows of the audit.
    assert not models.ReleasedNote.objects.filter(text__contains="Rossi").exists()


def test_plans_that_are_refused(ward):
    def refused(match, **choices):
        with pytest.raises(ServiceError, match=match):
            planned(ward.release, **choices)

    for choices in ({"target": 0.9}, {"confidence": 0.2}, {"planted": 0.8}, {"leaks": 3}, {"by": "ward"}):
        refused(None, **choices)
    for number, note in enumerate(models.Document.objects.filter(project=ward.project)):
        note.language = f"l{number}"
        note.save(update_fields=["language"])
    refused("at most 30 strata", by="language")
    models.ReleasedNote.objects.update(pieces=[])
    refused("No note of the sample has a replaced identifier", planted=0.1)
    models.ReleasedNote.objects.filter(pk=ward.release.notes.first().pk).update(state="held")
    refused("Notes held back: 1")
    for state in ("preparing", "signed", "withdrawn"):
        models.Release.objects.update(state=state)
        refused("while a release is prepared")
    assert not models.AuditPlan.objects.exists()


def test_the_plan_cannot_be_discarded_once_somebody_has_opened_a_note(ward):
    plan = planned(ward.release)
    with pytest.raises(ServiceError, match="has an audit already"):
        planned(ward.release)
    reading.next_note(plan=plan, user=ward.rev)
    with pytest.raises(ServiceError, match="Reading has begun"):
        discard_plan(release=ward.release, actor=ward.mia)
    assert models.AuditNote.objects.exists()


def test_the_number_of_queries_does_not_grow_with_the_release(ward, django_assert_max_num_queries):
    with django_assert_max_num_queries(25):
        planned(ward.release, planted=0.1)


# The result of an audit, as the certificate states it; and what an erasure leaves of it.


def test_before_the_first_look_there_is_no_bound(ward):
    assert audit_result(ward.release) is None
    read_one(planned(ward.release, planted=0.2), ward.rev)
    result = audit_result(ward.release)
    assert result.bound == 1.0 and result.recall == 0.0 and result.counted == 0 and not result.complete
    assert result.read == 1 and result.notes == 40
    assert {(rate.leaks, rate.read, rate.bound) for rate in result.labels.values()} == {(0, 0, 1.0)}
    assert "no upper bound of the share of notes with a leak (95% confidence)" in bound_in_words(result)
    said = "At most 5.0% of the notes contain a leak (95% confidence)."
    assert bound_in_words(replace(result, bound=0.0491)) == said


def test_strata_and_labels_have_bounds_of_their_own(ward):
    plan = planned(ward.release, by="type", leaks=2, target=0.25)
    while plan.state == models.AuditPlanState.OPEN:
        read_one(plan, ward.rev, *(["Bianchi"] if plan.notes.filter(state="done").count() == 3 else []))
    result = audit_result(ward.release)
    assert result.met and result.plan.by == "type" and set(result.strata) == {"letter", "report"}
    assert sum(rate.leaks for rate in result.strata.values()) == result.leaks == 1
    for rate in result.strata.values():
        assert result.bound < rate.bound < 1 and rate.read >= 10
    # AGE is kept by the policy, and nobody marked it.
    assert set(result.labels) == {"PATIENT", "DOCTOR", "DATE", "CITY", "HOSPITAL"}
    assert result.labels["DOCTOR"].leaks == 1 and result.labels["CITY"].leaks == 0
    assert result.labels["CITY"].bound < result.labels["DOCTOR"].bound
    assert result.method == "Clopper-Pearson bound, stratified sample; 3 planned looks"


METHODS = [
    (0, 0.0, "exact hypergeometric bound, simple random sample"),
    (0, 0.2, "exact hypergeometric bound, simple random sample; corrected by the auditors' recall"),
    (30, 0.0, "Clopper-Pearson bound, patients as clusters"),
]


@pytest.mark.parametrize(("patients", "planted", "method"), METHODS)
def test_methods(ward, patients, planted, method):
    release = make_release(ward.project, notes=60, patients=patients)
    planned(release, planted=planted, target=0.2)
    assert audit_result(release).method == method


def test_an_erasure_takes_the_rows_and_is_counted(ward):
    plan = planned(ward.release)
    note = read_one(plan, ward.rev)
    waiting = plan.notes.get(position=5)
    models.Document.objects.filter(pk__in=[note.note.document_id]).update(patient_id="P-1")
    erase_patient(project=ward.project, patient_id="P-1", actor=ward.mia)
    delete_note(project=ward.project, note=waiting.note.document_id, actor=ward.mia)
    assert make.reread(plan).erased_count == 2 and models.AuditNote.objects.count() == plan.drawn - 2
    assert not models.AuditMark.objects.exists()
    for _note in range(plan.drawn - 2):
        read_one(plan, ward.rev)
    result = audit_result(ward.release)
    # 16 notes are not enough for what 18 were planned to show.
    assert result.complete and not result.met and 0.1 < result.bound < 0.15
    assert result.plan.erased_count == 2 and result.read == 16
