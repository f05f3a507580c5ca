"""Settings that one kind of model has, header dropout and copies with surrogates: from the form to the page."""

import io
from dataclasses import replace

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from annotations.core.services import ServiceError
from annotations.gold.services.making import freeze
from annotations.jobs.runner import run as work
from annotations.models import Author, GoldVersionNote, LabelSet
from models_runtime.backends import children
from models_runtime.core.registry import TRAINABLE
from models_runtime.core.training_settings import Setting, checked
from models_runtime.models import TrainedModel, TrainedModelState
from tests import factories as make
from tests.training.conftest import made_notes, page, refused
from tests.worlds.checks import check_page
from tests.worlds.programs import Program

pytestmark = pytest.mark.queue

RATE = Setting("rate", "Learning rate", "number", least=0.0001, most=1)
BATCH = Setting("batch", "Notes in a batch", "whole", least=1, most=64, help="More notes need more memory.")
DECODING = Setting("decoding", "Decoding", "choice", choices={"crf": "best path", "argmax": "best tag"})
LAYER = Setting("layer", "CRF layer", "switch")
WORD = Setting("probe", "Sentence", "text", most=20)
ALL = (RATE, BATCH, DECODING, LAYER, WORD)


@pytest.fixture
def learned(monkeypatch):
    """The notes for learning, the held-out notes and the settings that each training's child process got."""
    received, train = [], children.train

    def kept(child, notes, path, *, options, held_out=(), **more):
        received.append((list(notes), list(held_out), options["settings"]))
        return train(child, received[-1][0], path, options=options, held_out=received[-1][1], **more)

    monkeypatch.setattr(children, "train", kept)
    return received


@pytest.fixture
def with_settings(monkeypatch, learned):
    """The CRF with settings, and what its learner received."""
    monkeypatch.setitem(TRAINABLE, "crf", replace(TRAINABLE["crf"], settings=ALL))
    return learned


@pytest.mark.parametrize(("given", "found"), [
    ({}, {}), ({"rate": "", "batch": None}, {}), ({"rate": "0.05", "batch": "8"}, {"rate": 0.05, "batch": 8}),
    ({"rate": 1, "batch": 64}, {"rate": 1, "batch": 64}),
    ({"decoding": "argmax", "layer": "no", "probe": " a "}, {"decoding": "argmax", "layer": False, "probe": "a"}),
    ({"layer": True}, {"layer": True}),
])  # fmt: skip
def test_values_get_their_types(given, found):
    assert checked(ALL, given, title="CRF") == found


@pytest.mark.parametrize(("key", "value", "right"), [
    ("rate", "fast", "from 0.0001 to 1"), ("rate", "nan", "from 0.0001 to 1"), ("rate", "9" * 5000, "from 0.0001 to 1"),
    ("batch", "0", "from 1 to 64"), ("batch", "2.5", "from 1 to 64"), ("decoding", "best", "crf, argmax"),
    ("layer", "maybe", "yes or no"), ("probe", "x" * 21, "at most 20 characters"),
    ("depth", "1", r"CRF has no setting “depth”\. Its settings: rate, batch"),
])  # fmt: skip
def test_a_wrong_value_is_refused_with_what_is_right(key, value, right):
    with pytest.raises(ServiceError, match=right) as caught:
        checked(ALL, {key: value}, title="CRF")
    assert caught.value.code in (key, "settings") and len(str(caught.value)) < 120


def test_settings_go_from_the_form_to_the_learner_and_the_page(manager, with_settings):
    assert "More notes need more memory." in check_page(manager.get(page("models")))
    form = {"gold": 1, "algorithm": "crf:ap", "iterations": "3", "crf-layer": "no", "token": "t"}
    response = manager.post(page("model_train"), form | {"crf-rate": "7", "crf-batch": "8"})
    html = check_page(response)
    assert response.status_code == 422 and not TrainedModel.objects.exists()
    assert response.context["train"].errors.keys() == {"crf-rate"} and 'name="crf-batch" value="8"' in html
    there = manager.post(page("model_train"), form | {"crf-rate": "0.05"}).url
    model = TrainedModel.objects.get()
    assert model.params == {"algorithm": "ap", "iterations": 3, "settings": {"rate": 0.05, "layer": False}}
    work(model.job_id)
    assert [settings for *_, settings in with_settings] == [{"rate": 0.05, "layer": False}]
    html = check_page(manager.get(there))
    assert "<dt>Learning rate</dt><dd>0.05</dd>" in html and "<dt>CRF layer</dt><dd>no</dd>" in html
    form |= {"algorithm": "spacy:quick", "crf-rate": "wrong", "iterations": "", "token": "u"}
    assert manager.post(page("model_train"), form).status_code == 302, "settings of other kinds are ignored"


