"""Runs by the API: start, failed notes, retry, merged lists, errors. A run gets another name, unless one is in use."""

import pytest
from django.urls import reverse

from annotations.jobs.runner import run as work
from annotations.models import Author, Event, Job, JobState, Release, Review, RewrittenNote
from models_runtime.models import Run, RunItem, RunItemState
from models_runtime.runs.events import RUN_RENAMED
from tests import factories as make
from tests.worlds.audited import make_release
from tests.worlds.checks import check_page
from tests.worlds.programs import Program, fields_of

RUNS = "/projects/covid/runs"


pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("fake")]


@pytest.fixture
def mia(world):
    return Program(world.mia)


@pytest.mark.django_db(transaction=True)
def test_a_run_from_its_start_to_its_suggestions(world, mia):
    assert "fake" in [one["backend"] for one in mia.get("/projects/covid/backends").json()]
    answer = mia.post(RUNS, {"backend": "fake", "name": "first"}, idempotency_key="one")
    again = mia.post(RUNS, {"backend": "fake", "name": "first"}, idempotency_key="one")
    assert (answer.status_code, answer.json()) == (202, again.json())
    made = answer.json()
    assert answer.headers["Location"] == f"/api/v1/projects/covid/jobs/{made['job']}"
    assert (made["name"], made["state"]) == ("first", "queued")
    work(Job.objects.get().pk)
    found = mia.get(f"{RUNS}/{made['id']}").json()
    assert (found["state"], found["done"], found["pending"], found["backend"]) == ("done", 2, 0, "fake")
    assert [one["id"] for one in mia.get(RUNS).json()["items"]] == [made["id"]]
    assert mia.post(f"{RUNS}/{made['id']}/retry").json()["code"] == "none"
    RunItem.objects.filter(document=world.note).update(state=RunItemState.FAILED, error="It did not answer.")
    (failed,) = mia.get(f"{RUNS}/{made['id']}/failures").json()["items"]
    assert failed == {"note": world.note.pk, "name": "caso-001", "error": "It did not answer."}
    retried = mia.post(f"{RUNS}/{made['id']}/retry").json()
    assert (retried["job"], retried["state"]) == (2, "queued")


def test_what_is_wrong_is_named(mia):
    for path, body, fields in (
        ("", {"backend": "none"}, ["backend"]),
        ("", {"backend": "ensemble"}, ["backend"]),
        ("/ensembles", {"members": [{"member": "rules"}, {"member": "rules"}]}, ["members"]),
        ("/ensembles", {"members": [{"member": "rules"}, {"member": "run:none"}]}, ["members"]),
        ("/language-models", {"server": "a", "model": "b", "omega": 1}, ["model", "omega"]),
        ("/merged", {"runs": [1]}, ["runs"]),
    ):
        assert fields_of(mia.post(RUNS + path, body)) == fields
    for backend in ("pipeline", "rules"):
        assert mia.post(f"{RUNS}/external", {"backend": backend, "model": "none"}).status_code == 404


def test_an_ensemble_and_a_merged_list(world, mia):
    runs = [make.make_author(world.project, kind="run", name=f"imported-{n}") for n in (1, 2)]
    for run in runs:
        make.make_set(world.note, run, [(0, 11, "PATIENT")], submitted=True)
    offered = [one["member"] for one in mia.get("/projects/covid/ensemble-members").json()]
    assert {"rules", "run:imported-1", "run:imported-2"} <= set(offered)
    chosen = [{"member": "run:imported-1", "weight": 0.5}, {"member": "run:imported-2", "weight": 1}]
    started = mia.post(f"{RUNS}/ensembles", {"method": "weighted", "members": chosen})
    found = mia.get(f"{RUNS}/{started.json()['id']}").json()
    assert (found["method"], [one["weight"] for one in found["members"]]) == ("weighted", [0.5, 1.0])
    merged = Program(world.rev).post(f"{RUNS}/merged", {"runs": [run.pk for run in runs]}).json()
    assert Author.objects.get(pk=merged["run_author"]).merged_from == [run.pk for run in runs]


