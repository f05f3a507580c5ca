"""Transformers and language models in the product: weights from a folder, options, epochs, runs, losses."""

import math
import re
import shutil

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from annotations.core.services import ServiceError
from annotations.gold.services.splitting import split_version
from annotations.jobs.runner import run as work
from annotations.models import Document, GoldVersion, Job, JobState
from annotations.ops.selectors.free_texts import free_texts
from annotations.ops.services.erasing import erasure_preview
from models_runtime.backends import BackendError, children, files
from models_runtime.core import external as found_here
from models_runtime.core import gold_sources
from models_runtime.core.external import weights
from models_runtime.core.registry import TRAINABLE, TrainableKind
from models_runtime.core.stages import strategy_of
from models_runtime.models import Calibration, Run, TrainedModel, TrainedModelState
from models_runtime.runs.services.backends import ready_models
from models_runtime.runs.services.external import start_external
from models_runtime.runs.services.loop import loop_of, rounds
from models_runtime.runs.services.runs import start_run
from models_runtime.training.jobs import watching
from models_runtime.training.jobs.kept_models import checkpoint_of
from models_runtime.training.services.training import all_base_models, start_training
from tests import factories as make
from tests.training.child_of_language import FORMAT, WEIGHTS
from tests.training.conftest import content_of, page, refused, run_of
from tests.worlds.checks import check_page
from tests.worlds.commands import told
from tests.worlds.queue import worked

State = TrainedModelState
# Where it computed, and with how much memory.
DEVICE = re.compile(r"CPU\s+\(no\s+GPU\s+available\),\s+peak\s+memory\s+[\d.]+\s[MG]B")


def said(response):
    return response.content.decode()


def test_folders_are_found_without_a_library(home, tmp_path, monkeypatch):
    assert [(row.name, row.kind, row.labels) for row in weights()] == [
        ("few-pieces", "bert", ()), ("tiny-bert", "bert", ()), ("tiny-tagger", "bert", ("CITY", "PER"))
    ]  # fmt: skip
    for name in ("pickled", "broken", "-odd name"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "tokenizer.json").write_text("{}")
        (tmp_path / name / "config.json").write_text("[" * 10_000 if name == "broken" else '{"model_type": "bert"}')
        (tmp_path / name / ("pytorch_model.bin" if name == "pickled" else "model.safetensors")).write_text("x")
    monkeypatch.setattr(found_here, "weights_home", lambda: tmp_path)
    assert weights() == []


def test_the_curves_grow_on_the_page_while_it_learns(world, client, monkeypatch):
    steps = [(True, 1, 9.5, None), (True, 2, 8.5, None), (False, 1, 4.0, 0.25), (False, 2, 3.0, 0.5), (False, 3, 2, 1)]
    shown = []

    def learns(*args, on_step, options, unlabeled, **more):
        assert (options["grouping"], options["adapt"], len(list(unlabeled))) == (4, 2, 2)
        for adapting, iteration, loss, f1 in steps:
            on_step({"adapting": adapting, "again": False, "iteration": iteration, "most": 3, "loss": loss, "f1": f1})
            shown.append(said(client.get(page("model", model.pk))))
        raise BackendError("That is enough for this test.")

    monkeypatch.setattr(children, "train", learns)
    monkeypatch.setattr(watching, "WRITE_EVERY", 0)
    client.force_login(world.viewer)
    model = start_training(project=world.project, gold=1, actor=None, key="k", backend="bilstm", adapt=2, grouping=4)
    work(model.job_id)
    curves = [re.findall(r'<svg class="plot[^>]*aria-label="([^"]*?)(?:\. The axis[^"]*)?"', html) for html in shown]
    adapted = "Loss of language pre-training (predicting the next character) by epoch: 9.5 → 8.5 (2)"
    assert curves == [
        [], [adapted], [adapted],
        ["F1 on held-out notes by epoch: 0.25 → 0.5 (2); best: 0.50 (2)", adapted, "Loss by iteration: 4 → 3 (2)"],
        ["F1 on held-out notes by epoch: 0.25 → 1 (3); best: 1.00 (3)", adapted, "Loss by iteration: 4 → 2 (3)"],
    ]  # fmt: skip
    assert all('hx-trigger="every 1s"' in html for html in shown)


