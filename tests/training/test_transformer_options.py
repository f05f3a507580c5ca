"""Options of transformers in the product: form, command, page, kept models, and masked language models."""

import io
import json
import re

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.core.management.base import CommandError
from django.urls import reverse

from annotations.jobs.runner import run as work
from annotations.models import Document, Job, StoredFile
from annotations.ops.selectors.free_texts import free_texts
from models_runtime.core import gold_notes
from models_runtime.core import weights as found_here
from models_runtime.core.gold_notes import all_other_notes
from models_runtime.core.registry import TRAINABLE
from models_runtime.core.stages import strategy_of
from models_runtime.loop.services.loop import loop_of
from models_runtime.models import Run, TrainedModel
from models_runtime.training.jobs.checkpoints import checkpoint_of
from models_runtime.training.services.training import all_base_models
from tests import factories as make
from tests.backends.made_weights import TINY, bert_folder
from tests.training.conftest import made_notes
from tests.worlds.checks import check_page

pytestmark = pytest.mark.queue

State = TrainedModel.State


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    """Weights with so few pieces that words have several."""
    home = tmp_path_factory.mktemp("weights")
    texts = [text for text, _ in made_notes(40)]
    bert_folder(home / "tiny-bert", texts, (), positions=64, pieces=110, **TINY)
    return home


@pytest.fixture
def home(made, monkeypatch):
    monkeypatch.setattr(found_here, "home", lambda: made)
    return made


def page(name, *arguments):
    return reverse(name, args=["ward", *arguments])


def answer(*words):
    out = io.StringIO()
    call_command(*words, "--json", stdout=out)
    return json.loads(out.getvalue())


def train(*words, name):
    return answer("train_model", "ward", "--gold", "1", "--name", name, "--wait", *words)


def test_from_the_form_to_figures_of_each_epoch_and_their_models(world, client, home):
    client.force_login(world.manager)
    html = check_page(client.get(page("models")))
    assert "Labels of sub-words" in html and "disjoint chunks (Salierno et al. 2024)" in html
    form = {
        "gold": 1, "algorithm": "transformer:fresh", "base": "tiny-bert", "iterations": 3, "grouping": "2",
        "transformer-sub_words": "every", "transformer-chunks": "disjoint", "transformer-decoding": "argmax",
        "transformer-rate": "0.002", "transformer-batch": "4", "transformer-accumulation": "2",
        "transformer-checkpoints": "yes", "name": "Court", "token": "t",
    }  # fmt: skip
    there = client.post(page("model_train"), form).url
    assert client.post(page("model_train"), form).url == there  # A double click starts one training.
    model = TrainedModel.objects.get()
    work(model.job_id)
    model.refresh_from_db()
    assert (Job.objects.get().error, model.state, model.params["grouping"]) == ("", State.READY, 2)
    assert not checkpoint_of(model.pk).with_name("epoch-1.zip").exists()  # The worker's copies are gone.
    epochs = model.card["epochs"]
    assert len(epochs) == 3 and epochs[-1]["tokens"].keys() == {"accuracy", "precision", "recall", "f1"}
    assert [epoch["f1"] for epoch in epochs] == model.hold_out and epochs[-1]["pieces"]["accuracy"] > 0
    html = check_page(client.get(there))
    assert "Held-out notes after each epoch" in html and "sub-words" in html
    assert "<dt>Sequences in a batch</dt><dd>4</dd>" in html and "every sub-word (Salierno et al. 2024)" in html

    kept = list(TrainedModel.objects.filter(card__made_with=model.pk).order_by("pk"))
    assert [row.name for row in kept] == ["Court-epoch-1", "Court-epoch-2"]
    assert all(reverse("model", args=["ward", row.pk]) in html for row in kept)
    assert [(len(row.losses), len(row.card["epochs"]), row.card["iterations"]) for row in kept] == [(1,) * 3, (2,) * 3]
    assert kept[0].losses + kept[1].losses[1:] + model.losses[2:] == model.losses
    shas = {row.stored_file.sha256 for row in (*kept, model)}
    assert len(shas) == 3 and all(row.card["sha256"] == row.stored_file.sha256 for row in kept)
    own = check_page(client.get(page("model", kept[0].pk)))
    assert "This is the state after epoch 1 of another model." in own and "Scores on held-out notes" in own
    assert there in own
    # The model of an epoch can be run; the loop goes on with the training's own model.
    client.post(page("run_start"), {"backend": f"model:{kept[0].pk}", "token": "r"})
    work(Run.objects.get().job_id)
    assert Job.objects.get(pk=Run.objects.get().job_id).state == Job.State.DONE
    assert loop_of(world.project).model == model
    assert client.get(page("model_file", kept[1].pk)).status_code == 200


