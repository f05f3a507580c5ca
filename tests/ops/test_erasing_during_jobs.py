"""A patient is erased while a job or a person works on the notes.

What has read the notes before the erasure stores nothing of them; what is being stored is stored first, then erased.
"""

import time
import uuid
from contextlib import nullcontext
from types import SimpleNamespace

import pytest
from django.db import IntegrityError, OperationalError, connection

from annotations import models
from annotations.agreement.rules.units import ComparedUnit
from annotations.agreement.services import comparing
from annotations.agreement.services import figures as agreeing
from annotations.agreement.services.figures import figures_of
from annotations.annotate.services import annotation_set as seeding
from annotations.core import services
from annotations.core.services import PATIENT_ERASED, ErasedMeanwhile, ServiceError, silent
from annotations.exchange.services import exporting, importing
from annotations.exchange.services.exporting import export_to_path, run_export
from annotations.exchange.services.importing import run_import
from annotations.exchange.services.staged import pack, start_export
from annotations.gold.services import making
from annotations.gold.services.making import make_gold, make_gold_bulk
from annotations.jobs.runner import run as work
from annotations.jobs.services import queue
from annotations.jobs.services.queue import begin_undo
from annotations.models import AnnotationSet, Document, Job, JobState, Project, Span, StoredFile
from annotations.models.project import SecondReview
from annotations.ops.services import erasing
from annotations.ops.services.backup import backups_before_erasing, write_backup
from annotations.ops.services.backup_engines import current
from annotations.projects.services import labels as label_services
from annotations.projects.services.labels import merge_labels
from annotations.review.services import bulk as bulk_review
from annotations.review.services import handover
from annotations.review.services.bulk import run_bulk, undo_bulk
from annotations.review.services.deciding import Request, decide
from annotations.review.services.finishing import finish_review, reopen_review
from annotations.review.services.log import Act
from annotations.scores.services import scoring
from annotations.scores.services import side_by_side as beside
from annotations.scores.services.scoring import score, score_request
from annotations.scores.services.side_by_side import comparison_request, side_by_side
from models_runtime.core import llm
from models_runtime.models import Calibration, JudgedNote, Judgment, LlmAnswer, RunItem
from models_runtime.refining.jobs import judging as judging_jobs
from models_runtime.runs import jobs
from models_runtime.runs.services import runs
from models_runtime.training.jobs import calibration as calibrating
from models_runtime.training.services.calibration import start_calibration
from tests import factories as make
from tests.backends.llm.test_judging import honest
from tests.exchange.brat_files import stage
from tests.ops.erasing_world import PATIENT, Meanwhile, bulk, erase, judge, world
from tests.worlds.queue import worked

__all__ = ["bulk", "judge", "world"]  # the fixtures
pytestmark = [pytest.mark.queue, pytest.mark.django_db(transaction=True)]


def a_score(world, **options):
    return score(score_request(world.project, version=1, author="annotator:ann"), **options)


def a_comparison(world, **options):
    wanted = comparison_request(world.project, version=1, names=["annotator:ann", "annotator:ben"])
    return side_by_side(wanted, **options)


def agreement(world, **options):
    return figures_of(project=world.project, unit=ComparedUnit.TOKEN, **options)


def start_run(world):
    return runs.start_run(project=world.project, backend="fake", actor=None, key="k")


def a_run(world):
    run = start_run(world)
    work(run.job_id)
    return run


def an_export(world):
    return start_export(project=world.project, set_spec="gold:1", format="brat", actor=world.mia)


def calibrated(world, monkeypatch, erase_first=False):
    """A job that calibrates a run with made-up figures, and erases the patient before it returns them."""

    def calibration_by(row, version, *, progress):
        made = make.make_calibration(row, version)
        Calibration.objects.all().delete()
        made.pk = None
        if erase_first:
            erase(world)
        return made

    run = a_run(world)
    monkeypatch.setattr(calibrating, "calibration_by", calibration_by)
    return start_calibration(project=world.project, author_id=run.author_id, gold=1, actor=world.mia)


def answers(world):
    return llm.KeptAnswers(world.project, SimpleNamespace(record=lambda: None))


def staged(world, text):
    return stage(world.project, pack([("p.txt", text)]), format="text", written_as="", actor=world.mia)


def erase_after(world, monkeypatch, module, name):
    """Erase the patient when this function has returned."""
    original = getattr(module, name)

    def then_erase(*given):
        found = original(*given)
        erase(world)
        return found

    monkeypatch.setattr(module, name, then_erase)


