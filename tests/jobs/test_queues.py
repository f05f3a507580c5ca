"""The queue of a job, and the messages when no worker serves that queue."""

import json
from dataclasses import replace
from datetime import timedelta
from uuid import uuid4

import pytest
from django.core.management import CommandError, call_command
from django.db.models.functions import Now
from django.test import Client
from django.urls import reverse

from annotations.jobs.runner import take
from annotations.models import Job, Share
from models_runtime.core import registry
from models_runtime.models import TrainedModel
from models_runtime.runs.services import runs
from models_runtime.runs.services.ensembles import MemberChoice, start_ensemble
from tests import factories as make
from tests.jobs.probes.kinds import FAKE
from tests.runs.test_shares import idle
from tests.worlds.checks import check_page

pytestmark = [pytest.mark.queue, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def project(monkeypatch):
    monkeypatch.setitem(registry.BACKENDS, "fake", registry.BackendKind(FAKE.title, FAKE.factory, "", queue="gpu"))
    project = make.make_project("covid")
    make.make_note(project)
    return project


@pytest.fixture
def run(project):
    return runs.start_run(project=project, backend="fake", actor=None, key="k")


def queues(capsys, *words):
    capsys.readouterr()
    call_command("queues", *words)
    return capsys.readouterr().out


def test_a_run_goes_to_its_backend_s_queue_and_so_does_its_retry(run, no_redis):
    assert Job.objects.get().queue == "gpu"
    Job.objects.update(state=Job.State.FAILED)
    runs.retry_failed(run=run, actor=None)
    assert set(Job.objects.values_list("queue", flat=True)) == {"gpu"}
    assert Job.objects.count() == 2


def test_a_trained_model_s_run_goes_to_the_queue_of_its_kind(project, no_redis, monkeypatch):
    monkeypatch.setitem(registry.TRAINABLE, "crf", replace(registry.TRAINABLE["crf"], queue="llm"))
    model = TrainedModel.objects.create(project=project, name="ours", backend="crf", state=TrainedModel.State.READY)
    runs.start_run(project=project, backend=model.name, actor=None, key="k")
    assert Job.objects.get().queue == "llm"


def test_an_ensemble_goes_where_its_most_demanding_member_can_run(project, no_redis):
    members = [MemberChoice("rules"), MemberChoice("fake")]
    start_ensemble(project=project, members=members, method="union", actor=None, key="k")
    assert Job.objects.get().queue == "gpu"


def test_the_run_s_page_says_which_worker_is_missing(run, redis_server):
    client = Client()
    client.force_login(make.make_member(run.project, "manager"))
    page = reverse("run", args=["covid", run.pk])
    idle(redis_server.client(), "other")
    html = client.get(page).content.decode()
    assert "No gpu worker is running" in html
    assert "manage.py work --queue gpu" in html
    idle(redis_server.client(), "right", queue="gpu")
    assert "No gpu worker" not in client.get(page).content.decode()


def test_the_run_s_page_gives_the_number_of_workers_and_shows_an_unfinished_pause(run, no_redis):
    client = Client()
    client.force_login(make.make_member(run.project, "manager"))
    page = reverse("run", args=["covid", run.pk])
    take(run.job_id)
    live, late = Now() + timedelta(minutes=1), Now() - timedelta(minutes=1)
    for number, until in enumerate((live, live, late)):
        Share.objects.create(job_id=run.job_id, token=uuid4(), first=number, last=number, lease_until=until)
    assert "2 workers" in check_page(client.get(page))
    Job.objects.update(state=Job.State.PAUSED)
    html = check_page(client.get(page))
    assert "Pausing" in html, "two workers still finish the notes they hold"
    assert "hx-trigger" in html
    Share.objects.all().delete()
    html = check_page(client.get(page))
    assert "Paused" in html
    assert "hx-trigger" not in html


def test_the_command_shows_each_queue_and_fails_where_jobs_wait_without_a_worker(run, redis_server, capsys):
    idle(redis_server.client(), "a"), idle(redis_server.client(), "b", "busy")
    with pytest.raises(CommandError, match=r"no worker is running: gpu \(1\)"):
        queues(capsys)
    idle(redis_server.client(), "c", queue="gpu")
    printed = queues(capsys)
    assert "cpu: 2 workers, 1 idle; jobs: 0 running, 0 waiting\n" in printed
    assert "gpu: 1 worker, 1 idle; jobs: 0 running, 1 waiting (the oldest for " in printed
    assert "llm: No llm worker is running: manage.py work --queue llm; jobs: 0 running, 0 waiting" in printed
    take(run.job_id)
    _, gpu, _ = json.loads(queues(capsys, "--json"))["queues"]
    assert gpu == {
        "queue": "gpu", "workers": 1, "idle": 1, "waiting": 0, "running": 1, "shared": 0, "oldest": None,
        "stuck": False, "lost": 0,
    }  # fmt: skip


def test_the_command_says_that_redis_does_not_respond(run, no_redis, capsys):
    assert "gpu: Redis does not respond" in queues(capsys)


@pytest.mark.parametrize(("words", "served"), [([], ["cpu", "gpu", "llm"]), (["--queue", "gpu"], ["gpu"])])
def test_a_worker_serves_every_queue_unless_told_which(monkeypatch, words, served):
    asked = []
    monkeypatch.setattr("annotations.jobs.management.commands.work.work", asked.append)
    call_command("work", *words)
    assert [list(each) for each in asked] == [served]