def test_a_name_of_an_epoch_that_exists_gets_a_number(world, home):
    taken = TrainedModel.objects.create(project=world.project, name=f"{'x' * 67}-epoch-1")
    words = ("--algorithm", "fresh", "--base", "tiny-bert", "--iterations", "2", "--set", "checkpoints=yes")
    told = train(*words, name="x" * 80)
    assert told["kept"] == [f"{taken.name}-1"] and len(told["epochs"]) == 2


def test_a_failed_training_keeps_nothing(world, home, monkeypatch):
    from models_runtime.training.jobs import training

    def fails(*words, **more):
        raise RuntimeError("The disk is full.")

    monkeypatch.setattr(training, "store_kept", fails)
    words = ("--algorithm", "fresh", "--base", "tiny-bert", "--iterations", "2", "--set", "checkpoints=yes")
    with pytest.raises(CommandError):
        train(*words, name="Court")
    assert [row.state for row in TrainedModel.objects.all()] == [State.FAILED]
    assert not StoredFile.objects.filter(kind=StoredFile.Kind.MODEL).exists()


def test_a_masked_language_model_is_trained_evaluated_and_started_from(world, client, home, trained):
    told = train(
        "--algorithm", "masked", "--base", "tiny-bert", "--iterations", "2", "--set", "rate=0.002",
        "--set", "probe=Paziente: Anna [MASK].", name="Language",
    )  # fmt: skip
    assert (told["state"], told["f1"], len(told["held_out_losses"])) == ("ready", None, 2)
    assert told["held_out_before"] > 0
    (filled,) = told["probe"]
    assert filled["sentence"] == "Paziente: Anna [MASK]." and len(filled["before"]) == len(filled["after"]) == 5
    language = TrainedModel.objects.get()
    assert (language.backend, language.card["unlabeled"]) == ("masked", 2)
    client.force_login(world.manager)
    html = check_page(client.get(page("model", language.pk)))
    assert "Fill-mask probe" in html and "Paziente: Anna [MASK]." in html and "Run on all notes" not in html
    assert "Loss on held-out notes before" in html
    assert f'value="model:{language.pk}">Language' in check_page(client.get(page("models")))
    assert [row.name for row in all_base_models(world.project)] == ["Language"]
    second, job = trained("b", backend="transformer", algorithm="fresh", base="Language", iterations=1)
    assert (job.error, second.state, second.card["base"]) == ("", State.READY, "Language")
    assert strategy_of(second) == "IT"  # A language model is no stage of a language strategy.
    assert second.params["base_model"] == language.pk
    assert any("Language" in text.what and "probe" in text.what for text in free_texts(world.project)), "for erasures"
    # Downloaded and uploaded again.
    file = SimpleUploadedFile("copy.zip", b"".join(client.get(page("model_file", language.pk)).streaming_content))
    client.post(page("model_retire", language.pk))
    client.post(page("model_upload"), {"file": file, "name": "copy"})
    assert TrainedModel.objects.get(name="copy").backend == "masked"


