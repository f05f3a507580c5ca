"""Runs of models on other servers: from the form or the command to suggestions, with consent where notes leave."""

import json
import re

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from annotations.jobs.runner import run as work
from annotations.models import Job, LabelSet, Span
from models_runtime.backends.remote.servers import read_remote_models
from models_runtime.backends.rules import RulesBackend
from models_runtime.models import Run
from tests import factories as make
from tests.backends.remote.scripted import KEY, serving
from tests.worlds.checks import check_page

pytestmark = [pytest.mark.queue, pytest.mark.django_db(transaction=True)]
PAGE = "/projects/ward/runs/remote/ner/"
TEXT = "👩‍⚕️ Dr. Julián Otero Paz, tel. 923 555 100.\n"


def listed(settings, ner):
    settings.REMOTE_MODELS = read_remote_models({
        "DEIDREVIEW_REMOTE_MODELS": f"ner={ner} far=inception+http://models.example.org/ner",
        "DEIDREVIEW_REMOTE_NER_LABELS": "DOCTOR PHONE",
        "DEIDREVIEW_REMOTE_FAR_LABELS": "PER",
    })  # fmt: skip


@pytest.fixture
def ward(no_redis, client):
    project = make.make_project("ward")
    LabelSet.objects.update(key="i2b2-2014")
    make.make_note(project, TEXT, "uno")
    client.force_login(make.make_member(project, "manager", "boss"))
    return project


@pytest.fixture(params=["inception", "label-studio"])
def server(request, settings):
    with serving(RulesBackend(label_set="i2b2-2014"), request.param) as url:
        listed(settings, f"{request.param}+{url}/{KEY}")
        yield request.param


def test_from_the_page_to_suggestions(ward, client, server):
    assert PAGE in check_page(client.get(reverse("runs", args=["ward"])))
    shown = check_page(client.get(PAGE))
    assert re.search(r'aria-current="\w+">Runs<', shown)
    assert "A model on the server 127.0.0.1" in shown and "may be sent" not in shown
    answer = client.post(PAGE, {"label:DOCTOR": "DOCTOR", "label:PHONE": "", "token": "t"})
    run = Run.objects.get()
    assert answer.url == reverse("run", args=["ward", run.pk])
    assert run.params == {"server": "ner", "labels": {"DOCTOR": "DOCTOR", "PHONE": None}}
    work(run.job_id)
    job = Job.objects.get()
    assert (job.error, job.state, job.queue) == ("", Job.State.DONE, Job.Queue.LLM)
    run.refresh_from_db()
    assert run.revision.startswith(f"1-{server}-")
    spans = [
        (TEXT[span.start : span.end], span.label.code)
        for span in Span.objects.filter(annotation_set__author=run.author)
    ]
    assert spans == [("Julián Otero Paz", "DOCTOR")]
    assert "Label mapping" in check_page(client.get(answer.url))


def test_consent_where_notes_leave_the_machine(ward, client, settings):
    listed(settings, "inception+http://127.0.0.1:1/")
    page = PAGE.replace("ner", "far")
    assert "models.example.org</strong>, without encryption" in check_page(client.get(page))
    answer = client.post(page, {"label:PER": "DOCTOR"})
    assert answer.status_code == 422 and "Nothing was sent" in check_page(answer)
    assert not Run.objects.exists()
    assert client.post(page, {"label:PER": "DOCTOR", "may_leave": "yes"}).status_code == 302
    with pytest.raises(CommandError, match="Nothing was sent"):
        call_command("run_model", "ward", "remote", "--server", "far", "--map", "PER=DOCTOR")


def test_from_the_command_line(ward, server, capsys):
    words = ("run_model", "ward", "remote", "--server", "ner", "--map", "DOCTOR=DOCTOR,PHONE=")
    call_command(*words, "--wait", "--json")
    answer = json.loads(capsys.readouterr().out)
    assert (answer["run"], answer["state"], answer["done"]) == ("ner-1", "done", 1)
    with pytest.raises(CommandError, match=r"no model “none”\. Available: far, ner"):
        call_command("run_model", "ward", "remote", "--server", "none")


def test_a_server_that_is_gone_or_not_listed_any_more(ward, client, settings):
    listed(settings, "label-studio+http://127.0.0.1:1/")
    client.post(PAGE, {"label:DOCTOR": "DOCTOR", "label:PHONE": ""})
    run = Run.objects.get()
    work(run.job_id)
    assert "Start the server" in Job.objects.get().error
    settings.REMOTE_MODELS = {}
    Job.objects.update(state="queued", attempt=0)
    work(run.job_id)
    assert "has no server “ner”" in Job.objects.get().error
    assert client.get(PAGE).status_code == 404
    assert "DEIDREVIEW_REMOTE_MODELS" in check_page(client.get(reverse("backends", args=["ward"])))
