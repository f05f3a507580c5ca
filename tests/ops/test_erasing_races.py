"""A patient is erased between a job's reading of notes and its storing of what it made of them."""

import threading
from types import SimpleNamespace

import pytest
from django.db import connection, transaction

from annotations.agreement.services import comparing
from annotations.agreement.services.figures import figures_of
from annotations.core import erasures
from annotations.core.erasures import ErasedMeanwhile
from annotations.core.errors import ServiceError
from annotations.domain.agreement import Unit
from annotations.gold.services.making import freeze, make_gold_bulk
from annotations.jobs.runner import run as work
from annotations.models import (
    AnnotationSet,
    Comparison,
    Document,
    Figures,
    Import,
    Job,
    Stale,
    StoredFile,
)
from annotations.ops.services.erasing import erase_patient
from annotations.scores.services.scoring import asked, score
from annotations.scores.services.side_by_side import side_by_side, together
from annotations.transfer.services import exporting
from annotations.transfer.services.exporting import export_to_path, run_export
from annotations.transfer.services.importing import run_import
from annotations.transfer.services.staged import pack, stage_import
from annotations.transfer.services.starting import start_export
from models_runtime.calibration import jobs as calibrating
from models_runtime.calibration.services import start_calibration
from models_runtime.core import llm, registry
from models_runtime.models import Calibration, LlmAnswer, Run, RunItem
from models_runtime.runs.jobs import running
from models_runtime.runs.services import runs
from tests import factories as make

pytestmark = [pytest.mark.queue, pytest.mark.django_db(transaction=True)]
PATIENT = "P-1"


@pytest.fixture
def world():
    project = make.make_project("covid")
    mia = make.make_member(project, "manager", "mia")
    ann, ben = (make.make_member(project, user=name) for name in ("ann", "ben"))
    notes = [
        make.make_note(project, f"Mario Rossi numero {n}", f"n{n}", patient_id=PATIENT if n == 0 else "")
        for n in range(4)
    ]
    gold = make.make_author(project, kind="gold", name="gold")
    for note in notes:
        for author in (ann, ben, gold):
            make.make_set(note, author, [(0, 11, "PATIENT")], submitted=True)
    version, _ = freeze(project=project, actor=mia)
    return SimpleNamespace(project=project, mia=mia, ann=ann, ben=ben, notes=notes, version=version)


@pytest.fixture
def erase_once(world):
    """A progress that erases the patient when all notes were read."""
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


def test_the_page_of_the_job_says_so_and_it_can_be_started_again(world, monkeypatch):
    job = start_export(project=world.project, set_spec="gold:1", format="brat", actor=world.mia)
    write = exporting._write_zip

    def then_erase(target, files):
        write(target, files)
        erase_patient(project=world.project, patient_id=PATIENT, actor=world.mia)

    monkeypatch.setattr(exporting, "_write_zip", then_erase)
    work(job.pk)
    job.refresh_from_db()
    assert job.state == Job.State.FAILED and "were erased while this was under way" in job.error
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
        score(asked(world.project, version=1, author="annotator:ann"), progress=erase_once)
    assert erase_once.done and not Figures.objects.exists()


def test_a_comparison_of_readers(world, erase_once):
    wish = together(world.project, version=1, names=["annotator:ann", "annotator:ben"])
    with pytest.raises(ErasedMeanwhile):
        side_by_side(wish, progress=erase_once)
    assert erase_once.done and not Figures.objects.exists()


def test_figures_of_agreement(world, erase_once):
    with pytest.raises(ErasedMeanwhile):
        figures_of(project=world.project, unit=Unit.TOKEN, progress=erase_once)
    assert erase_once.done and not Figures.objects.exists()


def test_comparisons_of_readings(world, monkeypatch):
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


def test_making_gold_of_a_reading_whose_note_is_erased(world, erase_once):
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


@pytest.fixture
def fake(monkeypatch):
    kind = registry.BackendKind(title="Fake", factory="tests.worlds.fake_backend.FakeBackend", description="")
    monkeypatch.setitem(registry.BACKENDS, "fake", kind)


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
    assert job.state == Job.State.FAILED and "were erased while this was under way" in job.error
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
    with pytest.raises(ServiceError, match="gone"):
        run_import(import_id=row.pk, progress=lambda done, total: None)
    assert Import.objects.get().state == Import.State.RUNNING and Document.objects.count() == 3


def test_an_erasure_waits_for_what_is_being_stored_and_deletes_it(world):
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
        assert not erased.wait(0.5)
        StoredFile.objects.create(project=world.project, kind=StoredFile.Kind.EXPORT, name="late.zip")
    thread.join(30)
    assert erased.is_set() and not StoredFile.objects.exists()


def test_the_lock_belongs_inside_a_transaction(world):
    with pytest.raises(RuntimeError):
        erasures.hold(world.project.pk)


def test_run_rows_go_too(world, fake):
    run = runs.start_run(project=world.project, backend="fake", actor=None, key="k")
    erase_patient(project=world.project, patient_id=PATIENT, actor=None)
    assert RunItem.objects.filter(run=Run.objects.get(pk=run.pk)).count() == 3