def test_the_stage_in_a_training_is_evaluated_and_its_weights_are_kept(world, client, home, trained, monkeypatch):
    monkeypatch.setattr(gold_notes, "OTHERS", 1)  # The limit of other trainings.
    Document.objects.filter(project=world.project).update(language="it")
    model, job = trained(
        "a", backend="transformer", algorithm="fresh", base="tiny-bert", adapt=2, iterations=1, name="Court",
        settings={"keep_language": "yes"},
    )  # fmt: skip
    assert (job.error, model.state, model.card["unlabeled"]) == ("", State.READY, 2)
    assert len(model.card["adapted"]) == len(model.card["adapted_held_out"]) == 2
    assert [filled["sentence"][:12] for filled in model.card["probe"]] == ["Il paziente ", "Si consiglia"]
    assert all(filled["after"] for filled in model.card["probe"])
    client.force_login(world.manager)
    html = check_page(client.get(page("model", model.pk)))
    assert "Fill-mask probe" in html and "Loss on held-out notes after" in html
    kept = TrainedModel.objects.get(backend="masked")
    assert (kept.name, kept.card["iterations"], kept.losses) == ("Court-language", 2, model.card["adapted"])
    assert "weights after the language pre-training of another model" in check_page(client.get(page("model", kept.pk)))
    next_one, job = trained("b", backend="transformer", algorithm="fresh", base=f"model:{kept.pk}", iterations=1)
    assert (job.error, next_one.state) == ("", State.READY)


def test_learning_the_language_reads_any_number_of_notes(world, monkeypatch):
    for name in ("OTHERS", "OTHERS_CHARACTERS", "LANGUAGE_CHARACTERS", "BATCH"):
        monkeypatch.setattr(gold_notes, name, 3)
    for number in range(10):
        make.make_note(world.project, f"Altra nota {number}.\n", f"molto-{number}")
    found = list(all_other_notes(world.version, 10**9, streamed=True))
    assert len(found) == 12 and found[-1] == "Altra nota 9.\n"
    assert list(all_other_notes(world.version, 10**9)) == []  # A trainer that holds the texts in memory has a limit.
    assert list(gold_notes.other_notes(world.version, 10**9)) == []


def test_a_wrong_sentence_of_the_probe_is_refused_at_once(world, client, home):
    client.force_login(world.manager)
    form = {"gold": 1, "algorithm": "masked:masked", "base": "tiny-bert", "masked-probe": "Anna acude", "token": "t"}
    response = client.post(page("model_train"), form)
    assert response.status_code == 422 and not TrainedModel.objects.exists()
    assert "sentences with one [MASK] each, separated by |" in check_page(response)
    pattern = next(setting.pattern for setting in TRAINABLE["masked"].settings if setting.key == "probe")
    for text, right in (
        ("a [MASK] b", True), ("a [MASK]|[MASK] b", True), ("a [MASK] [MASK]", False), ("a [MASK] | b", False),
        ("a|[MASK]", False), ("", False),
    ):  # fmt: skip
        assert bool(re.fullmatch(pattern, text)) is right, text


def test_a_training_that_ends_early_keeps_the_epochs_before_its_last(world, home, trained, monkeypatch):
    """A person asks for the end during the third of 300 epochs."""
    from models_runtime.training.jobs import watching

    told = watching.Watch.__call__

    def asks(watch, report):
        if report is not None and report["iteration"] == 2:
            TrainedModel.objects.filter(pk=watch.row.pk).update(enough=True)
        return told(watch, report)

    monkeypatch.setattr(watching.Watch, "__call__", asks)
    model, job = trained(
        "a", backend="transformer", algorithm="fresh", base="tiny-bert", iterations=300, name="Court",
        settings={"checkpoints": "yes"},
    )  # fmt: skip
    done = model.card["iterations"]
    assert (job.error, model.state) == ("", State.READY) and 2 <= done < 300
    kept = TrainedModel.objects.filter(card__made_with=model.pk).order_by("pk")
    assert [row.card["epoch"] for row in kept] == list(range(1, done))
