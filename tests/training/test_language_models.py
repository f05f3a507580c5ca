"""A language model of its own: it learns from texts, is measured by its loss, and never suggests spans."""

import math

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from annotations.core.services import ServiceError
from annotations.gold.services.splitting import split_version
from annotations.models import Document, GoldVersion, JobState
from annotations.ops.services.erasing import erasure_preview
from models_runtime.backends import files
from models_runtime.core.registry import TRAINABLE, TrainableKind
from models_runtime.models import Calibration, TrainedModel, TrainedModelState
from models_runtime.runs.services.backends import ready_models
from models_runtime.runs.services.loop import loop_of, rounds
from models_runtime.runs.services.runs import start_run
from tests.training.child_of_language import FORMAT, WEIGHTS
from tests.training.conftest import content_of, page
from tests.worlds.checks import check_page

pytestmark = pytest.mark.queue

State = TrainedModelState
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
    assert first == pytest.approx(last + 0.5, abs=0.001)
    assert card["scores"] is None and "labels" not in card
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
