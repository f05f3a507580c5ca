"""Refinements whose work process is killed: the next one asks about nothing that has an answer, and ends the same.

A real worker asks a scripted model server in the test's process. Its work processes die of SIGKILL when an answer is
stored without its decision, between two notes, and while three questions have no answer yet.
"""

import threading
from collections import Counter
from datetime import timedelta

import pytest
from django.db.models.functions import Now

from annotations.jobs.runner import run as work
from annotations.jobs.services.relay import sweep
from annotations.models import Job, JobState, Span
from models_runtime.models import LlmAnswer, RefinedItem, ServerCapacity
from models_runtime.refining.services.refining import RefinementChoice, start_refinement
from tests import factories as make
from tests.backends.llm.scripted import offered
from tests.backends.refining.test_agent import answer as acting
from tests.backends.refining.test_agent import begin_of
from tests.refining.asking import answer, honest, shown
from tests.refining.conftest import NOTES, PER_NOTE, WRONG, annotated, note_of
from tests.waiting import HANGS, wait_for
from tests.worlds.killing import DECIDED, STORED_AGENT, STORED_SINGLE, VARIABLE, Kills
from tests.worlds.queue import wait_for_state

pytestmark = [pytest.mark.processes, pytest.mark.django_db(transaction=True)]


class Single:
    """One question about each annotation. One answer in a note can't be read, and one can't be applied."""

    method, stored, asked, questions = "single", STORED_SINGLE, RefinementChoice(), PER_NOTE * NOTES

    @staticmethod
    def question(body):
        one = shown(body)
        return one["before"], one["annotated"], one["after"]

    @staticmethod
    def is_held(body):
        """Whether this is the question in each note that the test can leave without an answer."""
        return shown(body)["annotated"] == "rosso"

    @staticmethod
    def answer(body):
        one = shown(body)
        if one["type"] == "CITY":
            return "no JSON"
        is_day = one["type"] == "DATE" and one["annotated"] not in WRONG
        return answer("update", "Napoli", "CITY") if is_day else honest(body)


class Agent:
    """About each annotation an answer that can't be read, one that looks, and one that decides."""

    method, stored, questions = "agent", STORED_AGENT, 3 * PER_NOTE * NOTES
    # Without this component, the questions show the whole note.
    asked = RefinementChoice(without=("context",))

    @staticmethod
    def question(body):
        begin = begin_of(body)
        return begin["note"], begin["open_in_all"], len(body["messages"])

    @staticmethod
    def is_held(body):
        return begin_of(body)["open_in_all"] == 5 and len(body["messages"]) == 6

    @staticmethod
    def answer(body):
        one, before = begin_of(body)["open"][0], len(body["messages"])
        if before == 2:
            return "no call"
        if before == 4:
            return acting(body, ("list_annotations", {}))
        act = "remove" if one["text"] in WRONG else "keep"
        return acting(body, (act, {"number": one["number"], "reason": "As told."}))


class Model:
    """The model of `task`. After `hold`, questions of `is_held` wait for their answer until `answer_all`."""

    def __init__(self):
        self.task, self.held, self._answering = Single, [], threading.Event()
        self._answering.set()

    def hold(self):
        self.held.clear()
        self._answering.clear()

    def answer_all(self):
        self._answering.set()

    def __call__(self, body):
        if not self._answering.is_set() and self.task.is_held(body):
            self.held.append(self.task.question(body))
            self._answering.wait(HANGS)
        return self.task.answer(body)


@pytest.fixture
def model(settings, monkeypatch):
    """A model at two listed servers: `narrow` takes one question at a time, and `wide` three."""
    model = Model()
    listed = {"SERVERS": "narrow={url} wide={url}", "NARROW_MODELS": "small", "WIDE_MODELS": "small"}
    listed |= {"NARROW_AT_ONCE": "1", "WIDE_AT_ONCE": str(NOTES)}
    with offered(settings, model, monkeypatch=monkeypatch, **listed) as model.server:
        yield model
        model.answer_all()


@pytest.fixture
def kills(tmp_path, monkeypatch):
    kills = Kills(tmp_path / "kills")
    monkeypatch.setenv(VARIABLE, str(kills.file))
    return kills


@pytest.fixture
def project():
    """Three notes, annotated by the run `few` with five identifiers and four wrong suggestions each."""
    project = make.make_project("ward")
    for number in range(NOTES):
        text = note_of(number)[0]
        note = make.make_note(project, text, f"caso-{number}", patient_id=f"p{number}", language="it")
        make.make_set(note, "run:few", annotated(number), submitted=True)
    return project


