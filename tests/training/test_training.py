"""Training on a frozen gold version: what is stored, cancellation, erasure, repeatability; spaCy in epochs."""

import hashlib
from contextlib import nullcontext

import pytest
from django.core.management import CommandError

from annotations.core.services import ServiceError
from annotations.core.stored_files import delete_expired, read_chunks
from annotations.gold.services.splitting import split_version
from annotations.jobs.runner import run as work
from annotations.jobs.services import queue
from annotations.models import AnnotationSet, Document, GoldVersion, Job, JobState, Span, StoredFile
from annotations.ops.services.erasing import erase_patient
from annotations.projects.services.labels import merge_labels
from models_runtime.backends import children
from models_runtime.core.gold_sources import gold_notes, other_notes, training_notes
from models_runtime.models import Run, TrainedModel, TrainedModelState
from models_runtime.runs.services.runs import start_run
from models_runtime.training.jobs.kept_models import checkpoint_of, forget_stale
from models_runtime.training.jobs.watching import Watch
from models_runtime.training.services.trained import retire_model
from models_runtime.training.services.training import end_early, start_training
from tests.factories import label_of, make_project, reread
from tests.training.conftest import at_step, page, refused, run_of
from tests.waiting import wait_for
from tests.worlds.commands import told
from tests.worlds.queue import worked

State = TrainedModelState


@pytest.mark.usefixtures("cold_learners")
def test_a_training_keeps_the_model_its_card_and_its_losses(world, trained):
    model, job = trained()
    assert (job.state, job.error, model.state, model.name) == (JobState.DONE, "", State.READY, "crf-1")
    card = model.card
    assert (card["gold"], card["gold_hash"]) == (1, world.version.content_hash)
    assert (card["notes"], card["held_out"], card["spans"]) == (16, 4, 64)
    assert card["labels"] == ["CITY", "DATE", "DOCTOR", "PATIENT"]
    assert card["split_of_version"] is False and card["algorithm"] == "lbfgs" and card["seconds"] > 0
    assert [level["granularity"] for level in card["scores"]["levels"]] == ["subcategory", "category", "binary"]
    assert card["scores"]["levels"][0]["micro"]["gold"] == 16
    assert card["scores"]["levels"][0]["micro"]["f1"] > 0.8 and card["scores"]["characters"]["recall"] > 0.8
    assert len(model.losses) == card["iterations"] == 8 and model.losses[-1] < model.losses[0]
    content = b"".join(read_chunks(model.stored_file))
    assert hashlib.sha256(content).hexdigest() == card["sha256"] == model.stored_file.sha256
    assert job.done == job.total == 9


@pytest.mark.both_databases
def test_a_training_ends_at_the_first_iteration_after_a_patient_is_erased(world, trained, monkeypatch):
    """It doesn't run to its end, which can be hours away, and stores no figures from the notes."""
    learn, write, ended = children.train, Watch._write, []

    def then_ended(*args, **options):
        found = learn(*args, **options)
        ended.append(True)
        return found

    def after_an_erasure(self):
        if Document.objects.filter(patient_id="p3").exists():
            erase_patient(project=world.project, patient_id="p3", actor=world.manager)
        write(self)

    monkeypatch.setattr(children, "train", then_ended)
    monkeypatch.setattr(Watch, "_write", after_an_erasure)
    model, job = trained()
    assert (job.state, model.state, model.stored_file, model.losses) == (JobState.FAILED, State.FAILED, None, [])
    assert "erased during this work" in job.error and not ended


def test_no_patient_stands_on_both_sides_and_a_split_of_the_version_is_kept(world):
    def splits(**shares):
        if shares:
            split_version(version=world.version, seed=f"s{shares['dev']}", shares=shares, actor=None)
            world.version.refresh_from_db()
        found = training_notes(world.version)
        return found, (len(found.train), len(found.hold_out), found.of_version)

    def patients(ids):
        return set(world.version.notes.filter(document__in=ids).values_list("document__patient_id", flat=True))

    found, counts = splits()
    assert counts == (16, 4, False) and splits()[0] == found and not patients(found.train) & patients(found.hold_out)
    found, counts = splits(train=60, dev=20, test=20)
    assert counts == (12, 4, True) and found.seed == "s20"
    # Without dev, notes of train are held out, and none of test.
    found, counts = splits(train=50, dev=0, test=50)
    test = set(world.version.notes.filter(split="test").values_list("document_id", flat=True))
    assert sum(counts[:2]) == 10 and not test & {*found.train, *found.hold_out}


