"""spaCy models in the product: epochs with scores, early end, download and upload, runs."""

import io
import json
import zipfile

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.urls import reverse

from annotations.core.errors import ServiceError
from annotations.core.stored_files import read_chunks
from annotations.jobs.runner import run as work
from annotations.models import Job
from models_runtime.backends import children
from models_runtime.models import TrainedModel
from models_runtime.runs.services.runs import start_run
from models_runtime.training.jobs.checkpoints import checkpoint_of, forget_stale
from models_runtime.training.services.trained import upload_model
from models_runtime.training.services.training import end_early, start_training
from tests import factories as make

pytestmark = pytest.mark.queue

State = TrainedModel.State


def page(name, *arguments):
    return reverse(name, args=["ward", *arguments])


def test_from_the_form_to_a_model_a_file_and_a_run(world, client, settings):
    client.force_login(world.manager)
    shown = client.get(page("models")).content.decode()
    assert 'value="crf:lbfgs" required checked' in shown and 'value="spacy:cnn"' in shown
    there = client.post(page("model_train"), {"gold": 1, "algorithm": "spacy:quick", "token": "t"}).url
    model = TrainedModel.objects.get()
    assert (model.backend, model.params["algorithm"], model.name) == ("spacy", "quick", "spacy-1")
    assert "training resumes after the last complete epoch" in client.get(there).content.decode()
    TrainedModel.objects.update(params=model.params | {"iterations": 3})
    work(model.job_id)
    model.refresh_from_db()
    assert (Job.objects.get().error, model.state) == ("", State.READY)
    assert len(model.losses) == len(model.hold_out) == model.card["iterations"] == 3
    assert model.card["scores"]["levels"][0]["micro"]["gold"] == 16
    # The last epoch's F1 and the card's F1 are of the same notes with the same weights.
    assert model.hold_out[-1] == pytest.approx(model.card["scores"]["levels"][0]["micro"]["f1"] or 0, abs=1e-3)
    assert not checkpoint_of(model.pk).exists()
    shown = client.get(there).content.decode()
    assert "F1 on held-out notes by epoch" in shown and "spaCy" in shown
    run = start_run(project=world.project, backend="spacy-1", actor=world.manager, key="r")
    work(run.job_id)
    run.refresh_from_db()
    assert Job.objects.get(pk=run.job_id).state == Job.State.DONE
    assert model.card["sha256"][:12] in run.revision
    data = b"".join(read_chunks(model.stored_file))
    TrainedModel.objects.update(state=State.RETIRED)
    client.post(page("model_upload"), {"file": SimpleUploadedFile("m.zip", data), "name": "mine"})
    brought = TrainedModel.objects.get(name="mine")
    assert (brought.backend, brought.card["labels"]) == ("spacy", model.card["labels"])


def at_step(step, act, monkeypatch):
    """Call `act` at this step of the training."""
    train = children.train

    def watched(*words, on_step, **options):
        def tell(said):
            if said and said["iteration"] == step:
                act()
            return on_step(said)

        return train(*words, on_step=tell, **options)

    monkeypatch.setattr(children, "train", watched)
    monkeypatch.setattr("models_runtime.training.jobs.watching.WRITE_EVERY", 0)


def test_a_training_that_is_ended_early_keeps_its_whole_epochs(world, client, trained, monkeypatch):
    client.force_login(world.manager)

    def press():
        model = TrainedModel.objects.get()
        assert 'id="model-enough"' in client.get(page("model", model.pk)).content.decode()
        client.post(page("model_enough", model.pk))
        assert "Training is ending" in client.get(page("model", model.pk)).content.decode()

    at_step(1, press, monkeypatch)
    model, job = trained(backend="spacy", iterations=500)
    assert (job.state, model.state) == (Job.State.DONE, State.READY)
    assert 1 <= model.card["iterations"] == len(model.losses) < 500


def test_only_running_trainings_in_epochs_can_end_early(world):
    crf = start_training(project=world.project, gold=1, actor=None, key="a")
    with pytest.raises(ServiceError, match="can't end training early"):
        end_early(model=crf)
    spacy = start_training(project=world.project, gold=1, actor=None, key="b", backend="spacy")
    with pytest.raises(ServiceError, match="not running"):
        end_early(model=spacy)
    for model in (crf, spacy):
        with pytest.raises(CommandError, match=r"can't end training early|not running"):
            call_command("models", world.project.slug, "--end-early", model.name)


def test_a_manager_ends_a_training_early_by_command(world):
    model = start_training(project=world.project, gold=1, actor=None, key="a", backend="spacy")
    Job.objects.filter(pk=model.job_id).update(state="running")
    words = ("models", world.project.slug, "--end-early", model.name, "--by")
    for role in ("manager", "reviewer"):
        make.make_member(world.project, role, f"one-{role}")
    with pytest.raises(CommandError, match="doesn't have permission"):
        call_command(*words, "one-reviewer")
    model.refresh_from_db()
    assert not model.enough
    call_command(*words, "one-manager", "--json", stdout=io.StringIO())
    model.refresh_from_db()
    assert model.enough


def test_checkpoints_of_ended_trainings_are_deleted(world, settings):
    model = start_training(project=world.project, gold=1, actor=None, key="a", backend="spacy")
    live, old = checkpoint_of(model.pk), checkpoint_of(10**6)
    for path in (live, old):
        path.write_bytes(b"x")
        assert path.parent.stat().st_mode & 0o077 == 0
    forget_stale()
    assert live.exists() and not old.parent.exists()
    TrainedModel.objects.update(state=State.FAILED)
    forget_stale()
    assert not live.exists()


def test_without_spacy_the_error_says_what_to_do(world, client, trained, monkeypatch):
    client.force_login(world.manager)
    monkeypatch.setattr("models_runtime.core.registry.find_spec", lambda name: None)
    assert "make setup-models" in client.get(page("models")).content.decode()
    monkeypatch.setattr(children, "CHILD", "tests.training.child_without_spacy")
    model, job = trained(backend="spacy")
    assert (job.state, model.state) == (Job.State.FAILED, State.FAILED)
    assert job.error == "The library “spacy” is not installed on this worker. Run “make setup-models” there."


def test_a_file_of_an_unknown_format_is_rejected(world):
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr("card.json", json.dumps({"format": "deidreview-magic-1"}))
    with pytest.raises(ServiceError, match="deidreview-crf-1, deidreview-spacy-1"):
        upload_model(project=world.project, content=made, actor=None)
