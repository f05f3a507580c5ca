"""Erasing a patient empties the reasons on other notes that name the patient."""

import pytest

from annotations.models import Span
from annotations.ops.selectors.free_texts import free_texts
from annotations.ops.services.erasing import erase_patient
from models_runtime.models import RefinedItem, Refinement
from tests import factories as make

pytestmark = pytest.mark.django_db
NAMED = ["The same woman as Rossi.", "See P-778812.", "The sister of mario rossi"]
OTHERS = ["A city, not a name.", "of an eponym: the rossini"]


def test_reasons_that_name_an_erased_patient_are_emptied():
    project = make.make_project("ward")
    refined = make.make_author(project, kind="refined", name="refined-1")
    row = Refinement.objects.create(
        project=project, source=make.make_author(project, kind="run", name="r"), author=refined, method="offline"
    )
    make.make_set(make.make_note(project, patient_id="P-778812"), row.source, [(0, 11, "PATIENT")])  # Mario Rossi
    note = make.make_note(project, patient_id="P-2")
    made = make.make_set(note, refined, [(at, at + 2, "AGE") for at in range(len(NAMED + OTHERS))])
    for number, (span, reason) in enumerate(zip(made.spans.order_by("start"), NAMED + OTHERS, strict=True)):
        Span.objects.filter(pk=span.pk).update(provenance={"refined": {"action": "keep", "was": [], "reason": reason}})
        about = {"number": number, "start": 0, "end": 2, "label": "AGE", "reason": reason}
        RefinedItem.objects.create(refinement=row, document=note, **about)
    erase_patient(project=project, patient_id="P-778812", actor=None)
    left = [""] * len(NAMED) + OTHERS
    assert list(RefinedItem.objects.order_by("number").values_list("reason", flat=True)) == left
    spans = made.spans.order_by("start").values_list("provenance", flat=True)
    assert [one["refined"]["reason"] for one in spans] == left
    listed = {text.what: text.count for text in free_texts(project)}
    assert listed["Reasons of refiners for their decisions"] == len(OTHERS)
