"""Training and running a model from the command line."""

import io
import json

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from annotations.models import Event
from models_runtime.backends.files import digest
from models_runtime.core.combining import models_behind
from models_runtime.models import Run

pytestmark = pytest.mark.queue


def answer(*words):
    out = io.StringIO()
    call_command(*words, "--json", stdout=out)
    return json.loads(out.getvalue())


def test_train_list_run(world):
    made = answer(
        "train_model", "ward", "--gold", "1", "--algorithm", "ap", "--iterations", "5", "--name", "Mine", "--wait"
    )
    assert (made["model"], made["state"], made["trouble"], made["gold"]) == ("Mine", "ready", "", 1)
    assert set(made["levels"]) == {"label", "category", "binary"}
    assert made["f1"] == made["levels"]["label"]["f1"] > 0.5
    (listed,) = answer("models", "ward")["models"]
    assert listed["sha256"] == made["sha256"]
    run = answer("run_model", "ward", "Mine", "--wait")
    assert (run["run"], run["state"], run["done"], run["failed"]) == ("Mine-1", "done", 22, 0)
    out = io.StringIO()
    call_command("models", "ward", stdout=out)
    assert "Mine" in out.getvalue() and f"F1 {made['f1']:.4f}" in out.getvalue()


def test_a_model_is_downloaded_uploaded_renamed_and_retired(world, trained, tmp_path):
    model, _ = trained(name="Mine")
    out = tmp_path / "mine.zip"

    def models(*words):
        return answer("models", "ward", *words)["models"]

    models("--download", "Mine", "--to", str(out), "--by", "manager")
    assert digest(out) == model.card["sha256"] and out.stat().st_mode & 0o777 == 0o600
    assert Event.objects.get(verb="file.downloaded").actor == world.manager
    assert models("--retire", "Mine")[0]["state"] == "retired"
    (made,) = models("--upload", str(out), "--name", "Theirs")
    assert (made["state"], made["sha256"]) == ("ready", model.card["sha256"])
    assert models("--rename", f"model:{made['model_id']}", "--name", "Mine")[0]["model"] == "Mine"
    assert answer("run_model", "ward", "Mine", "--wait")["done"] == 22
    for words, why in (
        (("--download", "Mine", "--to", str(out)), "already exists"),
        (("--download", f"model:{model.pk}", "--to", str(tmp_path / "no.zip")), "has no file"),
        (("--download", "Mine"), "must be used together"),
        (("--upload", str(tmp_path / "none.zip")), "No such file"),
        (("--upload", __file__), "never opened"),
        (("--rename", "Mine", "--name", "rules"), "is reserved for a backend"),
        (("--retire", "nothing"), "Existing models: Mine"),
        (("--name", "x"), "can only be used with"),
    ):
        with pytest.raises(CommandError, match=why):
            call_command("models", "ward", *words)
    assert not (tmp_path / "no.zip").exists()


def test_an_ensemble_from_the_command_line(world):
    for name in ("Mine", "Other"):
        answer("train_model", "ward", "--gold", "1", "--algorithm", "ap", "--iterations", "5", "--name", name, "--wait")
    answer("run_model", "ward", "Other", "--wait")
    made = answer("run_model", "ward", "ensemble", "--members", "Mine,run:Other-1", "--method", "union", "--wait")
    assert (made["run"], made["state"], made["done"], made["left_out"]) == ("ensemble-union-1", "done", 22, 0)
    assert [member["name"] for member in made["members"]] == ["Mine", "run:Other-1"]
    assert all(member["revision"] for member in made["members"])
    behind = models_behind(Run.objects.get(author__name="ensemble-union-1"))
    assert [model.name for model in behind] == [
        "Mine",
        "Other",
    ]  # their training notes don't count in scores
    weighted = ("run_model", "ward", "ensemble", "--method", "weighted", "--members")
    with pytest.raises(CommandError, match="“rules” has no score"):
        call_command(*weighted, "Mine,rules")
    made = answer(*weighted, "Mine,Other", "--weights", ",0.5", "--wait")
    assert [member["weight"] for member in made["members"]] == [answer("models", "ward")["models"][0]["f1"], 0.5]
    for words, why in (
        (("ensemble",), "at least 2"),
        (("ensemble", "--members", "Mine,Other", "--weights", "1"), "There are 1 weights for 2 members"),
        (("Mine", "--members", "Other"), "can only be used with ensemble"),
    ):
        with pytest.raises(CommandError, match=why):
            call_command("run_model", "ward", *words)