def test_invalid_options(world, home):
    bert = {"backend": "transformer"}
    for options, words in (
        (bert, "Choose starting weights: few-pieces, tiny-bert, tiny-tagger"),
        (bert | {"base": "../etc"}, "There are no weights “../etc”"),
        (bert | {"base": "tiny-bert", "adapt": 101}, "must be between 0 and 100"),
        ({"base": "tiny-bert"}, "no ready model of this type to start from"),
        ({"adapt": 1}, "choose one of: BiLSTM-CRF with features and rules, Transformer"),
        ({"backend": "bilstm", "grouping": 33}, "must be between 1 and 32"),
        ({"grouping": 2}, "doesn't group sentences"),
        ({"language": "de"}, "has no notes in “de”. Its languages: it"),
    ):
        refused(world, re.escape(words), **options)
    assert not TrainedModel.objects.exists()


def test_weights_that_are_not_there_or_were_deleted_meanwhile(world, manager, home, tmp_path, monkeypatch):
    given = {"project": world.project, "gold": 1, "actor": None, "key": "k", "backend": "transformer"}
    model = start_training(**given, base="tiny-bert", algorithm="fresh")
    run = start_external(
        project=world.project, backend="token-classification", model="tiny-tagger",
        labels={"PER": "PATIENT", "CITY": ""}, actor=None, key="r",
    )  # fmt: skip
    monkeypatch.setattr(found_here, "weights_home", lambda: tmp_path)
    for row, where in ((model, tmp_path / "tiny-bert"), (run, tmp_path)):
        work(row.job_id)
        assert str(where) in Job.objects.get(pk=row.job_id).error
    assert make.reread(model).state == State.FAILED
    with pytest.raises(ServiceError, match="Copy a folder with weights to"):
        start_training(**given | {"key": "new"})
    assert f"safetensors in {tmp_path}" in said(manager.get(page("models")))


def test_a_snapshot_of_the_hub_s_client_has_its_repository_s_name(manager, made_weights, tmp_path, monkeypatch):
    monkeypatch.setattr(found_here, "weights_home", lambda: tmp_path)
    tiny = tmp_path / "models--ward--tiny"
    blobs, snapshots, references = tiny / "blobs", tiny / "snapshots", tiny / "refs"
    for folder in (blobs, references, snapshots / ("a" * 40), snapshots / ("b" * 40), tmp_path / "models--alone"):
        folder.mkdir(parents=True)
    for file in (made_weights / "tiny-tagger").iterdir():
        shutil.copy(file, blobs)
        (snapshots / ("b" * 40) / file.name).symlink_to(f"../../blobs/{file.name}")
    assert weights() == []  # two commits, and no reference to one of them
    for words, found in (("../../../etc", []), ("b" * 40 + "\n", ["ward/tiny"])):
        (references / "main").write_text(words)
        assert [row.name for row in weights()] == found
    answer = manager.post(page("run_tagger", "ward/tiny"), {"label:CITY": "", "label:PER": "PATIENT", "token": "t"})
    run = Run.objects.get()
    assert (answer.url, run.author.name, run.params["folder"]) == (page("run", run.pk), "tiny-1", "ward/tiny")
    assert "<code>PER</code> → PATIENT" in said(manager.get(answer.url))


TRANSFORMER = {"backend": "transformer", "algorithm": "fresh", "base": "few-pieces", "name": "Court"}


