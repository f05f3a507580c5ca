"""Training on a frozen gold version: stored results, cancellation, erasure, repeatability."""

import hashlib

import pytest
from django.urls import reverse

from annotations.core.errors import ServiceError
from annotations.core.stored_files import delete_expired, read_chunks
from annotations.gold.services.splitting import split_version
from annotations.jobs.runner import run as work
from annotations.jobs.services import queue
from annotations.models import AnnotationSet, Document, GoldVersion, Job, Span, StoredFile
from annotations.ops.services.erasing import erase_patient
from annotations.projects.services.labels import merge_labels
from models_runtime.backends import children
from models_runtime.core.gold_notes import gold_notes, other_notes, training_notes
from models_runtime.models import Run, TrainedModel
from models_runtime.runs.services.runs import start_run
from models_runtime.training.jobs.watching import Watch
from models_runtime.training.services.trained import retire_model
from models_runtime.training.services.training import start_training
from tests.factories import label_of, make_project

pytestmark = pytest.mark.queue

State = TrainedModel.State


@pytest.mark.usefixtures("cold_learners")
def test_a_training_keeps_the_model_its_card_and_its_losses(world, trained):
    model, job = trained()
    assert (job.state, job.error, model.state, model.name) == (Job.State.DONE, "", State.READY, "crf-1")
    card = model.card
    assert (card["gold"], card["gold_hash"]) == (1, world.version.content_hash)
    assert (card["notes"], card["held_out"], card["spans"]) == (16, 4, 64)
    assert card["labels"] == ["CITY", "DATE", "DOCTOR", "PATIENT"]
    assert card["split_of_version"] is False and card["algorithm"] == "lbfgs" and card["seconds"] > 0
    assert [level["granularity"] for level in card["scores"]["levels"]] == ["subcategory", "category", "binary"]
    assert card["scores"]["levels"][0]["micro"]["gold"] == 16
    assert card["scores"]["levels"][0]["micro"]["f1"] > 0.8
    assert card["scores"]["characters"]["recall"] > 0.8
    assert len(model.losses) == card["iterations"] == 8
    assert model.losses[-1] < model.losses[0]
    content = b"".join(read_chunks(model.stored_file))
    assert hashlib.sha256(content).hexdigest() == card["sha256"] == model.stored_file.sha256
    assert job.done == job.total == 9


@pytest.mark.both_databases
def test_a_training_fails_if_a_patient_is_erased_meanwhile(world, trained, monkeypatch):
    learn = children.train

    def train_and_erase(*args, **options):
        sha256 = learn(*args, **options)
        erase_patient(project=world.project, patient_id="p3", actor=world.manager)
        return sha256

    monkeypatch.setattr(children, "train", train_and_erase)
    model, job = trained()
    assert (job.state, model.state, model.stored_file) == (Job.State.FAILED, State.FAILED, None)
    assert "erased during this work" in job.error
    monkeypatch.undo()
    again, _ = trained("again")
    assert again.state == State.READY


def test_a_training_ends_at_the_first_iteration_after_a_patient_is_erased(world, trained, monkeypatch):
    """It doesn't run to its end, which can be hours away, and stores no figures from the notes."""
    learn, ended = children.train, []

    def then_ended(*args, **options):
        found = learn(*args, **options)
        ended.append(True)
        return found

    write = Watch._write

    def after_an_erasure(self):
        if Document.objects.filter(patient_id="p3").exists():
            erase_patient(project=world.project, patient_id="p3", actor=world.manager)
        write(self)

    monkeypatch.setattr(children, "train", then_ended)
    monkeypatch.setattr(Watch, "_write", after_an_erasure)
    model, job = trained()
    assert (job.state, model.state, model.stored_file, model.losses) == (Job.State.FAILED, State.FAILED, None, [])
    assert "erased during this work" in job.error and not ended


def test_the_same_gold_gives_the_same_model_and_another_algorithm_another(trained):
    one, _ = trained("a")
    two, _ = trained("b")
    other, _ = trained("c", algorithm="ap")
    assert one.card["sha256"] == two.card["sha256"] != other.card["sha256"]
    assert [one.name, two.name, other.name] == ["crf-1", "crf-2", "crf-3"]


