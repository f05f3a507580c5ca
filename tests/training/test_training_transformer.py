"""Transformers through the product: weights found in a folder, begun with, trained, run, and begun with again."""

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
from annotations.models import Document, Job, Span
from models_runtime.backends import BackendError, children
from models_runtime.core import weights as found_here
from models_runtime.core.weights import weights
from models_runtime.models import Run, TrainedModel
from models_runtime.runs.services.foreign import start_foreign
from models_runtime.training.jobs import training
from models_runtime.training.services.training import start_training
from tests.backends.made_weights import tiny_bert
from tests.training.conftest import made_notes

pytestmark = [pytest.mark.queue, pytest.mark.once]

State = TrainedModel.State
TEXTS = [text for text, _ in made_notes(40)]
# Where it computed, and with how much memory.
PLACE = re.compile(r"CPU \(no GPU is at hand\), [\d.]+\s[MG]B at most")


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
    assert f"Folders in {home}, on this machine and on every one with a worker for the queue gpu." in shown
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
    assert "2 epochs of filling gaps" in shown and PLACE.search(shown)
    run_page = client.post(page("run_start"), {"backend": f"model:{model.pk}", "token": "r"}).url
    run = Run.objects.get()
    assert run.job.queue == Job.Queue.GPU
    work(run.job_id)
    assert Job.objects.get(pk=run.job_id).state == Job.State.DONE
    assert Span.objects.filter(annotation_set__author=run.author).exists()
    assert PLACE.search(said(client.get(run_page)))
    # The next one begins where this one ended.
    assert f'<option value="model:{model.pk}">' in said(client.get(page("models")))
    client.post(page("model_train"), asked | {"base": f"model:{model.pk}", "adapt": "0", "token": "u"})
    second = TrainedModel.objects.get(params__base_model=model.pk)
    TrainedModel.objects.filter(pk=second.pk).update(params=second.params | {"iterations": 1})
    work(second.job_id)
    second.refresh_from_db()
    assert second.state == State.READY and second.card["base"] == model.name
    assert second.hold_out[0] > 0.9


def test_a_bilstm_learns_the_notes_first_and_goes_elsewhere_with_that(world, client):
    client.force_login(world.manager)
    asked = {"gold": 1, "algorithm": "bilstm:quick", "base": "left-aside", "adapt": "2", "token": "t"}
    there = client.post(page("model_train"), asked).url
    model = TrainedModel.objects.get()
    assert (model.params, model.job.queue) == ({"algorithm": "quick", "adapt": 2}, Job.Queue.GPU)
    TrainedModel.objects.update(params=model.params | {"iterations": 2})
    work(model.job_id)
    model.refresh_from_db()
    assert (Job.objects.get().error, len(model.losses), len(model.card["adapted"])) == ("", 2, 2)
    shown = said(client.get(there))
    assert "2 epochs of guessing the next character" in shown and "Loss of guessing the next character" in shown
    assert PLACE.search(shown)
    file = SimpleUploadedFile("copy.zip", b"".join(client.get(page("model_file", model.pk)).streaming_content))
    client.post(page("model_retire", model.pk))  # the same file would be the same model
    client.post(page("model_upload"), {"file": file, "name": "copy"})
    copy = TrainedModel.objects.get(name="copy")
    assert (copy.state, copy.card["sha256"]) == (State.READY, model.card["sha256"])


