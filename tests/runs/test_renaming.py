"""Runs are renamed on their page, through the API and by command, unless a release or a job names them."""

import io
import json

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from annotations.models import Author, Event, Job, Release
from models_runtime.models import Run
from models_runtime.runs.events import RUN_RENAMED
from tests import factories as make
from tests.worlds.audited import make_release
from tests.worlds.checks import check_page
from tests.worlds.programs import Program

pytestmark = pytest.mark.django_db


@pytest.fixture
def project(db):
    return make.make_project("covid")


@pytest.fixture
def mia(project):
    return make.make_member(project, "manager", "mia")


@pytest.fixture
def run(project):
    author = make.make_author(project, kind="run", name="rules-1")
    make.make_author(project, kind="run", name="taken")
    return Run.objects.create(project=project, author=author, backend="rules")


def renamed(*words):
    """Return the result of the command, or the code of its error."""
    out = io.StringIO()
    try:
        call_command("rename_run", "covid", *words, "--json", stdout=out)
    except CommandError:
        return json.loads(out.getvalue())["code"]
    return json.loads(out.getvalue())


def test_on_the_page(client, run, mia):
    client.force_login(mia)
    page = reverse("run", args=["covid", run.pk])
    assert "run-new-name" in check_page(client.get(page))
    assert client.post(f"{page}rename", {"name": "  First rules "}).url == page
    assert Author.objects.get(pk=run.author_id).name == "First rules"
    assert "A run named “taken” already exists." in client.post(f"{page}rename", {"name": "taken"}, follow=True).text
    assert "Enter a name" in client.post(f"{page}rename", follow=True).text
    event = Event.objects.get(verb=RUN_RENAMED)
    assert (event.actor, event.data) == (mia, {"author": run.author_id})
    vic = make.make_member(run.project, "viewer", "vic")
    client.force_login(vic)
    assert "run-new-name" not in client.get(page).text


def test_through_the_api(run, mia):
    program = Program(mia)
    assert program.patch(f"/projects/covid/runs/{run.pk}", {"name": "first"}).json()["name"] == "first"
    refused = program.patch(f"/projects/covid/runs/{run.pk}", {"name": "taken"})
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (422, "name")


def test_by_command(run, mia):
    assert renamed("rules-1", "--name", "first", "--by", "mia") == {"run": "first", "run_id": run.author_id}
    assert renamed("first", "--name", "first") == {"run": "first", "run_id": run.author_id}
    assert Event.objects.filter(verb=RUN_RENAMED).count() == 1
    for words, code in (
        (("none", "--name", "x"), "set"),
        (("taken", "--name", "x"), "run"),
        (("first", "--name", "x" * 81), "name"),
    ):
        assert renamed(*words) == code


@pytest.mark.parametrize("spec", ["run:rules-1", "union:gold+run:rules-1"])
def test_a_run_that_a_release_names_keeps_its_name(run, mia, spec):
    release = make_release(run.project, notes=1)
    Release.objects.filter(pk=release.pk).update(set_spec=spec)
    assert renamed("rules-1", "--name", "x", "--by", "mia") == "released"
    answer = Program(mia).patch(f"/projects/covid/runs/{run.pk}", {"name": "x"})
    assert (answer.status_code, answer.json()["code"]) == (409, "released")


def test_a_run_that_a_job_names_keeps_its_name(run):
    job = Job.objects.create(project=run.project, kind="export", key="x", params={"set": "run:rules-1"})
    assert renamed("rules-1", "--name", "x") == "live"
    Job.objects.filter(pk=job.pk).update(state=Job.State.DONE)
    assert renamed("rules-1", "--name", "x")["run"] == "x"