def test_the_texts_and_labels_that_it_learns_from(world):
    """Other notes are those without gold at the start; a merged label is learned as what it became."""
    assert len(list(other_notes(world.version, newest=10**9))) == 2 and list(other_notes(world.version, newest=0)) == []
    merge_labels(source=label_of(world.project, "DOCTOR"), target=label_of(world.project, "PATIENT"), actor=None)
    _, spans = next(gold_notes(world.version, training_notes(world.version).train))
    assert {span.label for span in spans} == {"PATIENT", "DATE", "CITY"}


def test_invalid_trainings_are_rejected_at_once(world):
    for options, why in (
        ({"gold": 7}, "Frozen versions: 1"), ({"algorithm": "magic"}, "Choose one of: lbfgs, ap"),
        ({"name": "rules"}, "is reserved for a backend"), ({"name": "model:1"}, "is reserved for a backend"),
        ({"name": "x" * 81}, "1 to 80 characters"), ({"iterations": 0}, "between 1 and 1000, not 0"),
        ({"backend": "bert"}, "Choose one of: crf, spacy"),
        ({"backend": "spacy", "algorithm": "ap"}, "Choose one of: cnn, quick"),
    ):  # fmt: skip
        refused(world, why, **options)
    assert not Job.objects.exists()


@pytest.mark.both_databases
def test_a_double_click_a_name_that_is_taken_and_a_version_without_spans(world):
    given = {"project": world.project, "gold": 1, "actor": world.manager, "name": "mine"}
    assert start_training(**given, key="same") == start_training(**given, key="same")
    assert (Job.objects.count(), TrainedModel.objects.count()) == (1, 1)
    refused(world, "already exists", name="mine")
    GoldVersion.objects.update(span_count=0)
    refused(world, "no spans")


@pytest.mark.both_databases
def test_a_canceled_training_leaves_no_model_and_can_start_again(world, manager, trained, monkeypatch):
    with monkeypatch.context() as patch:
        at_step(patch, 2, lambda: queue.cancel(Job.objects.get(kind="train")))
        model, job = trained(name="mine", iterations=12)
    assert (job.state, model.state, model.stored_file) == (JobState.CANCELED, State.FAILED, None)
    assert not StoredFile.objects.exists() and 'id="job-retry"' in manager.get(page("model", model.pk)).content.decode()
    manager.post(page("job_retry", job.number))
    assert (reread(model).state, model.losses) == (State.TRAINING, [])
    worked(model)
    assert (model.state, model.name, len(model.losses)) == (State.READY, "mine", 12)
    assert model.card["sha256"] == trained("whole", iterations=12)[0].card["sha256"]


def test_a_training_that_waits_is_canceled_at_once_and_its_name_may_be_taken(world, manager):
    given = {"project": world.project, "gold": 1, "actor": None, "name": "mine"}
    model = start_training(**given, key="a")
    queue.cancel(model.job)
    assert reread(model).state == State.FAILED
    start_training(**given, key="b")
    response = manager.post(page("job_retry", model.job.number), follow=True)
    assert "now named “mine”" in str(next(iter(response.context["messages"])))
    assert (reread(model).state, Job.objects.get(pk=model.job_id).state) == (State.FAILED, JobState.CANCELED)


def test_a_lost_training_process_is_reported(trained, monkeypatch):
    monkeypatch.setattr(children, "_messages", lambda process: iter(()))
    model, job = trained()
    assert (job.state, model.state) == (JobState.FAILED, State.FAILED) and "training process was lost" in job.error


# Seconds without any report.
QUIET = 120


def started(world, key="a", **options):
    options = {"backend": "spacy", **options}
    return start_training(project=world.project, gold=1, actor=None, key=key, **options)


def test_a_training_that_is_ended_early_keeps_its_whole_epochs(manager, trained, monkeypatch):
    def press():
        model = TrainedModel.objects.get()
        assert 'id="model-enough"' in manager.get(page("model", model.pk)).content.decode()
        manager.post(page("model_enough", model.pk))
        assert "Training is ending" in manager.get(page("model", model.pk)).content.decode()

    at_step(monkeypatch, 1, press)
    model, job = trained(backend="spacy", iterations=500)
    assert (job.state, model.state) == (JobState.DONE, State.READY)
    assert 1 <= model.card["iterations"] == len(model.losses) < 500


def test_who_may_end_which_trainings_early(world):
    crf, spacy = started(world, backend="crf"), started(world, "b")
    for model, why in ((crf, "can't end training early"), (spacy, "not running")):
        with pytest.raises(ServiceError, match=why):
            end_early(model=model)
    Job.objects.filter(pk=spacy.job_id).update(state="running")
    words = ("models", "ward", "--end-early", spacy.name, "--by")
    for person, enough in (("reviewer", False), ("manager", True)):
        with nullcontext() if enough else pytest.raises(CommandError, match="doesn't have permission"):
            told(*words, person)
        assert reread(spacy).enough == enough