def test_runs_are_not_merged_while_planted_leaks_are_hidden(world):
    run = make.make_author(world.project, kind="run", name="imported")
    Review.objects.create(document=world.note, author=run, planted_share=100)
    answer = Program(world.rev).post(f"{RUNS}/merged", {"runs": [run.pk]})
    assert (answer.status_code, answer.json()["code"]) == (409, "withheld")


def test_labels_for_placeholders_of_rewritten_notes(world, mia):
    author = make.make_author(world.project, kind="run", name="llm-1")
    run = Run.objects.create(project=world.project, author=author, backend="llm", params={"strategy": "rewrite"})
    make.make_set(world.note, author, [], submitted=True)
    RewrittenNote.objects.create(
        author=author, document=world.note, text="[NAME]", sha256="0" * 64, unmapped=[[0, 11, "NAME", "", None]]
    )
    own = f"{RUNS}/{run.pk}"
    (listed,) = mia.get(f"{own}/placeholders").json()
    assert (listed["placeholder"], listed["count"]) == ("NAME", 1)
    assert fields_of(mia.post(f"{own}/placeholders", {"labels": {"NAME": "NONE"}})) == ["labels.NAME"]
    assert mia.post(f"{own}/placeholders", {"labels": {"NAME": "PATIENT"}}).json() == {"suggestions": 1}
    lines = mia.get(f"{own}/rewritten?prompt=false")
    assert b'"deidentified": "[NAME]"' in b"".join(lines.streaming_content)


# ── Other names ──────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.fixture
def run(world):
    author, _ = (make.make_author(world.project, kind="run", name=name) for name in ("rules-1", "taken"))
    return Run.objects.create(project=world.project, author=author, backend="rules")


def test_a_run_is_renamed_on_its_page(world, client, run):
    client.force_login(world.mia)
    page = reverse("run", args=["covid", run.pk])
    assert "run-new-name" in check_page(client.get(page))
    assert client.post(f"{page}rename", {"name": "  First rules "}).url == page
    assert Author.objects.get(pk=run.author_id).name == "First rules"
    assert "A run named “taken” already exists." in client.post(f"{page}rename", {"name": "taken"}, follow=True).text
    assert "Enter a name" in client.post(f"{page}rename", follow=True).text
    event = Event.objects.get(verb=RUN_RENAMED)
    assert (event.actor, event.data) == (world.mia, {"author": run.author_id})
    client.force_login(world.vic)
    assert "run-new-name" not in client.get(page).text


def test_a_run_is_renamed_through_the_api(run, mia):
    path = f"{RUNS}/{run.pk}"
    assert mia.patch(path, {"name": "first"}).json()["name"] == "first"
    assert fields_of(mia.patch(path, {"name": "taken"})) == ["name"]
    assert mia.patch(path, {"name": "first"}).status_code == 200 and Event.objects.filter(verb=RUN_RENAMED).count() == 1


@pytest.mark.parametrize("spec", ["run:rules-1", "union:gold+run:rules-1"])
def test_a_run_that_a_release_or_a_job_names_keeps_its_name(run, mia, spec):
    job = Job.objects.create(project=run.project, kind="export", key="x", params={"set": "run:rules-1"})
    path = f"{RUNS}/{run.pk}"
    assert mia.patch(path, {"name": "x"}).json()["code"] == "live"
    Job.objects.filter(pk=job.pk).update(state=JobState.DONE)
    release = make_release(run.project, notes=1)
    Release.objects.filter(pk=release.pk).update(set_spec=spec)
    answer = mia.patch(path, {"name": "x"})
    assert (answer.status_code, answer.json()["code"]) == (409, "released")
    release.delete()
    assert mia.patch(path, {"name": "x"}).json()["name"] == "x"