def test_the_curves_grow_on_the_page_while_it_learns(world, client, monkeypatch):
    steps = [(True, 1, 9.5, None), (True, 2, 8.5, None), (False, 1, 4.0, 0.25), (False, 2, 3.0, 0.5), (False, 3, 2, 1)]
    shown = []

    def learns(*args, told, options, unlabelled, **more):
        assert (options["grouping"], options["adapt"], len(list(unlabelled))) == (4, 2, 2)
        for adapting, iteration, loss, f1 in steps:
            told({"adapting": adapting, "iteration": iteration, "most": 3, "loss": loss, "f1": f1})
            shown.append(said(client.get(page("model", model.pk))))
        raise BackendError("that is enough for this test", permanent=True)

    monkeypatch.setattr(children, "train", learns)
    monkeypatch.setattr(training, "WRITE_EVERY", 0)
    client.force_login(world.viewer)
    model = start_training(project=world.project, gold=1, actor=None, key="k", backend="bilstm", adapt=2, grouping=4)
    work(model.job_id)
    curves = [re.findall(r'<svg class="plot"[^>]*aria-label="([^"]*)"', html) for html in shown]
    adapted = "Loss of guessing the next character, by epoch: 9.5 → 8.5 (2)"
    assert curves == [
        [], [adapted], [adapted],
        [adapted, "Loss by iteration: 4 → 3 (2)", "F1 on the notes held out, by epoch: 0.25 → 0.5 (2)"],
        [adapted, "Loss by iteration: 4 → 2 (3)", "F1 on the notes held out, by epoch: 0.25 → 1 (3)"],
    ]  # fmt: skip
    assert all('hx-trigger="every 1s"' in html for html in shown)


def test_one_language_after_the_other(world, trained, home, client):
    Document.objects.filter(name__in=[f"caso-{n:02}" for n in range(8)]).update(language="es")
    client.force_login(world.manager)
    assert '<option value="es">es</option>' in said(client.get(page("models")))
    first, _ = trained("a", backend="transformer", algorithm="fresh", base="tiny-bert", language="es", iterations=2)
    whole, _ = trained("b", algorithm="ap")
    second, _ = trained("c", backend="transformer", algorithm="fresh", base=first.name, language="it", iterations=2)
    assert (first.state, second.state) == (State.READY, State.READY)
    assert first.card["notes"] + second.card["notes"] == whole.card["notes"]
    assert first.card["held_out"] + second.card["held_out"] == whole.card["held_out"]
    assert not set(first.card["held_out_notes"]) & set(second.card["held_out_notes"])
    assert "notes in es only" in said(client.get(page("model", first.pk)))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"backend": "transformer"}, "say which weights to begin with; there are: tiny-bert, tiny-tagger"),
        ({"backend": "transformer", "base": "../etc"}, "there are no weights '../etc'"),
        ({"backend": "transformer", "base": "tiny-bert", "adapt": 101}, "0 to 100 can"),
        ({"backend": "crf", "base": "tiny-bert"}, "only Transformer begins with weights"),
        ({"backend": "crf", "adapt": 1}, "only BiLSTM-CRF, Transformer can"),
        ({"backend": "bilstm", "grouping": 33}, "1 to 32 can"),
        ({"backend": "crf", "grouping": 2}, "does not read by sentences"),
        ({"language": "de"}, "has no notes in 'de'; its languages: it"),
    ],
)
def test_what_cannot_be_asked(world, home, options, words):
    with pytest.raises(ServiceError, match=words.replace("(", r"\(").replace(".", r"\.")):
        start_training(project=world.project, gold=1, actor=None, key="k", **options)
    assert not TrainedModel.objects.exists()


def test_without_weights_the_page_says_where_to_put_some(world, client, tmp_path, monkeypatch):
    monkeypatch.setattr(found_here, "home", lambda: tmp_path / "weights")
    client.force_login(world.manager)
    with pytest.raises(ServiceError, match="put a folder of them in"):
        start_training(project=world.project, gold=1, actor=None, key="k", backend="transformer")
    shown = said(client.get(page("models")))
    assert f"safetensors in {tmp_path / 'weights'}" in shown and 'name="base"' not in shown