def test_checkpoints_of_ended_trainings_are_deleted(world):
    live, old = checkpoint_of(started(world).pk), checkpoint_of(10**6)
    for path in (live, old):
        path.write_bytes(b"x")
        assert path.parent.stat().st_mode & 0o077 == 0
    forget_stale()
    assert live.exists() and not old.parent.exists()
    TrainedModel.objects.update(state=State.FAILED)
    forget_stale()
    assert not live.exists()


def test_without_spacy_the_error_says_what_to_do(manager, trained, monkeypatch):
    monkeypatch.setattr("models_runtime.core.registry.find_spec", lambda name: None)
    assert "make setup-models" in manager.get(page("models")).content.decode()
    monkeypatch.setattr(children, "CHILD", "tests.training.child_without_spacy")
    model, job = trained(backend="spacy")
    assert (job.state, model.state) == (JobState.FAILED, State.FAILED)
    assert "“spacy” is not installed on this worker. Run “make setup-models”" in job.error


def test_a_trained_model_runs_by_its_name_and_by_its_number(world, model, settings):
    TrainedModel.objects.filter(pk=model.pk).update(name="ward model")
    assert model.stored_file.expires_at is None
    delete_expired()  # A model outlives the files that expire.
    # A damaged copy on the worker's machine is written anew.
    copy = settings.DATA_DIR / "models" / f"{model.card['sha256']}.zip"
    copy.parent.mkdir(exist_ok=True)
    copy.write_bytes(b"half")
    run = run_of(world.project, "ward model")
    assert (run.author.name, run.backend) == ("ward model-1", f"model:{model.pk}")
    assert model.card["sha256"][:12] in run.revision and AnnotationSet.objects.filter(author=run.author).count() == 22
    span = Span.objects.filter(annotation_set__author=run.author).first()
    assert 0 < span.confidence <= 1 and span.source.startswith("crf-")
    assert run_of(world.project, f"model:{model.pk}", "again").author.name == "ward model-2"


def test_a_model_with_labels_that_the_project_lacks_is_refused(world, model):
    other = make_project(labels=[("NAME", [("PATIENT", "1")])])
    TrainedModel.objects.update(project=other)
    with pytest.raises(ServiceError, match="have its labels CITY, DATE, DOCTOR"):
        start_run(project=other, backend=model.name, actor=None, key="r")
    TrainedModel.objects.update(project=world.project)
    run = start_run(project=world.project, backend=model.name, actor=None, key="r")
    TrainedModel.objects.update(project=other)
    work(run.job_id)
    job = Job.objects.get(pk=run.job_id)
    assert job.state == JobState.FAILED and "doesn't have: CITY, DATE, DOCTOR" in job.error


def test_a_retired_model_has_no_weights_and_keeps_its_runs(world, model, trained, settings):
    run = run_of(world.project, model.name)
    copy = settings.DATA_DIR / "models" / f"{model.card['sha256']}.zip"
    assert copy.exists()
    retire_model(model=model, actor=world.manager)
    assert (reread(model).state, model.stored_file, StoredFile.objects.count()) == (State.RETIRED, None, 0)
    assert Run.objects.get() == run and AnnotationSet.objects.filter(author=run.author).count() == 22
    with pytest.raises(ServiceError, match="Choose one of: known, rules"):
        start_run(project=world.project, backend=model.name, actor=None, key="late")
    # The copy on the worker's machine is deleted when the next model is loaded.
    other, _ = trained("other", iterations=3)
    run_of(world.project, other.name, "next")
    assert not copy.exists()


@pytest.mark.processes
def test_a_killed_training_of_epochs_continues_and_gives_the_same_model(world, redis_server, processes):
    """It continues from its checkpoint: models_runtime.backends.spacy_ner.training."""
    whole = started(world, "whole", iterations=3)
    work(whole.job_id)
    processes("relay")
    worker = processes("work")
    model = started(world, "killed", iterations=3)

    def progress():
        """Loading libraries and scoring the model take long and report nothing."""
        model.refresh_from_db()
        model.job.refresh_from_db()
        return model.state, len(model.losses), model.job.state, model.job.attempt, model.job.done

    wait_for(lambda: len(model.losses) > 1, QUIET, "the first epochs", progress)
    worker.kill9()
    kept = checkpoint_of(model.pk)
    assert kept.is_file()
    processes("work")
    wait_for(lambda: model.job.state == JobState.DONE, QUIET, "the training to end", progress)
    assert Job.objects.get(pk=model.job_id).attempt == 2
    wait_for(lambda: not kept.parent.exists(), what="the checkpoint to go")
    for row in (model, whole):
        assert (reread(row).state, len(row.losses)) == (State.READY, 3)
    assert model.card["sha256"] == whole.card["sha256"]
