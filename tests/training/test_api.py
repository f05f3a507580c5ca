"""Trained models by the API: from the choices to the trained model and its file, and what errors name."""

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from annotations.jobs.runner import run as work
from annotations.models import Job, StoredFile
from models_runtime.models import TrainedModel
from tests import factories as make
from tests.worlds.programs import Program

MODELS = "/projects/ward/models"


@pytest.fixture
def mia(world):
    return Program(world.manager)


def fields_of(answer):
    assert answer.status_code == 422, answer.content
    return [one["field"] for one in answer.json()["errors"]]


def test_a_model_from_its_training_to_its_file(world, mia):
    choices = mia.get("/projects/ward/training-choices").json()
    assert choices["language_models"] == []
    assert {"lbfgs", "ap"} <= set(next(one for one in choices["kinds"] if one["kind"] == "crf")["algorithms"])
    answer = mia.post(MODELS, {"gold": 1, "algorithm": "ap", "iterations": 8, "name": "ours"})
    (made,) = answer.json()["items"]
    assert (answer.status_code, made["state"], made["name"]) == (202, "training", "ours")
    assert answer.headers["Location"].endswith(f"/jobs/{made['job']}")
    work(Job.objects.get().pk)
    own = f"{MODELS}/{made['id']}"
    model = mia.get(own).json()
    assert (model["state"], model["gold"], model["held_out"]) == ("ready", 1, 4)
    assert model["f1"] == model["levels"]["label"]["f1"]
    stored = {row["label"]: row["fully_masked"] for row in TrainedModel.objects.get().card["scores"]["labels"]}
    assert {row["label"]: row["fully_masked"] for row in model["labels"]} == stored
    assert any(masked["notes"] for masked in stored.values())
    assert mia.patch(own, {"name": "theirs"}).json()["name"] == "theirs"
    assert fields_of(mia.patch(own, {"name": " "})) == ["name"]
    assert mia.post(f"{own}/enough").json()["code"] == "kind"
    assert Program(world.viewer).get(f"{own}/file").status_code == 403, "a lexicon holds words of notes"
    content = b"".join(Program(world.reviewer).get(f"{own}/file").streaming_content)
    same = mia.upload(f"{MODELS}/files", {"file": SimpleUploadedFile("a.zip", content)})
    assert (same.status_code, same.json()["id"]) == (201, made["id"])
    retired = mia.post(f"{own}/retire").json()
    assert (retired["state"], mia.get(f"{own}/file").status_code) == ("retired", 404)
    assert [one["id"] for one in mia.get(MODELS).json()["items"]] == [made["id"]]


def test_what_is_wrong_with_a_training_is_named(world, mia):
    assert fields_of(mia.post(MODELS, {"gold": 7})) == ["gold"]
    assert fields_of(mia.post(MODELS, {"gold": 1, "kind": "none"})) == ["kind"]
    assert fields_of(mia.post(MODELS, {"gold": 1, "algorithm": "none"})) == ["algorithm"]
    assert fields_of(mia.post(MODELS, {"gold": 1, "runs": 3})) == ["runs"]
    assert fields_of(mia.post(MODELS, {"gold": 1, "language": "xx"})) == ["language"]
    assert fields_of(mia.post(MODELS, {"gold": 1, "settings": {"seed": 7}})) == ["settings"]
    rate = {"gold": 1, "kind": "transformer", "settings": {"rate": 9, "chunks": "disjoint"}}
    assert fields_of(mia.post(MODELS, rate)) == ["settings.rate"]
    parts = {"gold": 1, "kind": "stacked", "settings": {"embeddings": "none"}}
    assert fields_of(mia.post(f"{MODELS}/ablations", parts | {"groupings": [99]})) == ["groupings"]
    assert fields_of(mia.post(f"{MODELS}/ablations", parts)) == ["settings.embeddings"]
    assert fields_of(mia.upload(f"{MODELS}/files", {"file": SimpleUploadedFile("a.zip", b"x")})) == ["file"]


def test_only_members_of_another_project_learn_that_a_model_has_its_gold(world, mia):
    other = make.make_project("other")
    card = {"also": [{"project": other.pk, "gold": 3}]}
    model = TrainedModel.objects.create(project=world.project, name="a", backend="crf", state="retired", card=card)
    assert mia.get(f"{MODELS}/{model.pk}").json()["also"] == [{"project": None, "gold": 3}]
    make.make_member(other, "viewer", world.manager)
    assert mia.get(f"{MODELS}/{model.pk}").json()["also"] == [{"project": "other", "gold": 3}]


def test_a_refit_its_curve_a_run_at_a_threshold_and_its_score(world, mia):
    (made,) = mia.post(MODELS, {"gold": 1, "iterations": 8, "refit": True}).json()["items"]
    assert (made["refit"], made["refit_elsewhere"]) == (None, None)
    work(Job.objects.get().pk)
    own = f"{MODELS}/{made['id']}"
    model = mia.get(own).json()
    assert (model["notes"], model["held_out"], model["refit"]["notes"], model["refit"]["spans"]) == (16, 4, 20, 80)
    assert model["sha256"] != model["refit"]["held_out_sha256"]
    assert model["thresholds"] == TrainedModel.objects.get().card["scores"]["thresholds"]
    assert [point["threshold"] for point in model["thresholds"]][:2] == [None, 0.5]
    wanted = min(model["thresholds"][-1]["recall"], 0.999)
    run = mia.post("/projects/ward/runs", {"backend": model["name"], "recall": wanted}).json()
    work(Job.objects.latest("pk").pk)
    read = mia.get(f"/projects/ward/runs/{run['id']}").json()
    chosen = next(point for point in model["thresholds"] if point["threshold"] and point["recall"] >= wanted)
    assert (read["masking_threshold"], read["threshold_for"]) == (chosen["threshold"], {"recall": wanted})
    score = mia.get(f"/projects/ward/scores/1/{run['run_author']}").json()["figures"]
    assert (score["masking_threshold"], score["notes_learned_from"]) == (chosen["threshold"], 20)

    content = b"".join(mia.get(f"{own}/file").streaming_content)
    mia.post(f"{own}/retire")
    copy = mia.upload(f"{MODELS}/files", {"file": SimpleUploadedFile("a.zip", content)}).json()
    read = mia.get(f"{MODELS}/{copy['id']}").json()
    assert (read["refit"], read["refit_elsewhere"], read["thresholds"]) == (None, 4, [])
    assert b"".join(mia.get(f"{MODELS}/{copy['id']}/file").streaming_content) == content
    assert StoredFile.objects.filter(sha256=model["sha256"]).count() == 1