# ── The notes have been read ─────────────────────────────────────────────────────────────────────────────────────────


READING = {
    "an export": lambda world, tell: run_export(
        project_id=world.project.pk, set_spec="gold:1", format="brat", actor_id=None, progress=tell
    ),
    "a score": lambda world, tell: a_score(world, progress=tell),
    "a comparison": lambda world, tell: a_comparison(world, progress=tell),
    "agreement": lambda world, tell: agreement(world, progress=tell),
}


@pytest.fixture
def erase_once(world):
    """A progress callback that erases the patient when all notes have been read."""
    return lambda at, total: erase(world) if at >= total else None


@pytest.mark.parametrize("what", READING)
def test_work_that_has_read_the_notes_stores_nothing(world, erase_once, what):
    with pytest.raises(ErasedMeanwhile):
        READING[what](world, erase_once)
    assert not StoredFile.objects.exists() and not models.Figures.objects.exists()


@pytest.mark.parametrize("name", ["out", "out.zip"])
def test_an_export_to_a_path(world, erase_once, tmp_path, name):
    out = {"project": world.project, "out": tmp_path / name, "format": "brat", "set_spec": "gold:1"}
    with pytest.raises(ErasedMeanwhile):
        export_to_path(**out, progress=erase_once)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("what", ["an export", "a calibration"])
def test_the_job_says_why_it_failed(world, fake, monkeypatch, what):
    if what == "an export":
        erase_after(world, monkeypatch, exporting, "write_zip")
        job = an_export(world)
    else:
        job = calibrated(world, monkeypatch, erase_first=True)
    worked(job)
    assert job.state == JobState.FAILED and "were erased during this work" in job.error
    assert not StoredFile.objects.exists() and not Calibration.objects.exists()


def test_comparisons_of_annotation_sets(world, monkeypatch):
    compare = comparing._compare

    def after_an_erasure(project, ids):
        erase(world)
        return compare(project, ids)

    monkeypatch.setattr(comparing, "_compare", after_an_erasure)
    comparing.bring_up_to_date(world.project)
    assert models.Comparison.objects.count() == 3 and not models.Stale.objects.exists()


def test_making_gold_of_a_set_whose_note_is_erased(world):
    AnnotationSet.objects.filter(author__kind="gold").delete()
    Document.objects.filter(pk=world.notes[0].pk).update(patient_id="")
    Document.objects.filter(pk=world.notes[3].pk).update(patient_id=PATIENT)
    about = {"project_id": world.project.pk, "author_id": make.make_author(world.project, world.ann).pk}
    done = make_gold_bulk(**about, actor_id=None, progress=lambda at, total: erase(world))
    assert (done["made"], done["kept"], Document.objects.count()) == (3, 0, 3)


def test_a_run(world, fake, monkeypatch):
    erase_after(world, monkeypatch, jobs, "_predict")
    run = a_run(world)
    assert Job.objects.get(pk=run.job_id).state == JobState.DONE
    assert RunItem.objects.filter(run=run).count() == AnnotationSet.objects.filter(author=run.author).count() == 3


def test_an_answer_of_a_language_model(world):
    kept, text = answers(world), world.notes[0].text
    erase(world)
    kept.keep("k", text, [(0, 11, "PATIENT")])
    assert not LlmAnswer.objects.exists()


def test_an_import_that_starts_after_the_erasure_finds_no_upload(world):
    row = staged(world, b"Mario Rossi")
    erase(world)
    with pytest.raises(ServiceError, match="were deleted"):
        run_import(import_id=row.pk, progress=silent)
    assert models.Import.objects.get().state == models.ImportState.RUNNING and Document.objects.count() == 3


@pytest.mark.parametrize("step", ["its notes", "a verdict"])
def test_a_judging(world, judge, monkeypatch, step):
    def while_it_answers(body):
        try:
            erase(world)
        finally:
            connection.close()
        return honest(body)

    def after_an_erasure(claim, rows):
        erase(world)
        keep(claim, rows)

    keep = judging_jobs._store_notes
    if step == "its notes":
        monkeypatch.setattr(judging_jobs, "_store_notes", after_an_erasure)
    else:
        judge.server.script = while_it_answers
    job = judge()
    assert (job.state, job.error) == (JobState.DONE, "")
    assert (JudgedNote.objects.count(), Judgment.objects.count(), LlmAnswer.objects.count()) == (3, 3, 3)


