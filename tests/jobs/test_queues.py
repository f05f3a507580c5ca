"""The queue of a job, and the messages when no worker serves that queue."""

from dataclasses import replace
from datetime import timedelta
from uuid import uuid4

import pytest
from django.core.management import CommandError
from django.db.models.functions import Now
from django.urls import reverse

from annotations.jobs.runner import take
from annotations.models import Job, JobState, Share
from models_runtime.core import registry
from models_runtime.models import TrainedModel, TrainedModelState
from models_runtime.runs.services import runs
from models_runtime.runs.services.ensembles import MemberChoice, start_ensemble
from tests import factories as make
from tests.jobs.probes.kinds import FAKE
from tests.runs.test_shares import idle
from tests.worlds.checks import check_page
from tests.worlds.commands import printed, told

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def project(monkeypatch):
    monkeypatch.setitem(registry.BACKENDS, "fake", registry.BackendKind(FAKE.title, FAKE.factory, "", queue="gpu"))
    project = make.make_project("covid")
    make.make_note(project)
    return project


@pytest.fixture
def run(project):
    return runs.start_run(project=project, backend="fake", actor=None, key="k")


@pytest.fixture
def show(run, client):
    """Return the page of the run, as a manager sees it."""
    client.force_login(make.make_member(run.project, "manager"))
    return lambda: check_page(client.get(reverse("run", args=["covid", run.pk])))


def test_a_run_goes_to_its_backend_s_queue_and_so_does_its_retry(run, no_redis):
    assert Job.objects.get().queue == "gpu"
    Job.objects.update(state=JobState.FAILED)
    runs.retry_failed(run=run, actor=None)
    assert set(Job.objects.values_list("queue", flat=True)) == {"gpu"} and Job.objects.count() == 2
    assert "gpu: Redis does not respond" in printed("queues")


def test_models_and_ensembles_go_to_the_queue_that_their_kinds_need(project, no_redis, monkeypatch):
    members = [MemberChoice("rules"), MemberChoice("fake")]
    start_ensemble(project=project, members=members, method="union", actor=None, key="k")
    assert Job.objects.get().queue == "gpu", "as its most demanding member"
    monkeypatch.setitem(registry.TRAINABLE, "crf", replace(registry.TRAINABLE["crf"], queue="llm"))
    model = TrainedModel.objects.create(project=project, name="ours", backend="crf", state=TrainedModelState.READY)
    runs.start_run(project=project, backend=model.name, actor=None, key="trained")
    assert Job.objects.latest("pk").queue == "llm"


def test_the_run_s_page_gives_the_number_of_workers_and_shows_an_unfinished_pause(run, show, no_redis):
    take(run.job_id)
    live, late = Now() + timedelta(minutes=1), Now() - timedelta(minutes=1)
    for number, until in enumerate((live, live, late)):
        Share.objects.create(job_id=run.job_id, token=uuid4(), first=number, last=number, lease_until=until)
    assert "2 workers" in show()
    Job.objects.update(state=JobState.PAUSED)
    html = show()
    assert "Pausing" in html and "hx-trigger" in html, "two workers still finish the notes they hold"
    Share.objects.all().delete()
    html = show()
    assert "Paused" in html and "X-Background" not in html


def test_the_command_shows_each_queue_and_fails_where_jobs_wait_without_a_worker(run, redis_server):
    idle(redis_server.client(), "a"), idle(redis_server.client(), "b", "busy")
    with pytest.raises(CommandError, match=r"no worker is running: gpu \(1\)"):
        printed("queues")
    idle(redis_server.client(), "c", queue="gpu")
    said = printed("queues")
    assert "cpu: 2 workers, 1 idle; jobs: 0 running, 0 waiting\n" in said
    assert "jobs: 0 running, 1 waiting (the oldest for " in said and "manage.py work --queue llm;" in said
    take(run.job_id)
    _, gpu, _ = told("queues")["queues"]
    assert (gpu["workers"], gpu["idle"], gpu["waiting"], gpu["running"], gpu["stuck"]) == (1, 1, 0, 1, False)