class Refining:
    """A worker, and refinements of the run `few`."""

    def __init__(self, project, model, kills, processes):
        self.project, self.model, self.kills = project, model, kills
        self.worker = processes("work")

    def start(self, task, server):
        self.model.task = task
        self.model.server.requests.clear()
        # The answers of an earlier refinement.
        LlmAnswer.objects.all().delete()
        asked = RefinementChoice(server=server, without=task.asked.without)
        about = {"project": self.project, "source": "few", "method": task.method, "actor": None}
        return start_refinement(**about, key=f"{task.method}-{RefinedItem.objects.count()}", asked=asked)

    def put_back(self, row):
        """Do the relay's work after the lease of the killed process, and its share of the server, have run out."""
        wait_for(lambda: len(self.worker.tree) == 1, what="the worker to notice")
        Job.objects.filter(pk=row.job_id, state="running").update(lease_until=Now() - timedelta(seconds=1))
        ServerCapacity.objects.update(seats={})
        assert sweep().put_back == [row.job_id]

    def asked(self):
        return [self.model.task.question(body) for body in self.model.server.requests]


@pytest.fixture
def refining(project, model, kills, processes):
    return Refining(project, model, kills, processes)


def outcome(row):
    """All that a refinement leaves, apart from its name, the time it took, and the order of the decisions."""
    names = ("document_id", "number", "action", "new_start", "new_end", "new_label", "reason")
    spans = Span.objects.filter(annotation_set__author=row.author)
    result = Job.objects.get(pk=row.job_id).result
    return (
        list(RefinedItem.objects.filter(refinement=row).values_list(*names)),
        list(spans.order_by("annotation_set__document_id", "start").values_list("start", "end", "label", "provenance")),
        {name: value for name, value in result.items() if name not in ("author", "seconds")},
    )


def unkilled(refining, task, server):
    """The outcome and the questions of a refinement whose worker is not killed: this process."""
    row = refining.start(task, server)
    work(row.job_id)
    return outcome(row), refining.asked()


@pytest.mark.parametrize("task", [Single, pytest.param(Agent, marks=pytest.mark.nightly)])
def test_a_killed_work_process_s_successor_asks_nothing_twice(refining, task):
    """Two processes die: with a stored answer whose decision isn't stored yet, and between two notes."""
    refining.kills.at(task.stored, PER_NOTE // 2)
    row = refining.start(task, "narrow")
    wait_for(lambda: refining.kills.done, what="the first death", progress=refining.asked)
    refining.kills.at(DECIDED, 1)
    refining.put_back(row)
    wait_for(lambda: refining.kills.done, what="the second death", progress=refining.asked)
    items = RefinedItem.objects.filter(refinement=row, document__name="caso-0")
    assert items.count() == PER_NOTE and not items.filter(action="").exists()
    assert not Span.objects.filter(annotation_set__author=row.author).exists()
    refining.put_back(row)
    wait_for_state(row.job, JobState.DONE, "the job to end")
    found, asked = outcome(row), refining.asked()
    assert len(asked) == len(set(asked)) == task.questions
    assert found[-1]["calls"] == task.questions and found[-1]["unreadable"] >= NOTES
    assert (found, asked) == unkilled(refining, task, "narrow")


@pytest.mark.parametrize("task", [Agent, pytest.param(Single, marks=pytest.mark.nightly)])
def test_only_questions_without_an_answer_are_asked_again(refining, task):
    """A process dies while three questions are under way and all others before them have an answer."""
    model = refining.model
    model.hold()
    row = refining.start(task, "wide")
    wait_for(lambda: len(model.held) == NOTES, what="three held questions", progress=refining.asked)
    before = len(refining.asked())
    refining.worker.tree[1].kill()
    model.answer_all()
    refining.put_back(row)
    wait_for_state(row.job, JobState.DONE, "the job to end")
    found, asked = outcome(row), refining.asked()
    again = Counter(asked) - Counter(set(asked))
    assert sorted(again) == sorted(model.held) and again.total() == NOTES
    assert NOTES < before < task.questions == len(set(asked))
    # A question whose worker was killed may be among the counted calls.
    assert task.questions <= found[-1].pop("calls") <= len(asked)
    found_unkilled, asked_unkilled = unkilled(refining, task, "wide")
    assert found_unkilled[-1].pop("calls") == task.questions
    assert found == found_unkilled and set(asked) == set(asked_unkilled)