def test_from_the_form_to_figures_of_each_epoch_and_their_models(world, manager, home):
    form = {
        "gold": 1, "algorithm": "transformer:fresh", "base": "few-pieces", "iterations": 3, "grouping": "2",
        "transformer-sub_words": "every", "transformer-chunks": "disjoint", "transformer-decoding": "argmax",
        "transformer-rate": "0.002", "transformer-batch": "4", "transformer-accumulation": "2",
        "transformer-checkpoints": "yes", "name": "Court", "token": "t",
    }  # fmt: skip
    there = manager.post(page("model_train"), form).url
    assert manager.post(page("model_train"), form).url == there  # A double click starts one training.
    model = TrainedModel.objects.get()
    assert model.job.queue == Job.Queue.GPU
    worked(model)
    assert (Job.objects.get().error, model.state, model.params["grouping"]) == ("", State.READY, 2)
    assert not checkpoint_of(model.pk).with_name("epoch-1.zip").exists()  # The worker's copies are gone.
    epochs = model.card["epochs"]
    assert len(epochs) == 3 and epochs[-1]["tokens"].keys() == {"accuracy", "precision", "recall", "f1"}
    assert [epoch["f1"] for epoch in epochs] == model.hold_out and epochs[-1]["pieces"]["accuracy"] > 0
    html = check_page(manager.get(there))
    assert DEVICE.search(html) and "Held-out notes after each epoch" in html
    assert "<dt>Sequences in a batch</dt><dd>4</dd>" in html
    kept = list(TrainedModel.objects.filter(card__made_with=model.pk).order_by("pk"))
    assert [row.name for row in kept] == ["Court-epoch-1", "Court-epoch-2"]
    assert all(page("model", row.pk) in html for row in kept)
    assert [(len(row.losses), len(row.card["epochs"]), row.card["iterations"]) for row in kept] == [(1,) * 3, (2,) * 3]
    assert kept[0].losses + kept[1].losses[1:] + model.losses[2:] == model.losses
    shas = {row.stored_file.sha256 for row in (*kept, model)}
    assert len(shas) == 3 and all(row.card["sha256"] == row.stored_file.sha256 for row in kept)
    own = check_page(manager.get(page("model", kept[0].pk)))
    assert "This is the state after epoch 1 of another model." in own and there in own
    # The model of an epoch can be run; the loop goes on with the training's own model.
    run = run_of(world.project, f"model:{kept[0].pk}")
    assert run.job.queue == Job.Queue.GPU and DEVICE.search(said(manager.get(page("run", run.pk))))
    assert loop_of(world.project).model == model and manager.get(page("model_file", kept[1].pk)).status_code == 200


def test_a_masked_language_model_is_trained_evaluated_and_started_from(world, manager, home, trained):
    found = told(
        "train_model", "ward", "--gold", 1, "--name", "Language", "--wait", "--algorithm", "masked",
        "--base", "few-pieces", "--iterations", 2, "--set", "rate=0.002", "--set", "probe=Paziente: Anna [MASK].",
    )  # fmt: skip
    assert (found["state"], found["f1"], len(found["held_out_losses"])) == ("ready", None, 2)
    assert found["held_out_before"] > 0
    (filled,) = found["probe"]
    assert filled["sentence"] == "Paziente: Anna [MASK]." and len(filled["before"]) == len(filled["after"]) == 5
    language = TrainedModel.objects.get()
    assert (language.backend, language.card["unlabeled"]) == ("masked", 2)
    html = check_page(manager.get(page("model", language.pk)))
    assert "Paziente: Anna [MASK]." in html and "Run on all notes" not in html
    assert "Loss on held-out notes before" in html
    assert f'value="model:{language.pk}">Language' in check_page(manager.get(page("models")))
    assert [row.name for row in all_base_models(world.project)] == ["Language"]
    second, job = trained("b", **TRANSFORMER | {"base": "Language"}, iterations=1)
    assert (job.error, second.state, second.card["base"]) == ("", State.READY, "Language")
    assert strategy_of(second) == "IT"  # A language model is no stage of a language strategy.
    assert second.params["base_model"] == language.pk
    assert any("Language" in text.what and "probe" in text.what for text in free_texts(world.project)), "for erasures"


