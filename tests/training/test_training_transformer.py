"""Transformers in the product: starting weights from a folder, training, runs, training from a trained model."""

import json
import re
import shutil

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.core.management.base import CommandError
from django.urls import reverse

from annotations.core.errors import ServiceError
from annotations.jobs.runner import run as work
from annotations.models import Job, Span
from models_runtime.backends import BackendError, children
from models_runtime.core import weights as found_here
from models_runtime.core.weights import weights
from models_runtime.models import Run, TrainedModel
from models_runtime.runs.services.external import start_external
from models_runtime.training.jobs import watching
from models_runtime.training.services.training import start_training
from tests.backends.made_weights import tiny_bert
from tests.training.conftest import made_notes
from tests.worlds import learners

pytestmark = pytest.mark.queue

State = TrainedModel.State
TEXTS = [text for text, _ in made_notes(40)]
# Where it computed, and with how much memory.
DEVICE = re.compile(r"CPU \(no GPU available\), peak memory [\d.]+\s[MG]B")


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    home = tmp_path_factory.mktemp("weights")
    tiny_bert(home / "tiny-bert", TEXTS)
    tiny_bert(home / "tiny-tagger", TEXTS, ["O", "B-PER", "I-PER", "B-CITY", "I-CITY"])
    return home


@pytest.fixture
def home(made, monkeypatch):
    monkeypatch.setattr(found_here, "home", lambda: made)
    return made


def page(name, *arguments):
    return reverse(name, args=["ward", *arguments])


def said(response):
    return response.content.decode()


def test_folders_are_found_without_a_library(home, tmp_path, monkeypatch):
    assert [(row.name, row.kind, row.labels) for row in weights()] == [
        ("tiny-bert", "bert", ()),
        ("tiny-tagger", "bert", ("CITY", "PER")),
    ]
    for name in ("pickled", "broken", "-odd name"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "tokenizer.json").write_text("{}")
        (tmp_path / name / "config.json").write_text("[" * 10_000 if name == "broken" else '{"model_type": "bert"}')
        (tmp_path / name / ("pytorch_model.bin" if name == "pickled" else "model.safetensors")).write_text("x")
    monkeypatch.setattr(found_here, "home", lambda: tmp_path)
    assert weights() == []


def test_from_the_form_to_a_model_a_run_and_the_next_model(world, client, home):
    client.force_login(world.manager)
    shown = said(client.get(page("models")))
    assert '<option value="tiny-bert">tiny-bert (bert)</option>' in shown
    assert (
        f"A transformer needs a folder in {home}, on this machine and on each machine with a worker for the gpu queue"
        in shown
    )
    asked = {"gold": 1, "algorithm": "transformer:fresh", "base": "tiny-bert", "adapt": "2", "token": "t"}
    there = client.post(page("model_train"), asked).url
    model = TrainedModel.objects.get()
    assert model.params == {"algorithm": "fresh", "base": "tiny-bert", "adapt": 2}
    assert model.job.queue == Job.Queue.GPU
    TrainedModel.objects.update(params=model.params | {"iterations": 25})
    work(model.job_id)
    model.refresh_from_db()
    assert (Job.objects.get().error, model.state) == ("", State.READY)
    assert (len(model.losses), len(model.hold_out), len(model.card["adapted"])) == (25, 25, 2)
    assert model.card["scores"]["levels"][0]["micro"]["f1"] > 0.9
    shown = said(client.get(there))
    assert "2 epochs of predicting masked tokens" in shown and DEVICE.search(shown)
    run_page = client.post(page("run_start"), {"backend": f"model:{model.pk}", "token": "r"}).url
    run = Run.objects.get()
    assert run.job.queue == Job.Queue.GPU
    work(run.job_id)
    assert Job.objects.get(pk=run.job_id).state == Job.State.DONE
    assert Span.objects.filter(annotation_set__author=run.author).exists()
    assert DEVICE.search(said(client.get(run_page)))
    # The trained model is the starting point of the next one.
    assert f'<option value="model:{model.pk}">' in said(client.get(page("models")))
    client.post(page("model_train"), asked | {"base": f"model:{model.pk}", "adapt": "0", "token": "u"})
    second = TrainedModel.objects.get(params__base_model=model.pk)
    TrainedModel.objects.filter(pk=second.pk).update(params=second.params | {"iterations": 1})
    work(second.job_id)
    second.refresh_from_db()
    assert second.state == State.READY and second.card["base"] == model.name
    assert second.hold_out[0] > 0.9


