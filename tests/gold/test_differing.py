"""The overview says how the gold differs from the last version. It reads only notes whose gold was changed since."""

import uuid

import pytest
from django.urls import reverse

from annotations.gold.selectors import change_since
from annotations.gold.services import differing
from annotations.gold.services.making import freeze, make_gold, withdraw_gold
from annotations.models import AnnotationSet, BulkAct, Figures, Label, Project
from annotations.ops.services.erasing import erase_patient
from annotations.projects.services.labels import merge_labels
from annotations.review.services.deciding import Request, decide
from annotations.review.services.finishing import finish_review, reopen_review
from annotations.review.services.log import Act
from tests import factories as make
from tests.gold.test_changes_since import ROSSI, TORINO, frozen, gold_of, made_frozen
from tests.projects.overview_pages import rows, show, stages

__all__ = ["frozen", "made_frozen"]


@pytest.fixture
def differs(frozen, sign_in):
    """`differs(strip, need)`: what the overview says, which agrees with the comparison of the whole gold."""
    Project.objects.update(guidelines="Mark names.")
    client = sign_in(frozen.mia)

    def check(strip, need):
        for _ in range(2):  # computed, then stored
            html = show(client)
            (stage,) = [name for name in stages(html) if name.startswith("Frozen")]
            assert stage == f"Frozen v{frozen.version.number} {strip}"
            needs = [text for text in rows(html, "Needs you") if text.startswith("The gold of")]
            assert needs == ([need] if need else [])
        change, found = change_since(frozen.project, frozen.version), differing.difference(frozen.version)
        assert found.notes == change.touched + change.removed
        stored, _ = differing._counted(frozen.version, sets_of(frozen.project), {})
        assert stored == (found.spans, found.labels, found.notes), "as if nothing had been stored"

    return check


def sets_of(project):
    rows = AnnotationSet.objects.filter(author__project=project, author__kind="gold", state="submitted")
    return {note: (pk, version) for note, pk, version in rows.values_list("document_id", "pk", "version")}


def replace(world, note, spans, name):
    other = make.make_set(note, make.make_author(world.project, kind="run", name=name), spans, submitted=True)
    make_gold(document=note, annotation_set=other, actor=world.rev, replace=True)


def test_spans_and_labels_that_differ(frozen, differs):
    differs("same as the current gold", "")
    replace(frozen, frozen.five[0], [ROSSI], "one")
    differs("1 span differs", "The gold of 1 note differs from version 1. In total, 1 span differs.")
    replace(frozen, frozen.five[1], [ROSSI, (19, 25, "HOSPITAL")], "two")
    differs(
        "2 spans differ, 1 only in their labels",
        "The gold of 2 notes differs from version 1. In total, 2 spans differ, 1 only in their labels.",
    )
    replace(frozen, frozen.five[0], [ROSSI, TORINO], "three")
    differs(
        "1 span differs, in its label",
        "The gold of 1 note differs from version 1. In total, 1 span differs, in its label.",
    )
    replace(frozen, frozen.five[1], [ROSSI, TORINO], "four")
    differs("same as the current gold", "")


def test_notes_that_are_new_or_removed(frozen, differs):
    make_gold(document=frozen.five[4], annotation_set=frozen.anns[4], actor=frozen.rev)
    differs("2 spans differ", "The gold of 1 note differs from version 1. In total, 2 spans differ.")
    withdraw_gold(document=frozen.five[0], actor=frozen.rev)
    differs("4 spans differ", "The gold of 2 notes differs from version 1. In total, 4 spans differ.")
    withdraw_gold(document=frozen.five[4], actor=frozen.rev)
    replace(frozen, frozen.five[4], [], "empty")
    make_gold(document=frozen.five[0], annotation_set=frozen.anns[0], actor=frozen.rev)
    differs("1 note differs", "The gold of 1 note differs from version 1.")


def test_a_merged_label(frozen, differs):
    differs("same as the current gold", "")
    labels = {label.code: label for label in Label.objects.filter(label_set__project=frozen.project)}
    merge_labels(source=labels["CITY"], target=labels["HOSPITAL"], actor=None)
    differs(
        "4 spans differ, all in their labels only",
        "The gold of 4 notes differs from version 1. In total, 4 spans differ, all in their labels only.",
    )


def test_reviews_and_bulk_acts(frozen, differs):
    note = frozen.five[4]
    ids = list(frozen.run.annotation_sets.get(document=note).spans.values_list("pk", flat=True))
    finish_review(document=note, author=frozen.run, user=frozen.rev, rest=set(ids))
    differs("2 spans differ", "The gold of 1 note differs from version 1. In total, 2 spans differ.")
    reopen_review(document=note, author=frozen.run, user=frozen.rev)
    differs("2 spans differ", "The gold of 1 note differs from version 1. In total, 2 spans differ.")
    request = Request(change_id=uuid.uuid4(), act=Act.REJECT, suggestion=ids[0])
    decide(document=note, author=frozen.run, user=frozen.rev, request=request)
    finish_review(document=note, author=frozen.run, user=frozen.rev)
    differs("1 span differs", "The gold of 1 note differs from version 1. In total, 1 span differs.")


def test_a_bulk_act_and_its_undo(frozen, differs):
    wrong = frozen.five[0]
    gold_of(wrong).spans.get(start=19).delete()
    frozen.version = freeze(project=frozen.project, actor=frozen.rev)[0]
    differs("same as the current gold", "")
    planned = {"kind": "threshold", "runs": [frozen.run.pk], "least": "90", "agree": "2", "act": "accept"}
    frozen.client.post(reverse("review_bulk_new", args=["covid"]), planned)
    bulk = BulkAct.objects.get()
    frozen.client.post(reverse("bulk_start", args=["covid", bulk.pk]), {"with_gold": "1"})
    differs("1 span differs", "The gold of 1 note differs from version 2. In total, 1 span differs.")
    frozen.client.post(reverse("bulk_undo", args=["covid", bulk.pk]))
    differs("same as the current gold", "")


def test_an_erased_note_is_no_difference(frozen, differs):
    frozen.five[0].patient_id = "p"
    frozen.five[0].save()
    differs("same as the current gold", "")
    erase_patient(project=frozen.project, patient_id="p", actor=None)
    frozen.version.refresh_from_db()
    differs("same as the current gold", "")


def test_figures_that_an_erasure_deleted_are_counted_again(frozen):
    assert differing.difference(frozen.version).notes == 0
    Figures.objects.all().delete()
    withdraw_gold(document=frozen.five[0], actor=frozen.rev)
    assert differing.difference(frozen.version) == differing.Difference(2, 0, 1)