def test_the_stage_in_a_training_is_evaluated_and_its_weights_are_kept(world, manager, home, trained, monkeypatch):
    monkeypatch.setattr(gold_sources, "OTHERS", 1)  # The limit of other trainings.
    Document.objects.filter(project=world.project).update(language="it")
    model, job = trained("a", **TRANSFORMER, adapt=2, iterations=1, settings={"keep_language": "yes"})
    assert (job.error, model.state, model.card["unlabeled"]) == ("", State.READY, 2)
    assert len(model.card["adapted"]) == len(model.card["adapted_held_out"]) == 2
    assert [filled["sentence"][:12] for filled in model.card["probe"]] == ["Il paziente ", "Si consiglia"]
    assert all(filled["after"] for filled in model.card["probe"])
    html = check_page(manager.get(page("model", model.pk)))
    assert "Fill-mask probe" in html and "Loss on held-out notes after" in html
    kept = TrainedModel.objects.get(backend="masked")
    assert (kept.name, kept.card["iterations"], kept.losses) == ("Court-language", 2, model.card["adapted"])
    assert "weights after the language pre-training of another model" in check_page(manager.get(page("model", kept.pk)))
    assert kept in all_base_models(world.project)


def test_learning_the_language_reads_any_number_of_notes(world, monkeypatch):
    for name in ("OTHERS", "OTHERS_CHARACTERS", "LANGUAGE_CHARACTERS", "BATCH"):
        monkeypatch.setattr(gold_sources, name, 3)
    for number in range(10):
        make.make_note(world.project, f"Altra nota {number}.\n", f"molto-{number}")
    found = list(gold_sources.all_other_notes(world.version, 10**9, streamed=True))
    assert len(found) == 12 and found[-1] == "Altra nota 9.\n"
    assert list(gold_sources.all_other_notes(world.version, 10**9)) == [], "texts held in memory have a limit"
    assert list(gold_sources.other_notes(world.version, 10**9)) == []


def test_a_wrong_sentence_of_the_probe_is_refused_at_once(manager, home):
    form = {"gold": 1, "algorithm": "masked:masked", "base": "tiny-bert", "masked-probe": "Anna acude", "token": "t"}
    response = manager.post(page("model_train"), form)
    assert response.status_code == 422 and not TrainedModel.objects.exists()
    assert response.context["train"].errors.keys() == {"masked-probe"}
    pattern = next(setting.pattern for setting in TRAINABLE["masked"].settings if setting.key == "probe")
    for text, right in (
        ("a [MASK] b", True), ("a [MASK]|[MASK] b", True), ("a [MASK] [MASK]", False), ("a [MASK] | b", False),
        ("a|[MASK]", False), ("", False),
    ):  # fmt: skip
        assert bool(re.fullmatch(pattern, text)) is right, text


def test_a_training_that_ends_early_keeps_the_epochs_before_its_last(home, trained, monkeypatch):
    """A person asks for the end during the third of 300 epochs."""
    told = watching.Watch.__call__

    def asks(watch, report):
        if report is not None and report["iteration"] == 2:
            TrainedModel.objects.filter(pk=watch.row.pk).update(enough=True)
        return told(watch, report)

    monkeypatch.setattr(watching.Watch, "__call__", asks)
    model, job = trained("a", **TRANSFORMER, iterations=300, settings={"checkpoints": "yes"})
    done = model.card["iterations"]
    assert (job.error, model.state) == ("", State.READY) and 2 <= done < 300
    kept = TrainedModel.objects.filter(card__made_with=model.pk).order_by("pk")
    assert [row.card["epoch"] for row in kept] == list(range(1, done))