def test_a_bilstm_with_pre_training_is_downloaded_and_uploaded(world, client, cold_learners):
    client.force_login(world.manager)
    asked = {"gold": 1, "algorithm": "bilstm:quick", "grouping": "", "adapt": "2", "token": "t"}
    there = client.post(page("model_train"), asked).url
    model = TrainedModel.objects.get()
    assert (model.params, model.job.queue) == ({"algorithm": "quick", "adapt": 2}, Job.Queue.GPU)
    TrainedModel.objects.update(params=model.params | {"iterations": 1})
    work(model.job_id)
    learners.use()
    model.refresh_from_db()
    assert (Job.objects.get().error, len(model.losses), len(model.card["adapted"])) == ("", 1, 2)
    shown = said(client.get(there))
    assert "2 epochs of predicting the next character" in shown
    assert "Loss of language pre-training (predicting the next character)" in shown
    assert DEVICE.search(shown)
    file = SimpleUploadedFile("copy.zip", b"".join(client.get(page("model_file", model.pk)).streaming_content))
    client.post(page("model_retire", model.pk))  # an upload of the same file would be the same model
    client.post(page("model_upload"), {"file": file, "name": "copy"})
    copy = TrainedModel.objects.get(name="copy")
    assert (copy.state, copy.card["sha256"]) == (State.READY, model.card["sha256"])


def test_the_curves_grow_on_the_page_while_it_learns(world, client, monkeypatch):
    steps = [(True, 1, 9.5, None), (True, 2, 8.5, None), (False, 1, 4.0, 0.25), (False, 2, 3.0, 0.5), (False, 3, 2, 1)]
    shown = []

    def learns(*args, on_step, options, unlabeled, **more):
        assert (options["grouping"], options["adapt"], len(list(unlabeled))) == (4, 2, 2)
        for adapting, iteration, loss, f1 in steps:
            on_step({"adapting": adapting, "again": False, "iteration": iteration, "most": 3, "loss": loss, "f1": f1})
            shown.append(said(client.get(page("model", model.pk))))
        raise BackendError("That is enough for this test.", permanent=True)

    monkeypatch.setattr(children, "train", learns)
    monkeypatch.setattr(watching, "WRITE_EVERY", 0)
    client.force_login(world.viewer)
    model = start_training(project=world.project, gold=1, actor=None, key="k", backend="bilstm", adapt=2, grouping=4)
    work(model.job_id)
    curves = [re.findall(r'<svg class="plot[^>]*aria-label="([^"]*?)(?:\. The axis[^"]*)?"', html) for html in shown]
    adapted = "Loss of language pre-training (predicting the next character) by epoch: 9.5 → 8.5 (2)"
    assert curves == [
        [], [adapted], [adapted],
        [adapted, "Loss by iteration: 4 → 3 (2)", "F1 on held-out notes by epoch: 0.25 → 0.5 (2)"],
        [adapted, "Loss by iteration: 4 → 2 (3)", "F1 on held-out notes by epoch: 0.25 → 1 (3)"],
    ]  # fmt: skip
    assert all('hx-trigger="every 1s"' in html for html in shown)


def test_invalid_options(world, home):
    for options, words in (
        ({"backend": "transformer"}, "Choose starting weights: tiny-bert, tiny-tagger"),
        ({"backend": "transformer", "base": "../etc"}, "There are no weights “../etc”"),
        ({"backend": "transformer", "base": "tiny-bert", "adapt": 101}, "must be between 0 and 100"),
        ({"backend": "crf", "base": "tiny-bert"}, "no ready model of this type to start from"),
        ({"backend": "crf", "adapt": 1}, "choose one of: BiLSTM-CRF with features and rules, Transformer"),
        ({"backend": "bilstm", "grouping": 33}, "must be between 1 and 32"),
        ({"backend": "crf", "grouping": 2}, "doesn't group sentences"),
        ({"language": "de"}, "has no notes in “de”. Its languages: it"),
    ):
        with pytest.raises(ServiceError, match=re.escape(words)):
            start_training(project=world.project, gold=1, actor=None, key="k", **options)
    assert not TrainedModel.objects.exists()


def test_without_weights_the_page_says_where_to_put_some(world, client, tmp_path, monkeypatch):
    monkeypatch.setattr(found_here, "home", lambda: tmp_path / "weights")
    client.force_login(world.manager)
    with pytest.raises(ServiceError, match="Copy a folder with weights to"):
        start_training(project=world.project, gold=1, actor=None, key="k", backend="transformer")
    shown = said(client.get(page("models")))
    assert f"safetensors in {tmp_path / 'weights'}" in shown and 'name="base"' not in shown