def gold_notes():
    return set(Span.objects.filter(annotation_set__author__kind="gold").values_list("annotation_set__document", flat=1))


def test_a_bulk_act(world, bulk, monkeypatch):
    erase_after(world, monkeypatch, bulk_review, "_pairs")
    done = run_bulk(bulk=bulk)
    assert (done["decided"], done["left"]) == (3, 1)
    assert models.Decision.objects.count() == 3 and gold_notes() == {note.pk for note in world.notes[1:]}


def test_the_undo_of_a_bulk_act(world, bulk, monkeypatch):
    run_bulk(bulk=bulk)
    assert len(gold_notes()) == 4 and begin_undo(bulk)
    erase_after(world, monkeypatch, bulk_review, "_pairs")
    assert undo_bulk(bulk=bulk)["undone"] == 3
    assert not models.Decision.objects.exists() and not gold_notes()


# ── Results are being stored ─────────────────────────────────────────────────────────────────────────────────────────


def test_the_lock_belongs_inside_a_transaction(world):
    with pytest.raises(RuntimeError):
        services.hold(world.project.pk)


def gold_of_all(world, monkeypatch):
    AnnotationSet.objects.filter(author__kind="gold").delete()
    author = make.make_author(world.project, world.ann).pk
    return lambda: make_gold_bulk(project_id=world.project.pk, author_id=author, actor_id=None, progress=silent)


def a_calibration(world, monkeypatch):
    job = calibrated(world, monkeypatch)
    return lambda: work(job.pk)


def an_answer(world, monkeypatch):
    kept = answers(world)
    return lambda: kept.keep("k", world.notes[0].text, [(0, 11, "PATIENT")])


def of(store):
    return lambda world, monkeypatch: lambda: store(world)


STORING = {
    "an export": (exporting, "unerased", of(lambda world: work(an_export(world).pk))),
    "a score": (scoring, "unerased", of(a_score)), "a comparison": (beside, "unerased", of(a_comparison)),
    "agreement": (agreeing, "unerased", of(agreement)),
    "comparisons": (comparing, "hold", of(lambda world: comparing.bring_up_to_date(world.project))),
    "gold of many": (making, "hold", gold_of_all), "a run": (jobs, "hold", of(a_run)),
    "a calibration": (calibrating, "unerased", a_calibration), "an answer": (llm, "hold", an_answer),
}  # fmt: skip


@pytest.mark.parametrize("what", STORING)
def test_an_erasure_waits_for_the_storing_of(world, fake, monkeypatch, what):
    module, name, prepare = STORING[what]
    store = prepare(world, monkeypatch)
    meanwhile = Meanwhile(world, monkeypatch, module, name, after=True)
    store()
    meanwhile.check()
    assert not Job.objects.exclude(state=JobState.DONE).exists()


@pytest.mark.parametrize("act", ["the act", "its undo"])
def test_an_erasure_waits_for_a_batch_of_a_bulk_act(world, bulk, monkeypatch, act):
    work_of = run_bulk
    if act == "its undo":
        run_bulk(bulk=bulk)
        begin_undo(bulk)
        work_of = undo_bulk
    meanwhile = Meanwhile(world, monkeypatch, queue, "hold", after=True)
    work_of(bulk=bulk)
    meanwhile.check()
    assert make.reread(bulk).state == (models.ActState.DONE if act == "the act" else models.ActState.UNDONE)


@pytest.mark.parametrize(("step", "at"), [("its notes", 1), ("a verdict", 2)])
def test_an_erasure_waits_for_what_a_judging_stores(world, judge, monkeypatch, step, at):
    meanwhile = Meanwhile(world, monkeypatch, judging_jobs, "hold", after=True, at=at)
    job = judge()
    meanwhile.check()
    assert (job.state, job.error) == (JobState.DONE, "")
    assert (JudgedNote.objects.count(), Judgment.objects.count()) == (3, 3)


def test_an_erasure_waits_for_an_import_that_starts_and_is_refused_then(world, monkeypatch):
    row = staged(world, b"Another note")
    meanwhile = Meanwhile(world, monkeypatch, importing, "hold", after=True)
    write = importing._write

    def when_the_erasure_has_looked(*given):
        meanwhile.join()
        write(*given)

    if connection.vendor == "postgresql":  # on SQLite the erasure waits for the transaction of the batch
        monkeypatch.setattr(importing, "_write", when_the_erasure_has_looked)
    run_import(import_id=row.pk, progress=silent)
    assert meanwhile.waited
    meanwhile.join()
    if connection.vendor == "postgresql":
        assert [error.code for error in meanwhile._errors] == ["import"]
        assert Document.objects.filter(patient_id=PATIENT).exists()


