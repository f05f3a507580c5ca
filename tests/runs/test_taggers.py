"""A folder of a token classifier or a Flair tagger trained elsewhere becomes a mapped run, and a calibrated one."""

import json

import pytest
from django.core.management import call_command
from django.urls import reverse

from annotations.gold.services.making import freeze
from annotations.models import Span
from models_runtime.core import weights as found_here
from models_runtime.core.external import external_models
from models_runtime.models import Run
from tests import factories as make

pytest.importorskip("torch")

from tests.backends.made_flair import word_tagger
from tests.backends.made_weights import lookup_tagger

pytestmark = [pytest.mark.queue, pytest.mark.django_db(transaction=True)]

TAG_OF = {"Mario": "B-PER", "Rossi": "E-PER", "Roma": "S-LOC", "Luca": "I-PER", "##a": "O"}
NOTES = 26


@pytest.fixture
def ward(no_redis, client, tmp_path, monkeypatch):
    monkeypatch.setattr(found_here, "home", lambda: tmp_path)
    lookup_tagger(tmp_path / "bioes", TAG_OF, ["O", "B-PER", "I-PER", "E-PER", "S-LOC"])
    lookup_tagger(tmp_path / "io", {"Mario": "I-PER", "Rossi": "I-PER", "Roma": "I-LOC"}, ["O", "I-PER", "I-LOC"])
    flair_tags = ["O", "B-PER", "E-PER", "S-LOC"]
    word_tagger(tmp_path / "flair", {"Mario": "B-PER", "Rossi": "E-PER", "Roma": "S-LOC"}, flair_tags)
    project = make.make_project("ward")
    gold = make.make_author(project, kind="gold", name="gold")
    for number in range(NOTES):
        note = make.make_note(
            project, f"\U0001f600 Mario Rossi di Roma {number}", f"n{number}", patient_id=f"p{number}"
        )
        make.make_set(note, gold, [(2, 13, "PATIENT")], submitted=True)
    client.force_login(make.make_member(project, "manager", "mia"))
    return project


def told(capsys, *words):
    call_command(*words, "--json")
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize(("folder", "scheme"), [("bioes", "BIOES"), ("io", "IO")])
def test_a_folder_becomes_a_mapped_and_calibrated_run(ward, client, capsys, folder, scheme):
    """The page names the scheme of the tags. After `calibrate`, the same folder's confidences are calibrated ones."""
    page = client.get(reverse("run_tagger", args=["ward", folder])).content.decode()
    assert f"bert, 2 labels, {scheme} tags" in page
    freeze(project=ward, actor=None)
    words = ("run_model", "ward", "token-classification", "--folder", folder, "--map", "PER=PATIENT,LOC=CITY", "--wait")
    assert told(capsys, *words)["done"] == NOTES
    first = Span.objects.filter(annotation_set__author=Run.objects.get().author)
    assert set(first.values_list("start", "end", "label__code")) == {(2, 13, "PATIENT"), (17, 21, "CITY")}
    raw = first.first().confidence
    said = told(capsys, "calibrate", "ward", "--run", f"{folder}-1", "--gold", "1")
    assert said["ece"]["after"] < said["ece"]["before"]
    assert told(capsys, *words)["run"] == f"{folder}-2"
    run = Run.objects.get(author__name=f"{folder}-2")
    assert run.full_revision.endswith(said["calibration"])
    towns = Span.objects.filter(annotation_set__author=run.author, label__code="CITY")
    assert {span.raw_confidence for span in towns} == {raw}
    assert max(span.confidence for span in towns) < raw


def test_a_tagger_of_flair_becomes_a_run_at_a_threshold(ward, client, capsys):
    page = reverse("run_flair", args=["ward", "flair"])
    assert page in client.get(reverse("runs", args=["ward"])).content.decode()
    assert "A tagger of Flair from a folder on this machine." in client.get(page).content.decode()
    words = ("run_model", "ward", "flair", "--folder", "flair", "--map", "PER=PATIENT,LOC=", "--wait")
    assert told(capsys, *words, "--threshold", "0.05")["masking_threshold"] == 0.05
    run = Run.objects.get()
    assert run.params["labels"] == {"PER": "PATIENT", "LOC": None}
    spans = Span.objects.filter(annotation_set__author=run.author)
    assert set(spans.values_list("start", "end", "label__code")) == {(2, 13, "PATIENT")}
    there = client.post(page, {"label:PER": "PATIENT", "label:LOC": "CITY", "token": "t"}).url
    assert there == reverse("run", args=["ward", Run.objects.latest("pk").pk])
    found = [(row.backend, row.name, row.labels) for row in external_models()]
    assert ("flair", "flair", ("LOC", "PER")) in found and len(found) == 3