def test_weights_that_were_deleted_meanwhile(world, home, tmp_path, monkeypatch):
    model = start_training(
        project=world.project, gold=1, actor=None, key="k", backend="transformer", base="tiny-bert", algorithm="fresh"
    )
    labels = {"PER": "PATIENT", "CITY": ""}
    run = start_external(
        project=world.project, backend="token-classification", model="tiny-tagger", labels=labels, actor=None, key="r"
    )
    monkeypatch.setattr(found_here, "home", lambda: tmp_path)
    work(model.job_id)
    assert (
        Job.objects.get(kind="train").error
        == f"This worker has no weights “tiny-bert”. Copy them to {tmp_path / 'tiny-bert'}."
    )
    model.refresh_from_db()
    assert model.state == State.FAILED
    work(run.job_id)
    assert (
        Job.objects.get(kind="run").error
        == f"The worker's machine has no folder “tiny-tagger”. Copy it to {tmp_path} there."
    )


def test_a_tagger_trained_elsewhere_runs_from_its_page(world, client, home):
    client.force_login(world.manager)
    tagger_page = page("run_tagger", "tiny-tagger")
    assert tagger_page in said(client.get(page("runs")))
    shown = said(client.get(tagger_page))
    # CITY is also a label of the project; PER has to be mapped.
    assert '<option value="CITY" selected>' in shown
    assert "Each machine with a worker for the gpu queue needs the same folder" in shown
    refused = client.post(tagger_page, {"label:CITY": "CITY", "label:PER": "?", "token": "t"})
    assert refused.status_code == 422 and "Choose a label of this project" in said(refused)
    there = client.post(tagger_page, {"label:CITY": "CITY", "label:PER": "PATIENT", "token": "t"}).url
    run = Run.objects.get()
    assert (there, run.job.queue) == (page("run", run.pk), Job.Queue.GPU)
    assert run.params == {"folder": "tiny-tagger", "labels": {"CITY": "CITY", "PER": "PATIENT"}}
    work(run.job_id)
    assert (Job.objects.get().error, Job.objects.get().state) == ("", Job.State.DONE)
    labels = set(Span.objects.filter(annotation_set__author=run.author).values_list("label__code", flat=True))
    assert labels <= {"CITY", "PATIENT"}
    assert "token-classification" in said(client.get(page("backends"))) or "Transformers" in said(
        client.get(page("backends"))
    )
    assert client.get(page("run_tagger", "tiny-bert")).status_code == 404
    assert client.get(page("run_tagger", "none")).status_code == 404


def test_commands(world, home, capsys):
    call_command(
        "train_model", "ward", gold=1, algorithm="fresh", base="tiny-bert", iterations=1, wait=True, json=True, name="T"
    )
    assert json.loads(capsys.readouterr().out)["backend"] == "transformer"
    with pytest.raises(CommandError, match="Add --backend spacy or --backend bilstm"):
        call_command("train_model", "ward", gold=1, algorithm="quick")
    call_command(
        "run_model", "ward", "token-classification", folder="tiny-tagger", map="PER=DOCTOR", wait=True, json=True
    )
    told = json.loads(capsys.readouterr().out)
    assert (told["state"], told["failed"]) == ("done", 0)


def test_a_snapshot_of_the_hub_s_client_has_its_repository_s_name(world, client, made, tmp_path, monkeypatch):
    monkeypatch.setattr(found_here, "home", lambda: tmp_path)
    blobs, snapshots = tmp_path / "models--ward--tiny" / "blobs", tmp_path / "models--ward--tiny" / "snapshots"
    for commit in ("a" * 40, "b" * 40):
        (snapshots / commit).mkdir(parents=True)
    blobs.mkdir()
    for file in (made / "tiny-tagger").iterdir():
        shutil.copy(file, blobs)
        (snapshots / ("b" * 40) / file.name).symlink_to(f"../../blobs/{file.name}")
    (tmp_path / "models--alone").mkdir()
    assert weights() == []  # two commits, and no reference to one of them
    for words, found in (("../../../etc", []), ("b" * 40 + "\n", ["ward/tiny"])):
        (tmp_path / "models--ward--tiny" / "refs").mkdir(exist_ok=True)
        (tmp_path / "models--ward--tiny" / "refs" / "main").write_text(words)
        assert [row.name for row in weights()] == found
    client.force_login(world.manager)
    tagger_page = page("run_tagger", "ward/tiny")
    assert tagger_page in said(client.get(page("runs"))) and "ward/tiny" in said(client.get(page("models")))
    there = client.post(tagger_page, {"label:CITY": "", "label:PER": "PATIENT", "token": "t"}).url
    run = Run.objects.get()
    assert (there, run.author.name, run.params["folder"]) == (page("run", run.pk), "tiny-1", "ward/tiny")
    shown = said(client.get(there))
    assert "<code>PER</code> → PATIENT" in shown and "ignored" in shown and "<dd>ward/tiny</dd>" in shown
    work(run.job_id)
    assert Job.objects.get().state == Job.State.DONE
    assert all(source.startswith("tiny-") for source in Span.objects.values_list("source", flat=True) if source)
