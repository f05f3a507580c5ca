"""Training from the command line and by the API: from the choices to the model, its file and a run."""

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.core.management.base import CommandError

from annotations.jobs.runner import run as work
from annotations.models import Event, Job
from models_runtime.backends.files import digest
from models_runtime.core.combining import models_behind
from models_runtime.models import Run, TrainedModel
from tests import factories as make
from tests.runs.conftest import fields_of
from tests.worlds.commands import printed, told
from tests.worlds.programs import Program

pytestmark = pytest.mark.queue

MODELS = "/projects/ward/models"


@pytest.fixture
def mia(world):
    return Program(world.manager)


def test_a_model_from_its_training_to_its_file(world, mia):
    choices = mia.get("/projects/ward/training-choices").json()
    assert choices["language_models"] == []
    assert {"lbfgs", "ap"} <= set(next(one for one in choices["kinds"] if one["kind"] == "crf")["algorithms"])
    answer = mia.post(MODELS, {"gold": 1, "algorithm": "ap", "iterations": 8, "name": "ours", "refit": True})
    (made,) = answer.json()["items"]
    assert (answer.status_code, made["state"], made["name"]) == (202, "training", "ours")
    assert answer.headers["Location"].endswith(f"/jobs/{made['job']}")
    work(Job.objects.get().pk)
    own = f"{MODELS}/{made['id']}"
    model = mia.get(own).json()
    assert (model["state"], model["gold"], model["held_out"], model["refit_elsewhere"]) == ("ready", 1, 4, None)
    assert (made["refit"], model["refit"]["notes"], model["refit"]["spans"]) == (None, 20, 80)
    assert model["sha256"] != model["refit"]["held_out_sha256"]
    assert model["thresholds"] == TrainedModel.objects.get().card["scores"]["thresholds"] != []
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


def test_what_is_wrong_with_a_training_is_named(mia):
    for body, field in (
        ({"gold": 7}, "gold"), ({"kind": "none"}, "kind"), ({"algorithm": "none"}, "algorithm"), ({"runs": 3}, "runs"),
        ({"language": "xx"}, "language"), ({"settings": {"seed": 7}}, "settings"),
        ({"kind": "transformer", "settings": {"rate": 9, "chunks": "disjoint"}}, "settings.rate"),
    ):  # fmt: skip
        assert fields_of(mia.post(MODELS, {"gold": 1} | body)) == [field]
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


def train(name):
    return told("train_model", "ward", "--gold", 1, "--algorithm", "ap", "--iterations", 5, "--name", name, "--wait")


def refused(cases, *words):
    for more, why in cases:
        with pytest.raises(CommandError, match=why):
            call_command(*words, *more)


def test_a_model_is_trained_listed_and_combined(world):
    made = train("Mine")
    assert (made["model"], made["state"], made["trouble"], made["gold"]) == ("Mine", "ready", "", 1)
    assert set(made["levels"]) == {"label", "category", "binary"}
    assert made["f1"] == made["levels"]["label"]["f1"] > 0.5
    (listed,) = told("models", "ward")["models"]
    assert listed["sha256"] == made["sha256"]
    said = printed("models", "ward")
    assert "Mine" in said and f"F1 {made['f1']:.4f}" in said
    train("Other")
    run = told("run_model", "ward", "Other", "--wait")
    assert (run["run"], run["state"], run["done"], run["failed"]) == ("Other-1", "done", 22, 0)

    ensemble = ("run_model", "ward", "ensemble")
    found = told(*ensemble, "--members", "Mine,run:Other-1", "--method", "union", "--wait")
    assert (found["run"], found["state"], found["done"], found["left_out"]) == ("ensemble-union-1", "done", 22, 0)
    assert [member["name"] for member in found["members"] if member["revision"]] == ["Mine", "run:Other-1"]
    behind = models_behind(Run.objects.get(author__name="ensemble-union-1"))
    assert [model.name for model in behind] == ["Mine", "Other"], "their training notes don't count in scores"
    weighted = (*ensemble, "--method", "weighted", "--members")
    found = told(*weighted, "Mine,Other", "--weights", ",0.5", "--wait")
    assert [member["weight"] for member in found["members"]] == [made["f1"], 0.5]
    cases = [
        ((*weighted[2:], "Mine,rules"), "“rules” has no score"), (("ensemble",), "at least 2"),
        (("ensemble", "--members", "Mine,Other", "--weights", "1"), "There are 1 weights for 2 members"),
        (("Mine", "--members", "Other"), "can only be used with ensemble"),
    ]  # fmt: skip
    refused(cases, "run_model", "ward")
    quick = (("--algorithm", "quick"), "Add --backend spacy or --backend bilstm")
    refused([quick], "train_model", "ward", "--gold", "1")


def test_a_model_is_downloaded_uploaded_renamed_and_retired(world, model, tmp_path):
    out = tmp_path / "mine.zip"

    def models(*words):
        return told("models", "ward", *words)["models"]

    models("--download", model.name, "--to", str(out), "--by", "manager")
    assert digest(out) == model.card["sha256"] and out.stat().st_mode & 0o777 == 0o600
    assert Event.objects.get(verb="file.downloaded").actor == world.manager
    assert models("--retire", model.name)[0]["state"] == "retired"
    (made,) = models("--upload", str(out), "--name", "Theirs")
    assert (made["state"], made["sha256"]) == ("ready", model.card["sha256"])
    assert models("--rename", f"model:{made['model_id']}", "--name", "Mine")[0]["model"] == "Mine"
    assert told("run_model", "ward", "Mine", "--wait")["done"] == 22
    cases = [
        (("--download", "Mine", "--to", str(out)), "already exists"),
        (("--download", f"model:{model.pk}", "--to", str(tmp_path / "no.zip")), "has no file"),
        (("--download", "Mine"), "must be used together"),
        (("--upload", str(tmp_path / "none.zip")), "No such file"),
        (("--upload", __file__), "never opened"),
        (("--rename", "Mine", "--name", "rules"), "is reserved for a backend"),
        (("--retire", "nothing"), "Existing models: Mine"),
        (("--name", "x"), "can only be used with"),
    ]
    refused(cases, "models", "ward")
    assert not (tmp_path / "no.zip").exists()
