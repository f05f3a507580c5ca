"""What a training holds out also tells how sure its model may be; what it learned from never does."""

import io
import json
from unittest.mock import patch

import pytest
from django.core.management import call_command
from django.urls import reverse

from annotations.core.errors import ServiceError
from annotations.jobs.runner import run as work
from annotations.models import GoldVersionNote, Span
from models_runtime.calibration.jobs import calibration_by
from models_runtime.models import Calibration, Run
from models_runtime.runs.services.runs import start_run
from tests import factories as make
from tests.worlds.checks import check_page

pytestmark = [pytest.mark.queue, pytest.mark.once]


@pytest.fixture
def few(monkeypatch):
    """So that sixteen spans are enough."""
    monkeypatch.setattr("annotations.domain.calibration.fitting.LEAST", 10)


def ran(world, model, key="r"):
    run = start_run(project=world.project, backend=f"model:{model.pk}", actor=world.manager, key=key)
    work(run.job_id)
    return Run.objects.select_related("calibration", "author", "model__gold_version").get(pk=run.pk)


def test_a_model_is_calibrated_by_what_its_training_held_out(world, trained, few, client):
    model, _ = trained()
    made = Calibration.objects.get()
    assert (made.held_out, made.model, made.backend) == (True, model, f"model:{model.pk}")
    assert (made.notes, made.gold_hash) == (4, world.version.content_hash)
    assert 10 <= made.figures["before"]["spans"] <= 30
    run = ran(world, model)
    assert run.full_revision == f"{made.revision}+{made.word}"
    assert not Span.objects.filter(annotation_set__author=run.author, raw_confidence=None).exists()
    client.force_login(world.viewer)
    html = check_page(client.get(reverse("model", args=["ward", model.pk])))
    assert "plot-calibrated" in html and reverse("calibration", args=["ward", made.pk]) in html
    html = check_page(client.get(reverse("calibration", args=["ward", made.pk])))
    assert "that its training held out" in html


def test_too_few_spans_held_out_are_said(world, trained, client):
    model, _ = trained()
    assert not Calibration.objects.exists()
    client.force_login(world.viewer)
    html = check_page(client.get(reverse("model", args=["ward", model.pk])))
    assert "on the notes held out are too few" in html
    assert ran(world, model).full_revision == ran(world, model, "b").revision


@pytest.mark.parametrize("card_knows", [True, False])
def test_notes_that_it_learned_from_never_count(world, trained, few, card_knows):
    model, _ = trained()
    run = ran(world, model)
    if not card_knows:  # a model of before cards said so
        run.model.card.pop("held_out_notes")
    made = calibration_by(run, world.version)
    assert (made.notes, made.left_out) == (4, {"test": 0, "learned": 16})
    assert made.revision == run.revision
    with patch.dict(run.model.card, {"held_out_notes": []}), pytest.raises(ServiceError, match="its model learned"):
        calibration_by(run, world.version)
    assert GoldVersionNote.objects.filter(version=world.version).count() == 20


def test_a_comparison_on_notes_that_a_model_learned_from_says_so(world, trained, client):
    model, _ = trained()
    run = ran(world, model)
    other = make.make_author(world.project, kind="run", name="x")
    for note in GoldVersionNote.objects.select_related("document"):
        make.make_set(note.document, other, submitted=True)
    out = io.StringIO()
    call_command("compare_runs", "ward", "--gold", "1", "--runs", f"run:{run.author.name},run:x", "--json", stdout=out)
    assert [one["notes_learned_from"] for one in json.loads(out.getvalue())["runs"]] == [16, 0]
    client.force_login(world.viewer)
    there = reverse("runs_compare", args=["ward"]) + f"?gold=1&a={run.author_id}&a={other.pk}"
    assert "learned from 16 of these notes" in check_page(client.get(there))
