"""A patient is erased after a job has read the notes and before it stores its results."""

import pytest
from django.db import connection

from annotations.agreement.services import comparing
from annotations.agreement.services.figures import figures_of
from annotations.core.erasures import ErasedMeanwhile
from annotations.core.errors import ServiceError
from annotations.domain.agreement import Unit
from annotations.gold.services.making import make_gold_bulk
from annotations.jobs.runner import run as work
from annotations.models import (
    AnnotationSet,
    Comparison,
    Decision,
    Document,
    Figures,
    Import,
    Job,
    Span,
    Stale,
    StoredFile,
)
from annotations.ops.services.erasing import erase_patient
from annotations.review.services import bulk as bulk_review
from annotations.review.services.bulk import begin_undo, run_bulk, undo_bulk
from annotations.scores.services.scoring import score, score_request
from annotations.scores.services.side_by_side import comparison_request, side_by_side
from annotations.transfer.services import exporting
from annotations.transfer.services.exporting import export_to_path, run_export
from annotations.transfer.services.importing import run_import
from annotations.transfer.services.staged import pack, stage_import
from annotations.transfer.services.starting import start_export
from models_runtime.calibration import jobs as calibrating
from models_runtime.calibration.services import start_calibration
from models_runtime.core import llm
from models_runtime.judging import jobs as judging_jobs
from models_runtime.models import Calibration, JudgedNote, Judgment, LlmAnswer, Run, RunItem
from models_runtime.runs.jobs import running
from models_runtime.runs.services import runs
from tests import factories as make
from tests.backends.llm.test_judging import honest
from tests.ops.erasing_world import PATIENT, bulk, erase, fake, judge, world

