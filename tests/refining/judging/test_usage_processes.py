"""Usage of language models is recorded with each answer, so that a killed worker loses no costs."""

import json
import threading
from decimal import Decimal

import pytest
from django.db import OperationalError, connection

from annotations.models import Author, JobState
from models_runtime.core.llm import Bill
from models_runtime.models import Judging, Judgment, LlmAnswer, LlmUsage, RunItem
from models_runtime.refining.services.judging import start_judging
from models_runtime.runs.services.llm import start_llm_run
from tests.backends.llm.scripted import entities, note_of, offered
from tests.backends.llm.test_judging import verdicts
from tests.refining.judging.world import judged_project
from tests.waiting import HANGS, wait_for
from tests.worlds.queue import end_lease, wait_for_state

pytestmark = [pytest.mark.processes, pytest.mark.django_db(transaction=True)]
NOTES = 6
FIRST, LAST = "note 0", f"note {NOTES - 1}"
KEPT = NOTES - 2
NAME = (0, 11, "PATIENT")


class Ward:
    """A model that answers all notes at once, except two: the first one gets invalid JSON after these, and the last
    one waits for `go_on`."""

    def __init__(self):
        self.go_on = threading.Event()

    def __call__(self, body):
        note = note_of(body)
        if LAST in note:
            self.go_on.wait(HANGS)
        if FIRST in note:
            answers = LlmAnswer.objects.count
            wait_for(lambda: answers() >= KEPT, what="the other answers", progress=answers)
            connection.close()
            return "no JSON at all"
        return json.dumps({"entities": verdicts(body)}) if "deidentified" in note else entities(("Rossi", "PATIENT"))


@pytest.fixture
def ward(settings, monkeypatch):
    model = Ward()
    price = {"WARD_PRICE": "EUR 1000/2000"}
    with offered(settings, model, monkeypatch=monkeypatch, **price) as model.server:
        yield model
        model.go_on.set()


@pytest.fixture
def project():
    return judged_project(NOTES, "Mario Rossi, note", [NAME], [NAME])


def a_run(project):
    run = start_llm_run(project=project, given={"passes": "1"}, may_leave=False, actor=None, key="k")
    return run.job, {"run": run}, lambda: RunItem.objects.filter(run=run, state="done").count()


def a_judging(project):
    author = Author.objects.get(project=project, kind="run").pk
    words = {"gold": 1, "author": author, "judge": ["ward small"], "may_leave": False}
    judging = start_judging(project=project, actor=None, key="k", **words)
    judge = Judging.objects.get(pk=judging.pk).judges.get()
    return judging.job, {"judge": judge}, lambda: Judgment.objects.filter(judge=judge, verdicts__isnull=False).count()


@pytest.mark.parametrize("start", [a_run, a_judging])
def test_a_killed_worker_s_questions_are_counted_once(ward, project, processes, start):
    job, payer, done = start(project)
    worker = processes("work")
    usage = LlmUsage.objects.filter(**payer)
    counted = {"what": "all answers but one to be counted", "progress": lambda: list(usage.values_list("tokens_in"))}
    wait_for(lambda: usage.filter(tokens_in=100 * (NOTES - 1)), **counted)
    worker.kill9()
    assert usage.values_list("tokens_out", "kept").get() == (10 * (NOTES - 1), 0)
    # A judging stores its verdicts every second, so on a busy machine some are stored already, and not asked again.
    stored = done()
    assert LlmAnswer.objects.count() == KEPT >= stored
    ward.go_on.set()
    end_lease(job)
    processes("relay")
    processes("work")
    wait_for_state(job, JobState.DONE, "another worker to end the job")
    # Only two requests were repeated: the one with the invalid answer, and the one that was open at the kill.
    assert len(ward.server.requests) == NOTES + 2
    found = usage.get()
    assert (found.tokens_in, found.tokens_out, found.kept) == (100 * (NOTES + 1), 10 * (NOTES + 1), KEPT - stored)
    assert found.cost == Decimal("0.12") * (NOTES + 1) and done() == LlmAnswer.objects.count() == NOTES - 1


def test_usage_that_can_not_be_stored_is_stored_the_next_time(ward, project, monkeypatch):
    _job, payer, _done = a_run(project)
    bill, write = Bill(payer["run"], None), Bill._add
    bill.add(requests=2, tokens_in=50)

    def locked(self, counts):
        write(self, counts)
        raise OperationalError("database is locked")

    monkeypatch.setattr(Bill, "_add", locked)
    with pytest.raises(OperationalError):
        bill.record()
    assert not LlmUsage.objects.exists()
    monkeypatch.undo()
    bill.add(requests=1)
    bill.record()
    bill.record()
    assert LlmUsage.objects.values_list("requests", "tokens_in", "cost", "currency").get() == (3, 50, None, "")
