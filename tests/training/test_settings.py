"""Settings that one kind of model has: from the form and the command to the learner and the model's page."""

import io
import json
from dataclasses import replace

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.urls import reverse

from annotations.core.errors import ServiceError
from annotations.jobs.runner import run as work
from models_runtime.backends import children
from models_runtime.core.registry import TRAINABLE
from models_runtime.core.training_settings import Setting, checked, shown
from models_runtime.models import TrainedModel
from tests.worlds.checks import check_page

pytestmark = pytest.mark.queue

RATE = Setting("rate", "Learning rate", "number", least=0.0001, most=1)
BATCH = Setting("batch", "Notes in a batch", "whole", least=1, most=64, help="More notes need more memory.")
DECODING = Setting("decoding", "Decoding", "choice", choices={"crf": "best path", "argmax": "best tag"})
LAYER = Setting("layer", "CRF layer", "switch")
WORD = Setting("probe", "Sentence", "text", most=20)
ALL = (RATE, BATCH, DECODING, LAYER, WORD)


@pytest.fixture
def with_settings(monkeypatch):
    """The CRF with settings, and the settings that its learner received."""
    monkeypatch.setitem(TRAINABLE, "crf", replace(TRAINABLE["crf"], settings=ALL))
    received, train = [], children.train

    def kept(*args, options, **more):
        received.append(options["settings"])
        return train(*args, options=options, **more)

    monkeypatch.setattr(children, "train", kept)
    return received


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ({}, {}),
        ({"rate": "", "batch": None}, {}),
        ({"rate": "0.05", "batch": "8"}, {"rate": 0.05, "batch": 8}),
        ({"rate": 1, "batch": 64}, {"rate": 1, "batch": 64}),
        ({"decoding": "argmax", "layer": "no", "probe": " a "}, {"decoding": "argmax", "layer": False, "probe": "a"}),
        ({"layer": True}, {"layer": True}),
    ],
)
def test_values_get_their_types(given, found):
    assert checked(ALL, given, title="CRF") == found


@pytest.mark.parametrize(
    ("key", "value", "right"),
    [
        ("rate", "fast", "from 0.0001 to 1"),
        ("rate", "nan", "from 0.0001 to 1"),
        ("rate", "9" * 5000, "from 0.0001 to 1"),
        ("batch", "0", "from 1 to 64"),
        ("batch", "2.5", "from 1 to 64"),
        ("decoding", "best", "crf, argmax"),
        ("layer", "maybe", "yes or no"),
        ("probe", "x" * 21, "at most 20 characters"),
    ],
)
def test_a_wrong_value_is_refused_with_what_is_right(key, value, right):
    with pytest.raises(ServiceError, match=right) as caught:
        checked(ALL, {key: value}, title="CRF")
    assert caught.value.code == key and len(str(caught.value)) < 120


def test_an_unknown_setting_is_refused_with_the_known_ones():
    with pytest.raises(ServiceError, match=r"CRF has no setting “depth”\. Its settings: rate, batch"):
        checked(ALL, {"depth": "1"}, title="CRF")
    with pytest.raises(ServiceError, match="Its settings: none"):
        checked((), {"depth": "1"}, title="CRF")


def test_values_are_shown_as_words():
    values = checked(ALL, {"rate": "0.5", "decoding": "crf", "layer": "yes"}, title="CRF")
    assert shown(ALL, values) == [("Learning rate", "0.5"), ("Decoding", "best path"), ("CRF layer", "yes")]


def test_settings_go_from_the_form_to_the_learner_and_the_page(world, client, with_settings):
    client.force_login(world.manager)
    html = check_page(client.get(reverse("models", args=["ward"])))
    assert "Notes in a batch" in html and "More notes need more memory." in html
    form = {"gold": 1, "algorithm": "crf:ap", "iterations": "3", "crf-rate": "0.05", "crf-layer": "no", "token": "t"}
    there = client.post(reverse("model_train", args=["ward"]), form).url
    model = TrainedModel.objects.get()
    assert model.params == {"algorithm": "ap", "iterations": 3, "settings": {"rate": 0.05, "layer": False}}
    work(model.job_id)
    assert with_settings == [{"rate": 0.05, "layer": False}]
    html = check_page(client.get(there))
    assert "<dt>Learning rate</dt><dd>0.05</dd>" in html and "<dt>CRF layer</dt><dd>no</dd>" in html


def test_a_wrong_setting_is_shown_beside_its_field_and_nothing_starts(world, client, with_settings):
    client.force_login(world.manager)
    form = {"gold": 1, "algorithm": "crf:ap", "crf-rate": "7", "crf-batch": "8", "token": "t"}
    response = client.post(reverse("model_train", args=["ward"]), form)
    html = check_page(response)
    assert response.status_code == 422 and not TrainedModel.objects.exists()
    assert "Learning rate can&#x27;t be “7”. It must be: from 0.0001 to 1." in html
    assert 'name="crf-batch" value="8"' in html


def test_settings_of_other_kinds_are_ignored(world, client, with_settings):
    client.force_login(world.manager)
    form = {"gold": 1, "algorithm": "spacy:quick", "crf-rate": "wrong", "token": "t"}
    assert client.post(reverse("model_train", args=["ward"]), form).status_code == 302
    assert TrainedModel.objects.get().params == {"algorithm": "quick"}


def test_settings_of_the_command(world, with_settings):
    words = ["train_model", "ward", "--gold", "1", "--algorithm", "ap", "--iterations", "3", "--wait", "--json"]
    out = io.StringIO()
    call_command(*words, "--set", "rate=0.1", "--set", "probe=a = b", stdout=out)
    assert json.loads(out.getvalue())["state"] == "ready"
    assert with_settings == [{"rate": 0.1, "probe": "a = b"}]
    for wrong, why in (
        (["rate"], "--set takes KEY=VALUE"),
        (["rate=1", "rate=0.5"], "each key once, not “rate=0.5”"),
        (["rate=2"], "from 0.0001 to 1"),
        (["depth=2"], "no setting “depth”"),
    ):
        with pytest.raises(CommandError, match=why):
            call_command(*words, *(word for value in wrong for word in ("--set", value)), stdout=io.StringIO())
