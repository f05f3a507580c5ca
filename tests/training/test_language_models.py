"""A language model of its own: it learns from texts, is measured by its loss, and never suggests spans."""

import io
import json
import math

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.core.management.base import CommandError
from django.urls import reverse

from annotations.core.errors import ServiceError
from annotations.core.stored_files import read_chunks
from annotations.gold.services.splitting import split_version
from annotations.models import Document, GoldVersion, Job
from annotations.ops.services.erasing import erasure_preview
from models_runtime.backends import files
from models_runtime.core.registry import TRAINABLE, TrainableKind
from models_runtime.loop.services.loop import loop_of
from models_runtime.loop.services.rounds import rounds
from models_runtime.models import Calibration, TrainedModel
from models_runtime.runs.services.backends import ready_models
from models_runtime.runs.services.runs import start_run
from tests.training.child_of_language import FORMAT, WEIGHTS
from tests.worlds.checks import check_page

pytestmark = pytest.mark.queue

State = TrainedModel.State
KIND = TrainableKind(
    title="Frequencies",
    factory="",
    child="tests.training.child_of_language",
    format=FORMAT,
    algorithms={"count": "Counting"},
    by_epoch=True,
    predicts=False,
)


@pytest.fixture
def language(world, trained, monkeypatch):
    """`language(**options)`: train a language model; returns the model and the job."""
    monkeypatch.setitem(TRAINABLE, "frequencies", KIND)
    return lambda key="l", **options: trained(
        key, **{"backend": "frequencies", "algorithm": "count", "iterations": None, **options}
    )


def texts_of(model, tmp_path):
    """The texts that the learner was given."""
    path = tmp_path / "model.zip"
    path.write_bytes(b"".join(read_chunks(model.stored_file)))
    return set(files.unpack(path, FORMAT, WEIGHTS)[0]["texts"])


def test_it_reads_the_train_notes_and_all_others_but_never_dev_and_test_notes(world, language, tmp_path):
    split_version(version=world.version, seed="s", shares={"train": 60, "dev": 20, "test": 20}, actor=None)
    model, job = language()
    assert (job.state, job.error, model.state, model.name) == (Job.State.DONE, "", State.READY, "frequencies-1")
    train = set(world.version.notes.filter(split="train").values_list("document__text", flat=True))
    outside = set(Document.objects.filter(name__startswith="altro").values_list("text", flat=True))
    assert texts_of(model, tmp_path) == train | outside
    assert (model.card["notes"], model.card["unlabeled"], model.card["held_out"]) == (12, 2, 4)


def test_notes_in_another_language_are_left_out(world, language, tmp_path):
    Document.objects.filter(name="altro-0").update(language="es")
    Document.objects.filter(name="altro-1").update(language="it")
    model, _ = language(language="it")
    assert not texts_of(model, tmp_path) & set(Document.objects.filter(language="es").values_list("text", flat=True))
    assert model.card["unlabeled"] == 1


def test_its_card_has_the_loss_by_epoch_and_no_scores(world, language):
    model, _ = language()
    card = model.card
    first, last = card["held_out_losses"]
    assert first == pytest.approx(last + 0.5, abs=0.001)
    assert card["scores"] is None and "labels" not in card and card["spans"] == 0
    assert len(model.losses) == 2 and model.hold_out == []
    assert not Calibration.objects.exists()


def test_a_version_without_spans_is_enough(world, language):
    GoldVersion.objects.update(span_count=0)
    model, job = language()
    assert (job.state, model.state) == (Job.State.DONE, State.READY)


def test_its_pages_show_perplexity_and_offer_no_run(world, language, client):
    model, _ = language()
    client.force_login(world.manager)
    shown = check_page(client.get(reverse("model", args=["ward", model.pk])))
    assert "Loss on held-out notes by epoch" in shown and "plot-line" in shown
    assert f"{math.exp(model.card['held_out_losses'][-1]):.2f}" in shown
    assert "Notes of the version: 16. Other notes: 2." in shown
    for words in ("Run on all notes", "run_model", "Label set", "Scores on held-out notes", "Not calibrated"):
        assert words not in shown
    assert "Download" in shown and "Rename" in shown and "Retire" in shown
    assert "language model" in check_page(client.get(reverse("models", args=["ward"])))
    for name in ("runs", "backends", "loop", "run_combine"):
        assert f"model:{model.pk}" not in client.get(reverse(name, args=["ward"])).content.decode()


def test_it_is_never_run_combined_or_part_of_the_loop(world, language, trained):
    model, _ = language()
    assert ready_models(world.project) == []
    with pytest.raises(ServiceError, match="There is no backend"):
        start_run(project=world.project, backend=f"model:{model.pk}", actor=None, key="r")
    state = loop_of(world.project)
    assert (state.model, state.training, state.can["train"]) == (None, None, True)
    assert [each.model for each in rounds(world.project)] == [None]
    crf, _ = trained("c", iterations=2)
    assert loop_of(world.project).model == crf
    assert [(each.model, each.more) for each in rounds(world.project)] == [(crf, 0)]


def test_the_commands_print_its_perplexity(world, language):
    model, _ = language()
    out = io.StringIO()
    call_command("models", "ward", stdout=out)
    assert f"perplexity {math.exp(model.card['held_out_losses'][-1]):.2f}" in out.getvalue()
    out = io.StringIO()
    words = ["--gold", "1", "--backend", "frequencies", "--name", "two", "--wait", "--json"]
    call_command("train_model", "ward", *words, stdout=out)
    assert json.loads(out.getvalue())["perplexity"] == pytest.approx(math.exp(model.card["held_out_losses"][-1]))
    with pytest.raises(CommandError, match="no backend “two”"):
        call_command("run_model", "ward", "two")


def test_it_is_uploaded_like_other_models(world, language, client):
    model, _ = language()
    content = b"".join(read_chunks(model.stored_file))
    TrainedModel.objects.all().delete()
    client.force_login(world.manager)
    file = SimpleUploadedFile("model.zip", content)
    response = client.post(reverse("model_upload", args=["ward"]), {"file": file, "name": "back"}, follow=True)
    uploaded = TrainedModel.objects.get()
    assert (uploaded.name, uploaded.backend, uploaded.state) == ("back", "frequencies", State.READY)
    shown = check_page(response)
    assert "notes elsewhere." in shown and "start a run" not in shown


def test_an_erasure_reports_its_model(world, language):
    language()
    assert erasure_preview(project=world.project, patient_id="p3")["models"] == 1
