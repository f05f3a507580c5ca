"""Training and running a model from the command line."""

import io
import json

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError


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


def test_what_is_refused_names_the_choices(world):
    with pytest.raises(CommandError, match="frozen versions: 1"):
        call_command("train_model", "ward", "--gold", "9")
    with pytest.raises(CommandError, match="there are: rules"):
        call_command("run_model", "ward", "nothing")