def test_settings_of_the_command(world, with_settings):
    words = ["train_model", "ward", "--gold", "1", "--algorithm", "ap", "--iterations", "3", "--wait"]
    call_command(*words, "--set", "rate=0.1", "--set", "probe=a = b", stdout=io.StringIO())
    assert [settings for *_, settings in with_settings] == [{"rate": 0.1, "probe": "a = b"}]
    for wrong, why in (
        (["rate"], "--set takes KEY=VALUE"),
        (["rate=1", "rate=0.5"], "each key once, not “rate=0.5”"),
        (["depth=2"], "no setting “depth”"),
    ):
        with pytest.raises(CommandError, match=why):
            call_command(*words, *(word for value in wrong for word in ("--set", value)), stdout=io.StringIO())


HEADER = "Ospedale Civile\nReparto: Medicina\nLetto: 7\n"
PROSE = (
    "La paziente di Novara vive sola. Dolore toracico, riposo, controllo tra un mese, poi visita ed esami del sangue.\n"
)
BOTH = {"header_dropout": "0.5", "surrogates": "1"}


@pytest.fixture
def shipped(world):
    """Labels with kinds, and notes with a header, as version 2."""
    LabelSet.objects.filter(project=world.project).update(key="i2b2-2014")
    gold = Author.objects.get(project=world.project, kind="gold")
    for number, (text, spans) in enumerate(list(made_notes(32))[20:]):
        moved = [(start + len(HEADER), end + len(HEADER), label) for start, end, label in spans]
        note = make.make_note(world.project, HEADER + text + PROSE, f"intero-{number:02}", language="it")
        make.make_set(note, gold, moved, submitted=True)
    return freeze(project=world.project, actor=None)[0].number


def test_a_card_counts_gold_notes_without_copies_and_held_out_notes_are_as_they_were(shipped, manager, learned):
    form = {"gold": shipped, "algorithm": "crf:ap", "iterations": "5", "token": "t", "refit": "on"}
    manager.post(page("model_train"), form | {f"crf-{key}": value for key, value in BOTH.items()})
    model = TrainedModel.objects.get()
    work(model.job_id)
    model.refresh_from_db()
    (first, held_out, _), (everything, _, settings) = learned
    assert model.card["notes"] == len(first) and model.card["refit"]["notes"] == len(everything) == 32
    assert settings == model.params["settings"] == {"header_dropout": 0.5, "surrogates": 1}
    gold = {row.document.text for row in GoldVersionNote.objects.filter(version__number=shipped)}
    assert held_out and {text for text, _ in held_out} <= gold
    assert model.card["held_out"] == len(held_out) == model.card["scores"]["notes"]


def test_the_command_and_the_api_train_the_same_model_byte_for_byte(world, shipped):
    words = ["--gold", str(shipped), "--algorithm", "ap", "--iterations", "5", "--wait"]
    given = [word for pair in BOTH.items() for word in ("--set", "=".join(pair))]
    call_command("train_model", "ward", *words, *given, stdout=io.StringIO())
    made = TrainedModel.objects.get().card["sha256"]
    program = Program(world.manager)
    body = {"gold": shipped, "kind": "crf", "algorithm": "ap", "iterations": 5, "settings": BOTH}
    program.post("/projects/ward/models", body)
    work(TrainedModel.objects.latest("pk").job_id)
    assert TrainedModel.objects.latest("pk").card["sha256"] == made
    kinds = program.get("/projects/ward/training-choices").json()["kinds"]
    offered = {one["kind"]: {setting["key"] for setting in one["settings"]} for one in kinds}
    assert [kind for kind, keys in offered.items() if set(BOTH) <= keys] == ["crf", "spacy", "bilstm"]


def test_other_label_sets_have_no_surrogates_and_settings_have_bounds(world, manager, trained):
    form = {"gold": 1, "algorithm": "crf:ap", "crf-surrogates": "1", "token": "t"}
    response = manager.post(page("model_train"), form)
    assert response.status_code == 422 and "Set their copies to 0." in check_page(response)
    for wrong in ({"header_dropout": "1.5"}, {"header_dropout": "-1"}, {"surrogates": "6"}):
        refused(world, "It must be: from 0 to", settings=wrong)
    assert not TrainedModel.objects.exists()
    model, _ = trained(settings={"surrogates": "0", "header_dropout": "1"})
    assert model.state == TrainedModelState.READY