def test_no_patient_stands_on_both_sides_and_a_split_of_the_version_is_kept(world):
    splits = training_notes(world.version)
    assert (len(splits.train), len(splits.hold_out), splits.of_version) == (16, 4, False)
    assert splits == training_notes(world.version)

    def patients(ids):
        rows = world.version.notes.filter(document__in=ids)
        return set(rows.values_list("document__patient_id", flat=True))

    assert not patients(splits.train) & patients(splits.hold_out)
    split_version(version=world.version, seed="s", shares={"train": 60, "dev": 20, "test": 20}, actor=None)
    world.version.refresh_from_db()
    splits = training_notes(world.version)
    assert (len(splits.train), len(splits.hold_out), splits.seed, splits.of_version) == (12, 4, "s", True)


def test_a_split_without_dev_holds_out_of_train_alone(world):
    split_version(version=world.version, seed="s", shares={"train": 50, "dev": 0, "test": 50}, actor=None)
    world.version.refresh_from_db()
    splits = training_notes(world.version)
    test = set(world.version.notes.filter(split="test").values_list("document_id", flat=True))
    assert len(splits.train) + len(splits.hold_out) == 10
    assert not test & {*splits.train, *splits.hold_out}


def test_other_notes_are_those_without_gold_at_the_start(world):
    texts = list(other_notes(world.version, newest=10**9))
    assert len(texts) == 2
    assert list(other_notes(world.version, newest=0)) == []


def test_a_merged_label_is_learned_as_what_it_became(world):
    merge_labels(source=label_of(world.project, "DOCTOR"), target=label_of(world.project, "PATIENT"), actor=None)
    _, spans = next(gold_notes(world.version, training_notes(world.version).train))
    assert {span.label for span in spans} == {"PATIENT", "DATE", "CITY"}


@pytest.mark.both_databases
def test_two_starts_by_a_double_click_are_one_training(world):
    one, two = (start_training(project=world.project, gold=1, actor=world.manager, key="same") for _ in range(2))
    assert one == two
    assert (Job.objects.count(), TrainedModel.objects.count()) == (1, 1)


def test_invalid_trainings_are_rejected_at_once(world):
    for options, why in (
        ({"gold": 7}, "Frozen versions: 1"),
        ({"algorithm": "magic"}, "Choose one of: lbfgs, ap"),
        ({"name": "rules"}, "is reserved for a backend"),
        ({"name": "model:1"}, "is reserved for a backend"),
        ({"name": "x" * 81}, "1 to 80 characters"),
        ({"iterations": 0}, "between 1 and 1000, not 0"),
        ({"backend": "bert"}, "Choose one of: crf, spacy"),
        ({"backend": "spacy", "algorithm": "ap"}, "Choose one of: cnn, quick"),
    ):
        with pytest.raises(ServiceError, match=why):
            start_training(project=world.project, actor=None, key="k", **{"gold": 1, **options})
    assert not Job.objects.exists()


@pytest.mark.both_databases
def test_a_name_that_is_taken_and_a_version_without_spans(world):
    start_training(project=world.project, gold=1, actor=None, key="a", name="mine")
    with pytest.raises(ServiceError, match="already exists"):
        start_training(project=world.project, gold=1, actor=None, key="b", name="mine")
    GoldVersion.objects.update(span_count=0)
    with pytest.raises(ServiceError, match="no spans"):
        start_training(project=world.project, gold=1, actor=None, key="c")


def canceled_at(step, monkeypatch):
    """Cancel the job at this step of the training."""
    train = children.train

    def watched(*words, on_step, **options):
        def tell(said):
            if said and said["iteration"] == step:
                queue.cancel(Job.objects.get(kind="train"))
            on_step(said)

        return train(*words, on_step=tell, **options)

    monkeypatch.setattr(children, "train", watched)
    monkeypatch.setattr("annotations.jobs.runner.claims.WRITE_EVERY", 0)


@pytest.mark.both_databases
def test_a_canceled_training_leaves_no_model(world, trained, monkeypatch):
    canceled_at(2, monkeypatch)
    model, job = trained(name="mine", iterations=1000)
    assert (job.state, model.state, model.stored_file) == (Job.State.CANCELED, State.FAILED, None)
    assert not StoredFile.objects.exists()
    # The name is free again.
    start_training(project=world.project, gold=1, actor=None, key="b", name="mine")


def test_a_canceled_training_starts_again_with_the_same_settings(world, client, trained, monkeypatch):
    with monkeypatch.context() as patch:
        canceled_at(2, patch)
        model, job = trained(name="mine", iterations=12)
    assert (job.state, model.state) == (Job.State.CANCELED, State.FAILED)
    client.force_login(world.manager)
    assert 'id="job-retry"' in client.get(reverse("model", args=["ward", model.pk])).content.decode()
    client.post(reverse("job_retry", args=["ward", job.number]))
    model.refresh_from_db()
    assert (model.state, model.losses) == (State.TRAINING, [])
    work(model.job_id)
    model.refresh_from_db()
    assert (model.state, model.name, len(model.losses)) == (State.READY, "mine", 12)
    assert model.card["sha256"] == trained("whole", iterations=12)[0].card["sha256"]


