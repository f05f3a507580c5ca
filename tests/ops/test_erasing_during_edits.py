"""A patient is erased while somebody works on one of the patient's notes."""

import uuid
from types import SimpleNamespace

import pytest

from annotations.annotate.services import seeding
from annotations.gold.services import making
from annotations.gold.services.making import make_gold
from annotations.models import AnnotationSet, Assignment, Handover, Project, Span
from annotations.models.project import SecondReview
from annotations.projects.services import labels as label_services
from annotations.projects.services.labels import merge_labels
from annotations.review.services import handover
from annotations.review.services.deciding import Request, decide
from annotations.review.services.finishing import finish_review, reopen_review
from annotations.review.services.log import Act
from tests import factories as make
from tests.ops.erasing_world import Meanwhile, world

__all__ = ["world"]  # the fixture
pytestmark = [pytest.mark.queue, pytest.mark.django_db(transaction=True)]


def test_gold_of_one_annotation_set(world, monkeypatch):
    Span.objects.filter(annotation_set__author__kind="gold").delete()
    annotation_set = world.notes[0].annotation_sets.get(author__user=world.ann)
    meanwhile = Meanwhile(world, monkeypatch, making, "gold_author")
    make_gold(document=world.notes[0], annotation_set=annotation_set, actor=world.mia, replace=True)
    meanwhile.check()


def test_an_annotation_set_that_begins_from_a_run(world, client, monkeypatch):
    run = make.make_author(world.project, kind="run", name="rules-1")
    make.make_set(world.notes[0], run, [(0, 11, "PATIENT")], submitted=True)
    Project.objects.update(seed_from=run)
    eve = make.make_member(world.project, user="eve")
    Assignment.objects.create(project=world.project, document=world.notes[0], user=eve)
    client.force_login(eve)
    meanwhile = Meanwhile(world, monkeypatch, seeding, "_copy")
    assert client.post(f"/projects/covid/notes/{world.notes[0].pk}/start").status_code in (200, 302, 404)
    meanwhile.check()


def test_a_merge_of_labels(world, monkeypatch):
    meanwhile = Meanwhile(world, monkeypatch, label_services, "relabel_strings")
    source, target = (make.label_of(world.project, name) for name in ("PATIENT", "DOCTOR"))
    merge_labels(source=source, target=target, actor=world.mia)
    meanwhile.check()
    assert set(Span.objects.values_list("label", flat=True)) == {target.pk}


@pytest.fixture
def handed(world):
    """The patient's note in a project with blind second review. `finish()` lets mia finish the first review."""
    world.project.second_review = SecondReview.BLIND
    world.project.save()
    AnnotationSet.objects.filter(author__kind="gold").delete()
    run = make.make_author(world.project, kind="run", name="rules-1")
    suggested = make.make_set(world.notes[0], run, [(0, 11, "PATIENT")], submitted=True)

    def finish():
        request = Request(change_id=uuid.uuid4(), act=Act.ACCEPT, suggestion=suggested.spans.get().pk)
        decide(document=world.notes[0], author=run, user=world.mia, request=request)
        finish_review(document=world.notes[0], author=run, user=world.mia)

    return SimpleNamespace(run=run, finish=finish)


def test_a_note_that_is_handed_over(world, handed, monkeypatch):
    meanwhile = Meanwhile(world, monkeypatch, handover, "_put_aside")
    handed.finish()
    meanwhile.check()
    assert not Handover.objects.exists()


def test_a_note_that_is_reopened(world, handed, monkeypatch):
    handed.finish()
    meanwhile = Meanwhile(world, monkeypatch, handover, "_bring_back")
    reopen_review(document=world.notes[0], author=handed.run, user=world.mia)
    meanwhile.check()
    assert not Handover.objects.exists()
