"""An erasure waits while results are being stored, and deletes them."""

import threading

import pytest
from django.db import connection, transaction

from annotations.agreement.services import comparing
from annotations.agreement.services import figures as agreeing
from annotations.agreement.services.figures import figures_of
from annotations.core import erasures
from annotations.core.progress import silent
from annotations.domain.agreement import Unit
from annotations.gold.services import making
from annotations.gold.services.making import make_gold_bulk
from annotations.jobs.runner import run as work
from annotations.models import AnnotationSet, BulkAct, Document, Job, StoredFile
from annotations.ops.services.erasing import erase_patient
from annotations.review.services import bulk as bulk_review
from annotations.review.services.bulk import begin_undo, run_bulk, undo_bulk
from annotations.scores.services import scoring
from annotations.scores.services import side_by_side as beside
from annotations.scores.services.scoring import score, score_request
from annotations.scores.services.side_by_side import comparison_request, side_by_side
from annotations.transfer.services import exporting, importing
from annotations.transfer.services.importing import run_import
from annotations.transfer.services.staged import pack, stage_import
from annotations.transfer.services.starting import start_export
from models_runtime.calibration import jobs as calibrating
from models_runtime.calibration.services import start_calibration
from models_runtime.core import llm
from models_runtime.judging import jobs as judging_jobs
from models_runtime.models import JudgedNote, Judgment
from models_runtime.runs.jobs import running
from models_runtime.runs.services import runs
from tests import factories as make
from tests.ops.erasing_world import PATIENT, Meanwhile, bulk, fake, judge, unsaved, world
from tests.waiting import HANGS, MOMENT

__all__ = ["bulk", "fake", "judge", "world"]  # the fixtures
pytestmark = [pytest.mark.queue, pytest.mark.django_db(transaction=True)]


def test_an_erasure_waits_for_results_being_stored_and_deletes_them(world):
    begun = erasures.erasures_of(world.project.pk)
    erased = threading.Event()

    def erase():
        try:
            erase_patient(project=world.project, patient_id=PATIENT, actor=None)
            erased.set()
        finally:
            connection.close()

    thread = threading.Thread(target=erase)
    with transaction.atomic():
        erasures.unerased(world.project.pk, begun)
        thread.start()
        assert not erased.wait(MOMENT)
        StoredFile.objects.create(project=world.project, kind=StoredFile.Kind.EXPORT, name="late.zip")
    thread.join(HANGS)
    assert erased.is_set() and not StoredFile.objects.exists()


def test_the_lock_belongs_inside_a_transaction(world):
    with pytest.raises(RuntimeError):
        erasures.hold(world.project.pk)


def a_run(world):
    run = runs.start_run(project=world.project, backend="fake", actor=None, key="k")
    work(run.job_id)
    return run


def a_calibration(world):
    run = a_run(world)
    return lambda: work(start_calibration(project=world.project, author_id=run.author_id, gold=1, actor=world.mia).pk)


def gold_of_all(world):
    AnnotationSet.objects.filter(author__kind="gold").delete()
    author = make.make_author(world.project, world.ann).pk
    return lambda: make_gold_bulk(project_id=world.project.pk, author_id=author, actor_id=None, progress=silent)


def an_answer(world):
    class Bill:
        def record(self):
            pass

    answers = llm.KeptAnswers(world.project, Bill())
    return lambda: answers.keep("k", world.notes[0].text, [(0, 11, "PATIENT")])


STORING = {
    "an export": (exporting, "unerased", lambda world: lambda: work(
        start_export(project=world.project, set_spec="gold:1", format="brat", actor=world.mia).pk
    )),
    "a score": (scoring, "unerased", lambda world: lambda: score(
        score_request(world.project, version=1, author="annotator:ann")
    )),
    "a table of several": (beside, "unerased", lambda world: lambda: side_by_side(
        comparison_request(world.project, version=1, names=["annotator:ann", "annotator:ben"])
    )),
    "figures of agreement": (agreeing, "unerased", lambda world: lambda: figures_of(
        project=world.project, unit=Unit.TOKEN
    )),
    "comparisons": (comparing, "hold", lambda world: lambda: comparing.bring_up_to_date(world.project)),
    "gold of many": (making, "hold", gold_of_all),
    "a run": (running, "hold", lambda world: lambda: a_run(world)),
    "a calibration": (calibrating, "unerased", a_calibration),
    "an answer": (llm, "hold", an_answer),
}  # fmt: skip


@pytest.mark.parametrize("what", STORING)
def test_an_erasure_waits_for_the_storing_of(world, fake, monkeypatch, what):
    module, name, prepare = STORING[what]
    store = prepare(world)
    if what == "a calibration":
        monkeypatch.setattr(calibrating, "calibration_by", lambda row, version, progress: unsaved(row, version))
    meanwhile = Meanwhile(world, monkeypatch, module, name, after=True)
    store()
    meanwhile.check()
    assert not Job.objects.exclude(state=Job.State.DONE).exists()


@pytest.mark.parametrize("act", ["the act", "its undo"])
def test_an_erasure_waits_for_a_batch_of_a_bulk_act(world, bulk, monkeypatch, act):
    work_of = run_bulk
    if act == "its undo":
        run_bulk(bulk=bulk)
        begin_undo(bulk=bulk)
        work_of = undo_bulk
    meanwhile = Meanwhile(world, monkeypatch, bulk_review, "hold", after=True)
    work_of(bulk=bulk)
    meanwhile.check()
    bulk.refresh_from_db()
    assert bulk.state == (BulkAct.State.DONE if act == "the act" else BulkAct.State.UNDONE)


@pytest.mark.parametrize("step", ["its notes", "a verdict"])
def test_an_erasure_waits_for_what_a_judging_stores(world, judge, monkeypatch, step):
    at = {"its notes": 1, "a verdict": 2}[step]
    meanwhile = Meanwhile(world, monkeypatch, judging_jobs, "hold", after=True, at=at)
    job = judge()
    meanwhile.check()
    assert (job.state, job.error) == (Job.State.DONE, "")
    assert (JudgedNote.objects.count(), Judgment.objects.count()) == (3, 3)


def test_an_erasure_waits_for_an_import_that_starts_and_is_refused_then(world, monkeypatch):
    row = stage_import(
        project=world.project, name="u.zip", content=pack([("p.txt", b"Another note")]), format="text", written_as="",
        language="", take_duplicates=False, actor=world.mia,
    )  # fmt: skip
    meanwhile = Meanwhile(world, monkeypatch, importing, "hold", after=True)
    write = importing._write

    def when_the_erasure_has_looked(*given):
        meanwhile.join()
        write(*given)

    if connection.vendor == "postgresql":  # on SQLite the erasure waits for the transaction of the batch
        monkeypatch.setattr(importing, "_write", when_the_erasure_has_looked)
    run_import(import_id=row.pk, progress=lambda done, total: None)
    assert meanwhile.waited
    meanwhile.join()
    if connection.vendor == "postgresql":
        assert [error.code for error in meanwhile._errors] == ["import"]
        assert Document.objects.filter(patient_id=PATIENT).exists()
