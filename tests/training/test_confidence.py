"""Held-out notes of a training calibrate its model; training notes never do."""

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

pytestmark = pytest.mark.queue


@pytest.fixture
def few(monkeypatch):
    """Lower the minimum, so that sixteen spans are enough."""
    monkeypatch.setattr("annotations.domain.calibration.fitting.LEAST", 10)


def ran(world, model, key="r"):
    run = start_run(project=world.project, backend=f"model:{model.pk}", actor=world.manager, key=key)
    work(run.job_id)
    return Run.objects.select_related("calibration", "author", "model__gold_version").get(pk=run.pk)


def test_a_model_is_calibrated_on_held_out_notes(world, trained, few, client):
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
    assert "held out from training" in html


def test_the_page_says_that_held_out_spans_are_too_few(world, trained, client):
    model, _ = trained()
    assert not Calibration.objects.exists()
    client.force_login(world.viewer)
    html = check_page(client.get(reverse("model", args=["ward", model.pk])))
    assert "on held-out notes are too few" in html
    assert ran(world, model).full_revision == ran(world, model, "b").revision


def test_training_notes_never_count(world, trained, few):
    model, _ = trained()
    run = ran(world, model)
    for card_knows in (True, False):
        if not card_knows:  # a model from before cards had this field
            run.model.card.pop("held_out_notes")
        made = calibration_by(run, world.version)
        assert (made.notes, made.left_out) == (4, {"test": 0, "learned": 16})
        assert made.revision == run.revision
    with patch.dict(run.model.card, {"held_out_notes": []}), pytest.raises(ServiceError, match="its model was trained"):
        calibration_by(run, world.version)


def test_a_comparison_on_training_notes_says_so(world, trained, client):
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
    assert "trained on 16 of these notes" in check_page(client.get(there))
