"""What was asked of language models is counted with each answer: a killed worker takes no cost with it."""

import json
import threading
from decimal import Decimal

import pytest

from annotations.services.gold import freeze
from models_runtime.backends.llm.servers import read_servers
from models_runtime.models import Job, Judgement, Judging, LlmAnswer, LlmUsage, RunItem
from models_runtime.services.judging import start_judging
from models_runtime.services.llm import start_llm_run
from tests import factories as make
from tests.backends.llm.scripted import entities, note_of, serving
from tests.backends.llm.test_judging import verdicts
from tests.runtime.conftest import state_of, wait_for

pytestmark = [pytest.mark.processes, pytest.mark.django_db(transaction=True)]
NOTES = 6
LAST = f"note {NOTES - 1}"


class Ward:
    """A model that answers every note but the last, on which it waits until it is let go."""

    def __init__(self):
        self.go_on = threading.Event()

    def __call__(self, body):
        if LAST in note_of(body):
            self.go_on.wait(60)
        judged = "deidentified" in note_of(body)
        return json.dumps({"entities": verdicts(body)}) if judged else entities(("Mario Rossi", "PATIENT", ""))


@pytest.fixture
def ward(settings, monkeypatch):
    model = Ward()
    with serving(model) as model.server:
        listed = {
            "DEIDREVIEW_LLM_SERVERS": f"ward={model.server.url}",
            "DEIDREVIEW_LLM_WARD_MODELS": "small",
            "DEIDREVIEW_LLM_WARD_PRICE": "EUR 1000/2000",
        }
        for name, value in listed.items():
            monkeypatch.setenv(name, value)
        settings.LLM_SERVERS = read_servers(listed)
        yield model
        model.go_on.set()


@pytest.fixture
def project():
    project = make.make_project("covid")
    authors = [make.make_author(project, kind=kind, name=kind) for kind in ("gold", "run")]
    for number in range(NOTES):
        note = make.make_note(project, f"Mario Rossi, note {number}", f"n{number}")
        for author in authors:
            make.make_set(note, author, [(0, 11, "PATIENT")], submitted=True)
    freeze(project=project, actor=None)
    return project


def a_run(project):
    run = start_llm_run(project=project, given={"passes": "1"}, may_leave=False, actor=None, key="k")
    return run.job, {"run": run}, lambda: RunItem.objects.filter(run=run, state="done").count()


def a_judging(project):
    words = {"gold": 1, "author": "run", "judges": ["ward/small"], "may_leave": False}
    judging = start_judging(project=project, actor=None, key="k", **words)
    judge = Judging.objects.get(pk=judging.pk).judges.get()
    return judging.job, {"judge": judge}, lambda: Judgement.objects.filter(judge=judge).count()


@pytest.mark.parametrize("start", [a_run, a_judging])
def test_a_killed_worker_s_questions_are_counted_once(ward, project, processes, start):
    job, payer, done = start(project)
    worker = processes("work")
    wait_for(lambda: LlmAnswer.objects.count() == NOTES - 1, what="all answers but one")
    worker.kill9()
    usage = LlmUsage.objects.get(**payer)
    assert (usage.tokens_in, usage.tokens_out, usage.kept) == (100 * (NOTES - 1), 10 * (NOTES - 1), 0)
    ward.go_on.set()
    processes("relay")
    processes("work")
    wait_for(lambda: state_of(job) == Job.State.DONE, timeout=60, what="another worker to end it")
    usage.refresh_from_db()
    assert (usage.tokens_in, usage.tokens_out) == (100 * NOTES, 10 * NOTES)
    assert usage.cost == Decimal("0.12") * NOTES
    assert done() == LlmAnswer.objects.count() == NOTES
    # The one that it was waiting for had to be asked again.
    assert len(ward.server.requests) == NOTES + 1
