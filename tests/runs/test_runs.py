"""Model runs process every note once, isolate errors of single notes, and resume without duplicates when killed."""

import uuid
from datetime import timedelta
from types import SimpleNamespace

import pytest
from django.db.models import Sum
from django.db.models.functions import Now

from annotations import models
from annotations.core.services import ServiceError
from annotations.jobs.runner import LostLease, take
from annotations.jobs.runner import run as work
from annotations.jobs.services.relay import sweep
from annotations.projects.services.labels import merge_labels
from models_runtime.backends.base import Budget, budget_of
from models_runtime.models import Run, RunItem, RunItemState
from models_runtime.runs import jobs
from models_runtime.runs.services import runs
from tests.factories import change, label_of, make_note, make_project
from tests.runs.conftest import finished, project_of
from tests.worlds.fake_backend import FakeBackend
from tests.worlds.killing import Killed

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("fake")]


@pytest.fixture
def project():
    return project_of(10)


def started(project, key="k", **options):
    return runs.start_run(project=project, backend="fake", actor=None, key=key, **options)


def sets_of(run):
    return models.AnnotationSet.objects.filter(author=run.author).count()


def test_every_note_gets_one_annotation_set_with_confidence_and_source(project):
    run = started(project)
    job = finished(run)
    assert (job.state, job.done, job.total) == (models.JobState.DONE, 10, 10)
    assert models.AnnotationSet.objects.filter(author=run.author, state="submitted", blind=False).count() == 10
    span = models.Span.objects.first()
    assert (span.label.code, span.confidence, span.source) == ("PATIENT", 0.9, "capital")
    assert runs.run_counts(run) == {"pending": 0, "done": 10, "failed": 0} and run.revision == "1"
    job = finished(started(project, "p", params={"label": "PLANET"}))
    assert job.result["spans_without_label"] == 20 and models.Span.objects.count() == 20


def test_planted_leaks_are_hidden_by_the_transaction_that_stores_a_batch(project, monkeypatch):
    """Each batch hides its planted leaks, so that no page shows or counts them while the run is in progress."""
    monkeypatch.setattr("annotations.review.rules.planting.chance", lambda *about: 0.0)
    monkeypatch.setattr(jobs.base, "budget_of", lambda backend: Budget(notes=4))
    change(project, planted_share=10)
    run, write, seen = started(project), jobs._write, []

    def watched(row, results):
        dropped = write(row, results)
        spans = models.Span.objects.filter(annotation_set__author=run.author)
        counted = models.SuggestedString.objects.filter(author=run.author).aggregate(of=Sum("count"))["of"]
        seen.append((spans.count(), models.PlantedLeak.objects.count(), models.Review.objects.count(), counted))
        return dropped

    monkeypatch.setattr(jobs, "_write", watched)
    assert finished(run).state == models.JobState.DONE and seen == [(8, 4, 4, 4), (16, 8, 8, 8), (20, 10, 10, 10)]
    assert set(models.Review.objects.values_list("planted_share", "ahead")) == {(10, True)}
    assert set(models.PlantedLeak.objects.values_list("known", "result")) == {("string", "")}


def test_only_the_leading_worker_records_its_device(project):
    run = started(project)
    late = take(run.job_id)
    models.Job.objects.update(lease_token=uuid.uuid4())
    backend = FakeBackend("i2b2-2014")
    backend.device = SimpleNamespace(description="GPU", memory=lambda: 1)
    with pytest.raises(LostLease):
        jobs._record_device(late, run, backend)
    assert "device" not in Run.objects.get().params


def test_a_double_click_is_one_run_and_names_count_up(project):
    assert started(project) == started(project)
    assert (Run.objects.count(), models.Author.objects.count(), RunItem.objects.count()) == (1, 1, 10)
    assert [run.author.name for run in (started(project), started(project, "b"))] == ["fake-1", "fake-2"]
    with pytest.raises(ServiceError, match="already exists"):
        started(project, "c", name="fake-1")
    assert Run.objects.count() == 2


def test_an_unknown_backend_and_an_empty_project():
    project = make_project()
    with pytest.raises(ServiceError, match="Choose one of: fake, known, rules"):
        runs.start_run(project=project, backend="none", actor=None, key="x")
    with pytest.raises(ServiceError, match="This project has no notes"):
        started(project)
    assert not models.Author.objects.exists()