def test_weights_that_went_meanwhile(world, home, tmp_path, monkeypatch):
    model = start_training(
        project=world.project, gold=1, actor=None, key="k", backend="transformer", base="tiny-bert", algorithm="fresh"
    )
    monkeypatch.setattr(found_here, "home", lambda: tmp_path)
    monkeypatch.setattr(found_here, "home", lambda: home)
    labels = {"PER": "PATIENT", "CITY": ""}
    run = start_foreign(
        project=world.project, backend="token-classification", model="tiny-tagger", labels=labels, actor=None, key="r"
    )
    monkeypatch.setattr(found_here, "home", lambda: tmp_path)
    work(model.job_id)
    assert (
        Job.objects.get(kind="train").error
        == f"this worker has no weights tiny-bert: put them in {tmp_path / 'tiny-bert'}"
    )
    model.refresh_from_db()
    assert model.state == State.FAILED
    work(run.job_id)
    assert Job.objects.get(kind="run").error == f"this worker's machine has no folder tiny-tagger; put it in {tmp_path}"


def test_somebody_elses_tagger_from_its_page_and_by_command(world, client, home):
    client.force_login(world.manager)
    place = page("run_tagger", "tiny-tagger")
    assert place in said(client.get(page("runs")))
    shown = said(client.get(place))
    # i2b2's CITY is called so here too; what a PER is, somebody must say.
    assert '<option value="CITY" selected>' in shown
    assert "every machine with a worker for the queue gpu needs it in the same place" in shown
    refused = client.post(place, {"label:CITY": "CITY", "label:PER": "?", "token": "t"})
    assert refused.status_code == 422 and "Say what becomes of PER" in said(refused)
    there = client.post(place, {"label:CITY": "CITY", "label:PER": "PATIENT", "token": "t"}).url
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
    with pytest.raises(CommandError, match="say --backend spacy or bilstm"):
        call_command("train_model", "ward", gold=1, algorithm="quick")
    call_command(
        "run_model", "ward", "token-classification", folder="tiny-tagger", map="PER=DOCTOR", wait=True, json=True
    )
    told = json.loads(capsys.readouterr().out)
    assert (told["state"], told["failed"]) == ("done", 0)


def test_what_the_hub_s_client_fetched_is_called_by_its_id(world, client, made, tmp_path, monkeypatch):
    monkeypatch.setattr(found_here, "home", lambda: tmp_path)
    blobs, snapshots = tmp_path / "models--ward--tiny" / "blobs", tmp_path / "models--ward--tiny" / "snapshots"
    for commit in ("a" * 40, "b" * 40):
        (snapshots / commit).mkdir(parents=True)
    blobs.mkdir()
    for file in (made / "tiny-tagger").iterdir():
        shutil.copy(file, blobs)
        (snapshots / ("b" * 40) / file.name).symlink_to(f"../../blobs/{file.name}")
    (tmp_path / "models--alone").mkdir()
    assert weights() == []  # two commits, and nothing says which
    for words, found in (("../../../etc", []), ("b" * 40 + "\n", ["ward/tiny"])):
        (tmp_path / "models--ward--tiny" / "refs").mkdir(exist_ok=True)
        (tmp_path / "models--ward--tiny" / "refs" / "main").write_text(words)
        assert [row.name for row in weights()] == found
    client.force_login(world.manager)
    place = page("run_tagger", "ward/tiny")
    assert place in said(client.get(page("runs"))) and "ward/tiny" in said(client.get(page("models")))
    there = client.post(place, {"label:CITY": "", "label:PER": "PATIENT", "token": "t"}).url
    run = Run.objects.get()
    assert (there, run.author.name, run.params["folder"]) == (page("run", run.pk), "tiny-1", "ward/tiny")
    shown = said(client.get(there))
    assert "<code>PER</code> became PATIENT" in shown and "became nothing" in shown and "<dd>ward/tiny</dd>" in shown
    work(run.job_id)
    assert Job.objects.get().state == Job.State.DONE
    assert all(source.startswith("tiny-") for source in Span.objects.values_list("source", flat=True) if source)