# ── Somebody works on one of the patient's notes ─────────────────────────────────────────────────────────────────────


def test_gold_of_one_annotation_set(world, monkeypatch):
    Span.objects.filter(annotation_set__author__kind="gold").delete()
    annotation_set = world.notes[0].annotation_sets.get(author__user=world.ann)
    meanwhile = Meanwhile(world, monkeypatch, making, "gold_author")
    make_gold(document=world.notes[0], annotation_set=annotation_set, actor=world.mia, replace=True)
    meanwhile.check()


def suggested(world):
    """The span of a run on the patient's note."""
    return make.make_set(world.notes[0], "run:rules-1", [(0, 11, "PATIENT")]).spans.get()


@pytest.mark.parametrize("after", [False, True])
def test_an_annotation_set_that_begins_from_a_run(world, client, monkeypatch, after):
    """PostgreSQL lets the erasure go first: the set refers to a note that is gone when its transaction commits."""
    first = connection.vendor == "postgresql"
    Project.objects.update(seed_from=suggested(world).annotation_set.author)
    eve = make.make_member(world.project, user="eve")
    models.Assignment.objects.create(project=world.project, document=world.notes[0], user=eve)
    client.force_login(eve)
    meanwhile = Meanwhile(world, monkeypatch, seeding, "_make", after=after)
    answer = client.post(f"/projects/covid/notes/{world.notes[0].pk}/start")
    assert answer.status_code == (404 if first else 302)
    meanwhile.check(waits=not first)


def test_a_merge_of_labels(world, monkeypatch):
    meanwhile = Meanwhile(world, monkeypatch, label_services, "relabel_strings")
    source, target = (make.label_of(world.project, name) for name in ("PATIENT", "DOCTOR"))
    merge_labels(source=source, target=target, actor=world.mia)
    meanwhile.check()
    assert set(Span.objects.values_list("label", flat=True)) == {target.pk}


@pytest.mark.parametrize(("act", "name"), [("handed over", "_put_aside"), ("reopened", "_bring_back")])
def test_a_note_with_blind_second_review_that_is(world, monkeypatch, act, name):
    make.change(world.project, second_review=SecondReview.BLIND)
    AnnotationSet.objects.filter(author__kind="gold").delete()
    span = suggested(world)
    review = {"document": world.notes[0], "author": span.annotation_set.author, "user": world.mia}
    decide(**review, request=Request(change_id=uuid.uuid4(), act=Act.ACCEPT, suggestion=span.pk))
    if act == "reopened":
        finish_review(**review)
    meanwhile = Meanwhile(world, monkeypatch, handover, name)
    (reopen_review if act == "reopened" else finish_review)(**review)
    meanwhile.check()
    assert not models.Handover.objects.exists()


# ── Collisions ───────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("error", "failures"), [(IntegrityError, 2), (OperationalError, 2), (OperationalError, 99)])
def test_an_erasure_that_collides_with_saving_starts_again(world, monkeypatch, error, failures):
    tally, tries = erasing.tally_of, []

    def collides(spans):
        tries.append(spans)
        if len(tries) <= failures:
            raise error
        return tally(spans)

    monkeypatch.setattr(erasing, "tally_of", collides)
    lasts = failures >= erasing.TRIES
    with pytest.raises(error) if lasts else nullcontext():
        erase(world)
    assert len(tries) == (erasing.TRIES if lasts else 3) and Document.objects.count() == (4 if lasts else 3)
    assert models.Event.objects.filter(verb=PATIENT_ERASED).count() == (0 if lasts else 1)
    assert make.reread(world.project).erasures == (0 if lasts else 1), "failed attempts leave nothing behind"


def test_a_backup_made_during_an_erasure_is_listed(world, monkeypatch, settings, tmp_path):
    settings.DATA_DIR = tmp_path
    (tmp_path / "backups").mkdir()
    engine = type(current())
    dump = engine.dump

    def then_erase(self, *given):
        counts = dump(self, *given)
        erase(world)
        time.sleep(1.1)  # the time of a backup is stored in whole seconds
        return counts

    monkeypatch.setattr(engine, "dump", then_erase)
    write_backup(file=tmp_path / "backups" / "night.deidreview")
    assert [row.file for row in backups_before_erasing(world.project)] == ["night.deidreview"]