@pytest.mark.parametrize(("text", "reason"), [
    ("EXPLODE", "The backend failed (RuntimeError)."), ("REFUSE", "this note is too strange"),
    ("OUTSIDE", "an invalid span"),
    ("ANNA MARIA", "The backend returned 14 spans. An annotation set can have at most 5."),
])  # fmt: skip
def test_one_note_s_error_fails_only_this_note_which_can_be_retried(project, monkeypatch, text, reason):
    monkeypatch.setattr("annotations.text.spans.MOST_SPANS", 5)
    monkeypatch.setattr(jobs, "MOST_SPANS", 5)
    bad = make_note(project, f"{text} LUIGI", name="bad")
    run = started(project)
    assert finished(run).state == models.JobState.DONE
    item = RunItem.objects.get(state=RunItemState.FAILED)
    assert (item.document, reason in item.error, "LUIGI" in item.error) == (bad, True, False) and sets_of(run) == 10
    models.Document.objects.filter(pk=bad.pk).update(text="Luigi")
    assert runs.retry_failed(run=run, actor=None) == 1
    assert finished(run).state == models.JobState.DONE and sets_of(run) == 11
    with pytest.raises(ServiceError, match="nothing to retry"):
        runs.retry_failed(run=run, actor=None)


def test_a_permanent_error_of_the_backend_stops_the_run(project):
    make_note(project, "HOPELESS")
    job = finished(started(project))
    assert (job.state, job.error) == (models.JobState.FAILED, "the weights are gone")


def test_a_killed_run_resumes_where_it_stopped(project, monkeypatch):
    write, calls = jobs._write, []

    def die(*args):
        calls.append(args)
        if len(calls) == 3:
            raise Killed
        return write(*args)

    monkeypatch.setattr(jobs, "_write", die)
    run = started(project, params={"notes": 3})
    with pytest.raises(Killed):
        work(run.job_id)
    assert models.AnnotationSet.objects.count() == 6
    monkeypatch.setattr(jobs, "_write", write)
    models.Job.objects.update(lease_until=Now() - timedelta(seconds=1))
    assert sweep().put_back == [run.job_id] and finished(run).state == models.JobState.DONE
    assert models.AnnotationSet.objects.count() == 10 and set(RunItem.objects.values_list("attempt", flat=True)) == {1}


def test_a_label_merged_during_a_run_is_followed_by_the_later_batches_and_runs(project, monkeypatch):
    monkeypatch.setattr(jobs.base, "budget_of", lambda backend: Budget(notes=4))
    write = jobs._write

    def with_merge(row, results):
        written = write(row, results)
        if label_of(project, "PATIENT").merged_into_id is None:
            merge_labels(source=label_of(project, "PATIENT"), target=label_of(project, "DOCTOR"), actor=None)
        return written

    monkeypatch.setattr(jobs, "_write", with_merge)
    for key, sets in (("k", 10), ("later", 20)):
        finished(started(project, key))
        assert set(models.Span.objects.values_list("label__code", flat=True)) == {"DOCTOR"}
        assert models.AnnotationSet.objects.filter(spans__isnull=False).distinct().count() == sets


@pytest.mark.parametrize(("budget", "sizes"), [
    ({"notes": 4}, [4, 4, 2]), ({"tokens": 12}, [3, 3, 3, 1]), ({"tokens": 1}, [1] * 10)
])  # fmt: skip
def test_a_batch_is_what_the_backend_takes_at_once(project, monkeypatch, budget, sizes):
    """A batch is limited by its notes and by its estimated tokens (four for each note), and has at least one note."""
    predict, seen = jobs._predict, []

    def watched(backend, items, claim):
        seen.append(len(items))
        return predict(backend, items, claim)

    monkeypatch.setattr(jobs, "_predict", watched)
    assert finished(started(project, params=budget)).state == models.JobState.DONE and seen == sizes


def test_an_ensemble_takes_as_much_at_once_as_its_least_member():
    assert budget_of(FakeBackend("x", notes=4), FakeBackend("x", tokens=9), object()) == Budget(4, 9)
