"""Planning an audit: the sample, its strata, planted leaks, and who may do it when."""

from collections import Counter

import pytest

from annotations.core.errors import ServiceError
from annotations.models import AuditNote, AuditPlan, Document, Event, Release, ReleasedNote
from annotations.release.events import AUDIT_DISCARDED, AUDIT_PLANNED
from annotations.release.selectors.audits import Choices, shown_of
from annotations.release.services.audits.planning import discard_plan, plan_audit
from annotations.release.services.audits.reading import next_note
from tests.worlds.audited import make_release, planned


def test_a_plan_draws_the_notes_that_its_target_needs(ward):
    plan = planned(ward.release, target=0.1)
    # Of 40 notes, 5 with a leak must be excluded: 18 notes are enough.
    assert plan.drawn == plan.notes.count() == 18
    assert list(plan.notes.values_list("position", flat=True)) == list(range(1, 19))
    event = Event.objects.get(verb=AUDIT_PLANNED)
    assert event.data["drawn"] == 18 and event.data["notes"] == 40 and "seed" not in event.data


def test_the_seed_repeats_the_draw(ward):
    first = planned(ward.release)
    notes = list(first.notes.values_list("note_id", flat=True))
    seed = first.seed
    discard_plan(release=ward.release, actor=ward.mia)
    again = plan_audit(release=ward.release, choices=Choices(target=0.1, planted=0), actor=None, seed=seed)
    assert list(again.notes.values_list("note_id", flat=True)) == notes
    assert Event.objects.filter(verb=AUDIT_DISCARDED).count() == 1


@pytest.mark.parametrize(("by", "strata"), [
    ("language", {"en": 10, "it": 30}), ("type", {"letter": 20, "report": 20}), ("site", {"Nord": 40}), ("", {"": 40}),
])  # fmt: skip
def test_strata(ward, by, strata):
    plan = planned(ward.release, by=by)
    assert {name: one["notes"] for name, one in plan.strata.items()} == strata
    drawn = Counter(plan.notes.values_list("stratum", flat=True))
    assert drawn == plan.looks[-1] and all(n >= 10 for n in drawn.values())


def test_a_sample_has_one_note_of_each_patient(ward):
    release = make_release(ward.project, notes=60, patients=30)
    plan = planned(release, target=0.2)
    assert plan.drawn <= 30
    patients = list(plan.notes.values_list("note__document__patient_id", flat=True))
    assert len(set(patients)) == len(patients)
    assert plan.strata[""]["simple"] is False


def test_planted_leaks_are_real_identifiers_of_the_same_note(ward):
    plan = planned(ward.release, planted=0.2, target=0.2)
    planted = list(plan.notes.exclude(planted_start=None).select_related("note__document", "note__release"))
    assert len(planted) == round(0.2 * plan.drawn)
    for row in planted:
        page = shown_of(row)
        words = row.note.document.text[row.planted_start : row.planted_end]
        assert words in page.text and words not in row.note.text
    # What is planted depends on the project's key, and is stored nowhere but in the rows of the audit.
    assert not ReleasedNote.objects.filter(text__contains="Rossi").exists()


def test_plans_that_are_refused(ward):
    def refused(match, **choices):
        with pytest.raises(ServiceError, match=match):
            planned(ward.release, **choices)

    for choices in ({"target": 0.9}, {"confidence": 0.2}, {"planted": 0.8}, {"leaks": 3}, {"by": "ward"}):
        refused(None, **choices)
    for number, note in enumerate(Document.objects.filter(project=ward.project)):
        note.language = f"l{number}"
        note.save(update_fields=["language"])
    refused("at most 30 strata", by="language")
    ReleasedNote.objects.update(pieces=[])
    refused("No note of the sample has a replaced identifier", planted=0.1)
    ReleasedNote.objects.filter(pk=ward.release.notes.first().pk).update(state="held")
    refused("Notes held back: 1")
    for state in ("preparing", "signed", "withdrawn"):
        Release.objects.update(state=state)
        refused("while a release is prepared")
    assert not AuditPlan.objects.exists()


def test_the_plan_cannot_be_discarded_once_somebody_has_opened_a_note(ward):
    plan = planned(ward.release)
    with pytest.raises(ServiceError, match="has an audit already"):
        planned(ward.release)
    next_note(plan=plan, user=ward.rev)
    with pytest.raises(ServiceError, match="Reading has begun"):
        discard_plan(release=ward.release, actor=ward.mia)
    assert AuditNote.objects.exists()


def test_the_number_of_queries_does_not_grow_with_the_release(ward, django_assert_max_num_queries):
    with django_assert_max_num_queries(25):
        planned(ward.release, planted=0.1)
