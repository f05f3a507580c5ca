"""Runs of a language model that is asked about each label by itself, over HTTP with a scripted server."""

import io
import json
import uuid

import pytest
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.urls import reverse

from annotations.jobs.runner import run as work
from annotations.models import AnnotationSet, Job
from models_runtime.backends.llm.servers import read_servers
from models_runtime.core.llm import KeptAnswers
from models_runtime.models import LlmAnswer, LlmUsage, Run, RunItem
from tests import factories as make
from tests.backends.llm.scripted import Reply, entities, note_of, serving
from tests.backends.llm.test_by_label import label_of
from tests.worlds.checks import check_page
from tests.worlds.programs import Program

pytestmark = [pytest.mark.queue, pytest.mark.django_db(transaction=True)]
TEXT = "Mario Rossi, 54 anni, vive a Torino."
FINDS = {"PATIENT": "Mario Rossi", "AGE": "54", "CITY": "Torino"}


def model(body):
    words = FINDS.get(label_of(body))
    return entities((words, label_of(body), "")) if words and words in note_of(body) else entities()


@pytest.fixture
def server(settings):
    with serving(model) as running:
        listed = {"SERVERS": f"ward={running.url}", "WARD_MODELS": "small", "WARD_AT_ONCE": "1"}
        settings.LLM_SERVERS = read_servers({f"DEIDREVIEW_LLM_{name}": value for name, value in listed.items()})
        yield running


@pytest.fixture
def project():
    """Two notes, and four labels, one of them with a description."""
    project = make.make_project("covid", name="Covid ward")
    project.label_set.labels.exclude(code__in=[*FINDS, "DATE"]).delete()
    project.label_set.labels.filter(code="AGE").update(description="Only ages in years.")
    for number in range(2):
        make.make_note(project, f"{TEXT} {number}", patient_id=f"p{number}")
    return project


@pytest.fixture
def mia(project):
    return make.make_member(project, "manager", "mia")


@pytest.fixture
def client(mia):
    client = Client()
    client.force_login(mia)
    return client


def start(client, **options):
    data = {"model": "ward small", "strategy": "by_label", "language": "it", "passes": "1", "descriptions": "on"}
    return client.post(reverse("run_llm", args=["covid"]), data | {"token": str(uuid.uuid4())} | options)


def asked(server):
    return sorted((label_of(body), note_of(body)[-1]) for body in server.requests)


ALL = sorted((label, str(number)) for label in [*FINDS, "DATE"] for number in range(2))


def test_from_the_form_to_suggestions(client, server):
    page = check_page(client.get(reverse("run_llm", args=["covid"])))
    assert "one question about each label" in page and "di questo solo tipo" in page
    assert start(client).status_code == 302
    run = Run.objects.get()
    work(run.job_id)
    assert asked(server) == ALL
    first = AnnotationSet.objects.filter(author=run.author).order_by("document_id").first()
    spans = [(span.start, span.end, span.label.code, span.source) for span in first.spans.order_by("start")]
    source = "small it2 pass 1"
    assert spans == [(0, 11, "PATIENT", source), (13, 15, "AGE", source), (29, 35, "CITY", source)]
    html = check_page(client.get(reverse("run", args=["covid", run.pk])))
    assert "about each of 4 labels, in each chunk and pass" in html and "1 pass over chunks" in html
    assert "8 sent" in html and "- $labels" not in html and "$labels" in html
    messages = {label_of(body): body["messages"][0]["content"] for body in server.requests}
    assert [label for label, message in messages.items() if "Only ages in years." in message] == ["AGE"]


def test_labels_stay_those_of_the_start(client, project, server):
    """A description that is changed after the start has no part in the run."""
    start(client)
    project.label_set.labels.filter(code="AGE").update(description="Changed.")
    work(Run.objects.get().job_id)
    assert not any("Changed." in body["messages"][0]["content"] for body in server.requests)


def test_a_killed_worker_s_successor_asks_nothing_twice(client, server, monkeypatch):
    """The worker is killed after the fifth answer, in the middle of a note."""
    kept = KeptAnswers.keep

    def until_killed(self, key, text, found):
        kept(self, key, text, found)
        if LlmAnswer.objects.count() == 5:
            raise KeyboardInterrupt

    start(client)
    run = Run.objects.get()
    monkeypatch.setattr(KeptAnswers, "keep", until_killed)
    with pytest.raises(KeyboardInterrupt):
        work(run.job_id)
    # A killed process leaves no connection behind.
    connection.close()
    assert (len(server.requests), AnnotationSet.objects.filter(author=run.author).count()) == (5, 1)
    Job.objects.update(state="queued", lease_until=None)
    work(run.job_id)
    assert Job.objects.get().state == "done"
    assert asked(server) == ALL


def test_a_note_fails_if_one_label_has_no_answer_and_a_retry_asks_only_about_it(client, server):
    server.script = lambda body: (
        Reply("no JSON") if (label_of(body), note_of(body)[-1]) == ("AGE", "1") else model(body)
    )
    start(client)
    run = Run.objects.get()
    work(run.job_id)
    job = Job.objects.get()
    assert (job.state, job.result["notes"], job.result["failed"]) == ("done", 1, 1)
    assert RunItem.objects.get(state=RunItem.State.FAILED).error == "The model's answer is not the requested JSON."
    assert AnnotationSet.objects.filter(author=run.author).count() == 1
    server.script = model
    server.requests.clear()
    client.post(reverse("run_retry", args=["covid", run.pk]))
    run.refresh_from_db()
    work(run.job_id)
    assert asked(server) == [("AGE", "1")] and AnnotationSet.objects.filter(author=run.author).count() == 2
    assert LlmUsage.objects.get(run=run).requests == 9


def test_the_command_and_the_api(project, mia, server):
    out = io.StringIO()
    words = ["--strategy=by_label", "--omega=4000", "--passes=1", "--language=it", "--wait", "--json"]
    call_command("run_model", "covid", "llm", *words, stdout=out)
    found = json.loads(out.getvalue())
    assert (found["done"], found["usage"]["requests"]) == (2, 8)
    body = {"server": "ward", "model": "small", "strategy": "by_label", "language": "it", "omega": 4000, "passes": 1}
    answered = Program(mia).post("/projects/covid/runs/language-models", body)
    assert answered.status_code == 202, answered.json()
    second = Run.objects.first()
    assert second.params["strategy"] == "by_label"
    work(second.job_id)
    assert len(server.requests) == 8, "the second run has the first one's answers"