__all__ = ["bulk", "fake", "judge", "world"]  # the fixtures
pytestmark = [pytest.mark.queue, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def erase_once(world):
    """A progress callback that erases the patient when all notes have been read."""
    done = []

    def tell(at, total):
        if at >= total and not done:
            done.append(erase_patient(project=world.project, patient_id=PATIENT, actor=world.mia))

    tell.done = done
    return tell


def test_an_export_as_a_job(world, erase_once):
    with pytest.raises(ErasedMeanwhile):
        run_export(project_id=world.project.pk, set_spec="gold:1", format="brat", actor_id=None, progress=erase_once)
    assert erase_once.done and not StoredFile.objects.exists()


def test_the_page_of_the_job_explains_the_failure_and_the_job_can_be_restarted(world, monkeypatch):
    job = start_export(project=world.project, set_spec="gold:1", format="brat", actor=world.mia)
    write = exporting.write_zip

    def then_erase(target, files):
        write(target, files)
        erase_patient(project=world.project, patient_id=PATIENT, actor=world.mia)

    monkeypatch.setattr(exporting, "write_zip", then_erase)
    work(job.pk)
    job.refresh_from_db()
    assert job.state == Job.State.FAILED and "were erased during this work" in job.error
    assert not StoredFile.objects.exists()


@pytest.mark.parametrize("name", ["out", "out.zip"])
def test_an_export_to_a_path(world, erase_once, tmp_path, name):
    with pytest.raises(ErasedMeanwhile):
        export_to_path(
            project=world.project, out=tmp_path / name, format="brat", set_spec="gold:1", progress=erase_once
        )
    assert erase_once.done and not list(tmp_path.iterdir())


def test_a_score(world, erase_once):
    with pytest.raises(ErasedMeanwhile):
        score(score_request(world.project, version=1, author="annotator:ann"), progress=erase_once)
    assert erase_once.done and not Figures.objects.exists()


def test_a_comparison_of_authors(world, erase_once):
    wanted = comparison_request(world.project, version=1, names=["annotator:ann", "annotator:ben"])
    with pytest.raises(ErasedMeanwhile):
        side_by_side(wanted, progress=erase_once)
    assert erase_once.done and not Figures.objects.exists()


def test_figures_of_agreement(world, erase_once):
    with pytest.raises(ErasedMeanwhile):
        figures_of(project=world.project, unit=Unit.TOKEN, progress=erase_once)
    assert erase_once.done and not Figures.objects.exists()


def test_comparisons_of_annotation_sets(world, monkeypatch):
    compare = comparing._compare

    def after_an_erasure(project, ids):
        if not Document.objects.filter(patient_id=PATIENT).exists():
            return compare(project, ids)
        erase_patient(project=world.project, patient_id=PATIENT, actor=world.mia)
        return compare(project, ids)

    monkeypatch.setattr(comparing, "_compare", after_an_erasure)
    comparing.bring_up_to_date(world.project)
    assert Comparison.objects.count() == 3
    assert not Stale.objects.exists()


def test_making_gold_of_a_set_whose_note_is_erased(world, erase_once):
    AnnotationSet.objects.filter(author__kind="gold").delete()
    author = make.make_author(world.project, world.ann)
    state = {}

    def after_the_first(at, total):
        if not state:
            state["erased"] = erase_patient(project=world.project, patient_id=PATIENT, actor=None)

    Document.objects.filter(pk=world.notes[0].pk).update(patient_id="")
    Document.objects.filter(pk=world.notes[3].pk).update(patient_id=PATIENT)
    done = make_gold_bulk(project_id=world.project.pk, author_id=author.pk, actor_id=None, progress=after_the_first)
    assert state and (done["made"], done["kept"]) == (3, 0)


def test_a_run(world, fake, monkeypatch):
    run = runs.start_run(project=world.project, backend="fake", actor=None, key="k")
    predict = running._predict

    def then_erase(*given):
        found = predict(*given)
        if Document.objects.filter(patient_id=PATIENT).exists():
            erase_patient(project=world.project, patient_id=PATIENT, actor=None)
        return found

    monkeypatch.setattr(running, "_predict", then_erase)
    work(run.job_id)
    assert Job.objects.get(pk=run.job_id).state == Job.State.DONE
    assert RunItem.objects.filter(run=run).count() == AnnotationSet.objects.filter(author=run.author).count() == 3


def test_a_calibration(world, fake, monkeypatch):
    run = runs.start_run(project=world.project, backend="fake", actor=None, key="k")
    work(run.job_id)

    def then_erase(row, version, *, progress):
        made = make.make_calibration(row, version)
        Calibration.objects.all().delete()
        made.pk = None
        erase_patient(project=world.project, patient_id=PATIENT, actor=None)
        return made

    monkeypatch.setattr(calibrating, "calibration_by", then_erase)
    job = start_calibration(project=world.project, author_id=run.author_id, gold=1, actor=world.mia)
    work(job.pk)
    job.refresh_from_db()
    assert job.state == Job.State.FAILED and "were erased during this work" in job.error
    assert not Calibration.objects.exists()


def test_an_answer_of_a_language_model(world):
    class Bill:
        def record(self):
            pass

    answers = llm.KeptAnswers(world.project, Bill())
    text = world.notes[0].text
    erase_patient(project=world.project, patient_id=PATIENT, actor=None)
    answers.keep("k", text, [(0, 11, "PATIENT")])
    assert not LlmAnswer.objects.exists()


def test_an_import_that_starts_after_the_erasure_finds_no_upload(world):
    row = stage_import(
        project=world.project,
        name="u.zip",
        content=pack([("p.txt", b"Mario Rossi")]),
        format="text",
        written_as="",
        language="",
        take_duplicates=False,
        actor=world.mia,
    )
    erase_patient(project=world.project, patient_id=PATIENT, actor=None)
    with pytest.raises(ServiceError, match="were deleted"):
        run_import(import_id=row.pk, progress=lambda done, total: None)
    assert Import.objects.get().state == Import.State.RUNNING and Document.objects.count() == 3


def test_run_rows_are_deleted_too(world, fake):
    run = runs.start_run(project=world.project, backend="fake", actor=None, key="k")
    erase_patient(project=world.project, patient_id=PATIENT, actor=None)
    assert RunItem.objects.filter(run=Run.objects.get(pk=run.pk)).count() == 3


def test_notes_that_are_to_be_judged(world, judge, monkeypatch):
    keep = judging_jobs._store_notes

    def after_an_erasure(claim, rows):
        erase(world)
        keep(claim, rows)

    monkeypatch.setattr(judging_jobs, "_store_notes", after_an_erasure)
    job = judge()
    assert (job.state, job.error) == (Job.State.DONE, "")
    assert (JudgedNote.objects.count(), Judgment.objects.count(), LlmAnswer.objects.count()) == (3, 3, 3)


def test_a_verdict_of_a_judge(world, judge):
    def while_it_answers(body):
        try:
            erase(world)
        finally:
            connection.close()
        return honest(body)

    judge.server.script = while_it_answers
    job = judge()
    assert (job.state, job.error, job.result["answers"]) == (Job.State.DONE, "", 3)
    assert (JudgedNote.objects.count(), Judgment.objects.count(), LlmAnswer.objects.count()) == (3, 3, 3)


def erase_when_listed(world, monkeypatch):
    listed = bulk_review._pairs

    def then_erase(*asked):
        pairs = listed(*asked)
        erase(world)
        return pairs

    monkeypatch.setattr(bulk_review, "_pairs", then_erase)


def gold_notes():
    return set(Span.objects.filter(annotation_set__author__kind="gold").values_list("annotation_set__document", flat=1))


def test_a_bulk_act(world, bulk, monkeypatch):
    erase_when_listed(world, monkeypatch)
    done = run_bulk(bulk=bulk)
    assert (done["decided"], done["left"]) == (3, 1)
    assert Decision.objects.count() == 3 and gold_notes() == {note.pk for note in world.notes[1:]}


def test_the_undo_of_a_bulk_act(world, bulk, monkeypatch):
    run_bulk(bulk=bulk)
    assert len(gold_notes()) == 4 and begin_undo(bulk=bulk)
    erase_when_listed(world, monkeypatch)
    assert undo_bulk(bulk=bulk)["undone"] == 3
    assert not Decision.objects.exists() and not gold_notes()