# ── Language models that learn from texts alone ───────────────────────────────────────────────────────────────────────
KIND = TrainableKind(
    title="Frequencies", factory="", learner="tests.training.child_of_language.LEARNER", format=FORMAT,
    algorithms={"count": "Counting"}, queue="cpu", predicts=False,
)  # fmt: skip


@pytest.fixture
def language(world, trained, monkeypatch):
    """`language(key, **options)`: train a language model."""
    monkeypatch.setitem(TRAINABLE, "frequencies", KIND)

    def go(key="l", **options):
        model, job = trained(key, backend="frequencies", algorithm="count", iterations=None, **options)
        assert (job.state, job.error, model.state) == (JobState.DONE, "", State.READY)
        return model

    return go


def perplexity_of(model):
    return math.exp(model.card["held_out_losses"][-1])


def test_it_reads_the_train_notes_and_all_others_but_never_dev_and_test_notes(world, language, tmp_path):
    def texts_of(model):
        path = tmp_path / "model.zip"
        path.write_bytes(content_of(model))
        return set(files.unpack_stage(path, FORMAT, WEIGHTS)[0]["texts"])

    split_version(version=world.version, seed="s", shares={"train": 60, "dev": 20, "test": 20}, actor=None)
    GoldVersion.objects.update(span_count=0)  # A version without spans is enough.
    train = set(world.version.notes.filter(split="train").values_list("document__text", flat=True))
    spanish, italian = Document.objects.filter(name__startswith="altro").order_by("name")
    model = language()
    card = model.card
    assert model.name == "frequencies-1" and texts_of(model) == train | {spanish.text, italian.text}
    assert (card["notes"], card["unlabeled"], card["held_out"], card["spans"]) == (12, 2, 4, 0)
    first, last = card["held_out_losses"]
    assert first == pytest.approx(last + 0.5, abs=0.001) and card["scores"] is None and "labels" not in card
    assert len(model.losses) == 2 and model.hold_out == [] and not Calibration.objects.exists()
    Document.objects.filter(pk=spanish.pk).update(language="es")
    Document.objects.filter(pk=italian.pk).update(language="it")
    model = language("it", language="it")
    assert texts_of(model) == train | {italian.text} and model.card["unlabeled"] == 1
    assert erasure_preview(project=world.project, patient_id="p3")["models"] == 2


def test_its_pages_show_perplexity_and_offer_no_run(world, language, manager, trained):
    model = language()
    html = check_page(manager.get(page("model", model.pk)))
    assert "plot-line" in html and f"{perplexity_of(model):.2f}" in html and "Download" in html
    assert not any(words in html for words in ("Run on all notes", "run_model", "Scores on held-out", "Not calibrated"))
    check_page(manager.get(page("models")))
    for name in ("runs", "backends", "loop", "run_combine"):
        assert f"model:{model.pk}" not in manager.get(page(name)).content.decode()
    assert ready_models(world.project) == []
    with pytest.raises(ServiceError, match="There is no backend"):
        start_run(project=world.project, backend=f"model:{model.pk}", actor=None, key="r")
    state = loop_of(world.project)
    assert (state.model, state.training, state.can["train"]) == (None, None, True)
    assert [each.model for each in rounds(world.project)] == [None]
    crf, _ = trained("c", iterations=2)
    assert loop_of(world.project).model == crf
    assert [(each.model, each.more) for each in rounds(world.project)] == [(crf, 0)]


def test_it_is_uploaded_like_other_models(language, manager):
    file = SimpleUploadedFile("model.zip", content_of(language()))
    TrainedModel.objects.all().delete()
    response = manager.post(page("model_upload"), {"file": file, "name": "back"}, follow=True)
    uploaded = TrainedModel.objects.get()
    assert (uploaded.name, uploaded.backend, uploaded.state) == ("back", "frequencies", State.READY)
    html = check_page(response)
    assert "notes elsewhere." in html and "start a run" not in html
