"""A project in which a patient is erased while something else happens."""

import threading
from types import SimpleNamespace

import pytest
from django.db import connection

from annotations import models
from annotations.gold.services.making import freeze
from annotations.jobs.runner import run as work
from annotations.ops.services.erasing import erase_patient
from annotations.review.selectors.bulk_rules import BulkRule
from annotations.review.services.bulk import begin_bulk, plan_bulk
from models_runtime.backends.llm.servers import read_servers
from models_runtime.models import JudgedNote, LlmAnswer, RunItem
from models_runtime.refining.services.judging import start_judging
from tests import factories as make
from tests.backends.llm.scripted import serving
from tests.backends.llm.test_judging import honest
from tests.waiting import HANGS, MOMENT

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


def erase(world):
    """Erase the patient, unless that has already happened."""
    if models.Document.objects.filter(patient_id=PATIENT).exists():
        erase_patient(project=world.project, patient_id=PATIENT, actor=None)


@pytest.fixture
def judge(world, settings):
    """`judge()`: ask a language model on a scripted server about ann's annotations, and return the finished job."""
    with serving(honest) as server:
        settings.LLM_SERVERS = read_servers(
            {"DEIDREVIEW_LLM_SERVERS": f"ward={server.url}", "DEIDREVIEW_LLM_WARD_MODELS": "good"}
        )

        def ask():
            judging = start_judging(
                project=world.project, gold=1, judge=["ward good"], may_leave=True, actor=world.mia, key="k",
                author=make.make_author(world.project, world.ann).pk, language="it",
            )  # fmt: skip
            work(judging.job_id)
            return models.Job.objects.get(pk=judging.job_id)

        ask.server = server
        yield ask


@pytest.fixture
def bulk(world):
    """A bulk act on a run's suggestions in all notes, none of which has gold. It has already begun."""
    models.AnnotationSet.objects.filter(author__kind="gold").delete()
    run = make.make_author(world.project, kind="run", name="rules-1")
    for note in world.notes:
        make.make_set(note, run, [(0, 11, "PATIENT")], submitted=True)
    models.Span.objects.update(confidence=0.9)
    rule = BulkRule("threshold", [run.pk], least=0.5)
    act = plan_bulk(project=world.project, user=world.mia, rule=rule, act=models.BulkAct.Act.ACCEPT)
    assert act.planned == 4 and begin_bulk(bulk=act, user=world.mia)
    return act


class Meanwhile:
    """An erasure in another thread, which begins when `module.name` is called for the `at`-th time.

    It begins before the call, or with `after` once the call has returned, for a call that takes the lock.
    """

    def __init__(self, world, monkeypatch, module, name, *, after=False, at=1):
        self._world, self._done, self._errors = world, threading.Event(), []
        self._thread = threading.Thread(target=self._erase)
        self._left, self.waited = at, None
        original = getattr(module, name)

        def called(*given, **named):
            if not after:
                self._begin()
            found = original(*given, **named)
            if after:
                self._begin()
            return found

        monkeypatch.setattr(module, name, called)

    def _begin(self):
        self._left -= 1
        if self._left == 0:
            self._thread.start()
            self.waited = not self._done.wait(MOMENT)

    def _erase(self):
        try:
            erase_patient(project=self._world.project, patient_id=PATIENT, actor=None)
            self._done.set()
        except Exception as error:
            self._errors.append(error)
        finally:
            connection.close()

    def join(self):
        self._thread.join(HANGS)

    def check(self, *, waits=True):
        """Check that the erasure waited for the rows being stored, if it `waits`, and that no row is left."""
        assert self.waited is waits, "the erasure did not wait, or the function was never called"
        self.join()
        assert self._done.is_set() and not self._errors
        assert models.Document.objects.filter(project=self._world.project).count() == 3
        for model in (
            models.AnnotationSet, models.GoldVersionNote, LlmAnswer, JudgedNote, RunItem, models.Comparison,
            models.RewrittenNote,
        ):  # fmt: skip
            assert not model.objects.filter(document_id=self._world.notes[0].pk).exists()
        assert not models.Figures.objects.exists() and not models.StoredFile.objects.exists()
