"""The result of an audit, as the certificate states it; and what an erasure leaves of it."""

from dataclasses import replace

import pytest

from annotations.models import AuditMark, AuditNote, AuditPlanState, Document
from annotations.ops.services.erasing import delete_note, erase_patient
from annotations.release.selectors.audits import audit_result
from annotations.release.services.steps import bound_in_words
from tests.worlds.audited import make_release, planned, read_one


def test_before_the_first_look_there_is_no_bound(ward):
    assert audit_result(ward.release) is None
    plan = planned(ward.release, planted=0.2)
    read_one(plan, ward.rev)
    result = audit_result(ward.release)
    assert result.bound == 1.0 and result.recall == 0.0 and result.counted == 0 and not result.complete
    assert result.read == 1 and result.drawn == plan.drawn and result.notes == 40
    assert {(rate.leaks, rate.read, rate.bound) for rate in result.labels.values()} == {(0, 0, 1.0)}
    assert "no upper bound of the share of notes with a leak (95% confidence)" in bound_in_words(result)
    said = "At most 5.0% of the notes contain a leak (95% confidence)."
    assert bound_in_words(replace(result, bound=0.0491)) == said


def test_strata_and_labels_have_bounds_of_their_own(ward):
    plan = planned(ward.release, by="type", leaks=2, target=0.25)
    while plan.state == AuditPlanState.OPEN:
        read_one(plan, ward.rev, *(["Bianchi"] if plan.notes.filter(state="done").count() == 3 else []))
    result = audit_result(ward.release)
    assert result.met and result.by == "type" and set(result.strata) == {"letter", "report"}
    assert sum(rate.leaks for rate in result.strata.values()) == result.leaks == 1
    for rate in result.strata.values():
        assert result.bound < rate.bound < 1 and rate.read >= 10
    # AGE is kept by the policy, and nobody marked it.
    assert set(result.labels) == {"PATIENT", "DOCTOR", "DATE", "CITY", "HOSPITAL"}
    assert result.labels["DOCTOR"].leaks == 1 and result.labels["CITY"].leaks == 0
    assert result.labels["CITY"].bound < result.labels["DOCTOR"].bound
    assert result.method == "Clopper-Pearson bound, stratified sample; 3 planned looks"


@pytest.mark.parametrize(
    ("patients", "planted", "method"),
    [
        (0, 0.0, "exact hypergeometric bound, simple random sample"),
        (0, 0.2, "exact hypergeometric bound, simple random sample; corrected by the auditors' recall"),
        (30, 0.0, "Clopper-Pearson bound, patients as clusters"),
    ],
)
def test_methods(ward, patients, planted, method):
    release = make_release(ward.project, notes=60, patients=patients)
    planned(release, planted=planted, target=0.2)
    assert audit_result(release).method == method


def test_an_erasure_takes_the_rows_and_is_counted(ward):
    plan = planned(ward.release)
    note = read_one(plan, ward.rev)
    waiting = plan.notes.get(position=5)
    Document.objects.filter(pk__in=[note.note.document_id]).update(patient_id="P-1")
    erase_patient(project=ward.project, patient_id="P-1", actor=ward.mia)
    delete_note(project=ward.project, note=waiting.note.document_id, actor=ward.mia)
    plan.refresh_from_db()
    assert plan.erased_count == 2 and AuditNote.objects.count() == plan.drawn - 2
    assert not AuditMark.objects.exists()
    for _note in range(plan.drawn - 2):
        read_one(plan, ward.rev)
    result = audit_result(ward.release)
    # 16 notes are not enough for what 18 were planned to show.
    assert result.complete and not result.met and result.erased == 2 and result.read == 16
    assert 0.1 < result.bound < 0.15
