"""Previews: one note as a release would show it. Nothing is stored."""

import pytest

from annotations.core.errors import ServiceError
from annotations.models import LeakFinding, ReleasedNote, ReleasePolicy, SurrogateEntity
from annotations.release.services.policies import policies_of
from annotations.release.services.previewing import preview
from tests import factories as make
from tests.release.conftest import add_note


def shown(ward, name, slug):
    policy = next(policy for policy in policies_of(ward.project) if policy.slug == slug)
    return preview(project=ward.project, set_spec="gold", policy=policy, document=ward.notes[name])


@pytest.mark.parametrize("slug", ["mask", "surrogate"])
def test_a_preview_stores_nothing(ward, slug):
    found = shown(ward, "en-2", slug)
    assert found.text == ward.notes["en-2"].text and len(found.spans) == len(found.released.pieces) == 4
    assert "Wilson" not in found.released.text and not found.leaks
    for model in (ReleasePolicy, ReleasedNote, LeakFinding, SurrogateEntity):
        assert not model.objects.exists()


def test_the_leak_gate_reads_the_patients_other_notes(ward):
    ward.notes["x"] = add_note(ward.project, "x", "Fairview is far.\n", language="en", patient_id="P-00417")
    (leak,) = shown(ward, "x", "mask").leaks
    assert (leak.start, leak.end, leak.origin, leak.document) == (0, 8, "patient", ward.notes["en-1"].pk)


def test_a_note_without_such_annotations(ward):
    ward.notes["bare"] = make.make_note(ward.project)
    with pytest.raises(ServiceError) as refused:
        shown(ward, "bare", "mask")
    assert refused.value.code == "empty"
