"""Header dropout and copies with surrogates: from the form, the command and the API to the model and its card."""

import io
import json

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.urls import reverse

from annotations.core.errors import ServiceError
from annotations.gold.services.making import freeze
from annotations.jobs.runner import run as work
from annotations.models import Author, GoldVersionNote, LabelSet
from models_runtime.backends import children
from models_runtime.models import TrainedModel
from tests import factories as make
from tests.training.conftest import made_notes
from tests.worlds.checks import check_page
from tests.worlds.programs import Program

pytestmark = pytest.mark.queue
HEADER = "Ospedale Civile\nReparto: Medicina\nLetto: 7\n"
PROSE = (
    "La paziente di Novara vive sola. Dolore toracico, riposo, controllo tra un mese, poi visita ed esami del sangue.\n"
)
BOTH = {"header_dropout": "0.5", "surrogates": "1"}


@pytest.fixture
def learned_from(monkeypatch):
    """The notes for learning, the held-out notes and the settings that each training's child process got."""
    received, train = [], children.train

    def kept(child, notes, path, *, options, held_out=(), **more):
        notes, held_out = list(notes), list(held_out)
        received.append((notes, held_out, options["settings"]))
        return train(child, notes, path, options=options, held_out=held_out, **more)

    monkeypatch.setattr(children, "train", kept)
    return received


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


def test_from_the_form_to_the_page(world, shipped, client, learned_from):
    client.force_login(world.manager)
    html = check_page(client.get(reverse("models", args=["ward"])))
    assert "Header dropout" in html and "Copies with surrogates" in html
    form = {"gold": shipped, "algorithm": "crf:ap", "iterations": "5", "token": "t", "refit": "on"}
    there = client.post(
        reverse("model_train", args=["ward"]), form | {f"crf-{key}": value for key, value in BOTH.items()}
    ).url
    model = TrainedModel.objects.get()
    assert model.params["settings"] == {"header_dropout": 0.5, "surrogates": 1}
    work(model.job_id)
    model.refresh_from_db()
    html = check_page(client.get(there))
    assert "<dt>Header dropout</dt><dd>0.5</dd>" in html and "<dt>Copies with surrogates</dt><dd>1</dd>" in html
    # The card counts gold notes, without copies; held-out notes are as they were.
    (first, held_out, _), (everything, _, settings) = learned_from
    assert model.card["notes"] == len(first) and model.card["refit"]["notes"] == len(everything) == 32
    assert settings == model.params["settings"]
    gold = {row.document.text for row in GoldVersionNote.objects.filter(version__number=shipped)}
    assert held_out and {text for text, _ in held_out} <= gold
    assert model.card["held_out"] == len(held_out) == model.card["scores"]["notes"]


def test_the_command_and_the_api_train_the_same_model_byte_for_byte(world, shipped):
    words = [
        "train_model",
        "ward",
        "--gold",
        str(shipped),
        "--algorithm",
        "ap",
        "--iterations",
        "5",
        "--wait",
        "--json",
    ]
    hashes = []
    for settings in ({"header_dropout": "0.5"}, BOTH):
        out = io.StringIO()
        call_command(*words, *(word for pair in settings.items() for word in ("--set", "=".join(pair))), stdout=out)
        model = TrainedModel.objects.latest("pk")
        assert json.loads(out.getvalue())["state"] == "ready"
        hashes.append(model.card["sha256"])
    assert len(set(hashes)) == 2
    body = {"gold": shipped, "kind": "crf", "algorithm": "ap", "iterations": 5}
    program = Program(world.manager)
    assert program.post("/projects/ward/models", body | {"settings": BOTH}).status_code == 202
    model = TrainedModel.objects.latest("pk")
    work(model.job_id)
    model.refresh_from_db()
    assert model.card["sha256"] == hashes[-1]
    kinds = program.get("/projects/ward/training-choices").json()["kinds"]
    offered = {one["kind"]: {setting["key"] for setting in one["settings"]} for one in kinds}
    assert [kind for kind, keys in offered.items() if set(BOTH) <= keys] == ["crf", "spacy", "bilstm"]


def test_other_label_sets_have_no_surrogates_on_page_command_and_api(world, client, trained):
    said = "Surrogates can only be made for a label set that comes with the program. Set their copies to 0."
    client.force_login(world.manager)
    form = {"gold": 1, "algorithm": "crf:ap", "crf-surrogates": "1", "token": "t"}
    response = client.post(reverse("model_train", args=["ward"]), form)
    assert response.status_code == 422 and said in check_page(response)
    with pytest.raises(CommandError, match="Set their copies to 0"):
        call_command("train_model", "ward", "--gold", "1", "--set", "surrogates=2", stdout=io.StringIO())
    body = {"gold": 1, "kind": "crf", "algorithm": "ap", "settings": {"surrogates": 1}}
    answer = Program(world.manager).post("/projects/ward/models", body)
    assert answer.status_code == 422 and "settings.surrogates" in answer.content.decode()
    assert not TrainedModel.objects.exists()
    model, _ = trained(settings={"surrogates": "0", "header_dropout": "1"})
    assert model.state == TrainedModel.State.READY


def test_bounds(world, trained):
    for wrong in ({"header_dropout": "1.5"}, {"header_dropout": "-1"}, {"surrogates": "6"}):
        with pytest.raises(ServiceError, match="It must be: from 0 to"):
            trained(settings=wrong)