def test_a_failed_training_whose_name_is_taken_by_now_says_so(world, client):
    model = start_training(project=world.project, gold=1, actor=None, key="a", name="mine")
    queue.cancel(model.job)
    start_training(project=world.project, gold=1, actor=None, key="b", name="mine")
    client.force_login(world.manager)
    response = client.post(reverse("job_retry", args=["ward", model.job.number]), follow=True)
    assert "now named “mine”" in str(next(iter(response.context["messages"])))
    model.refresh_from_db()
    assert (model.state, Job.objects.get(pk=model.job_id).state) == (State.FAILED, Job.State.CANCELED)


def test_a_training_that_waits_is_canceled_at_once(world):
    model = start_training(project=world.project, gold=1, actor=None, key="a")
    queue.cancel(model.job)
    model.refresh_from_db()
    assert model.state == State.FAILED


def test_a_lost_training_process_is_reported(world, trained, monkeypatch):
    monkeypatch.setattr(children, "_messages", lambda process: iter(()))
    model, job = trained()
    assert (job.state, model.state) == (Job.State.FAILED, State.FAILED)
    assert "training process was lost" in job.error


def test_a_model_outlives_the_files_that_expire(trained):
    model, _ = trained()
    assert model.stored_file.expires_at is None
    delete_expired()
    model.refresh_from_db()
    assert model.stored_file is not None


def run_of(world, word, key="run"):
    run = start_run(project=world.project, backend=word, actor=world.manager, key=key)
    work(run.job_id)
    run.refresh_from_db()
    return run, Job.objects.get(pk=run.job_id)


def test_a_trained_model_runs_by_its_name_and_by_its_number(world, trained):
    model, _ = trained(name="ward model")
    run, job = run_of(world, "ward model")
    assert (job.state, job.error, run.author.name, run.backend) == (
        Job.State.DONE, "", "ward model-1", f"model:{model.pk}"
    )  # fmt: skip
    assert model.card["sha256"][:12] in run.revision
    assert AnnotationSet.objects.filter(author=run.author).count() == 22
    span = Span.objects.filter(annotation_set__author=run.author).first()
    assert 0 < span.confidence <= 1 and span.source.startswith("crf-")
    again, _ = run_of(world, f"model:{model.pk}", "again")
    assert again.author.name == "ward model-2"


def test_a_model_with_labels_that_the_project_lacks_is_refused(world, trained):
    model, _ = trained()
    other = make_project(labels=[("NAME", [("PATIENT", "1")])])
    TrainedModel.objects.update(project=other)
    with pytest.raises(ServiceError, match="have its labels CITY, DATE, DOCTOR"):
        start_run(project=other, backend=model.name, actor=None, key="r")
    TrainedModel.objects.update(project=world.project)
    run = start_run(project=world.project, backend=model.name, actor=None, key="r")
    TrainedModel.objects.update(project=other)
    work(run.job_id)
    job = Job.objects.get(pk=run.job_id)
    assert (job.state, "doesn't have: CITY, DATE, DOCTOR" in job.error) == (Job.State.FAILED, True)


def test_a_retired_model_has_no_weights_and_keeps_its_runs(world, trained, settings):
    model, _ = trained()
    run, _ = run_of(world, model.name)
    cached = list((settings.DATA_DIR / "models").glob(f"{model.card['sha256']}.zip"))
    assert len(cached) == 1
    retire_model(model=model, actor=world.manager)
    model.refresh_from_db()
    assert (model.state, model.stored_file, StoredFile.objects.count()) == (State.RETIRED, None, 0)
    assert Run.objects.get() == run and AnnotationSet.objects.filter(author=run.author).count() == 22
    with pytest.raises(ServiceError, match="Choose one of: known, rules"):
        start_run(project=world.project, backend=model.name, actor=None, key="late")
    # The copy on the worker's machine is deleted when the next model is loaded.
    other, _ = trained("other", iterations=3)
    run_of(world, other.name, "next")
    assert not cached[0].exists()


def test_a_damaged_copy_is_written_anew(world, trained, settings):
    model, _ = trained()
    folder = settings.DATA_DIR / "models"
    folder.mkdir(exist_ok=True)
    (folder / f"{model.card['sha256']}.zip").write_bytes(b"half")
    assert run_of(world, model.name)[1].state == Job.State.DONE
