"""Runs by the API: from the start to the failed notes and the retry, merged lists, and what errors name."""

import pytest

from annotations.jobs.runner import run as work
from annotations.models import Author, Job, Review, RewrittenNote
from models_runtime.core import registry
from models_runtime.models import Run, RunItem
from tests import factories as make
from tests.worlds.programs import Program

RUNS = "/projects/covid/runs"


@pytest.fixture(autouse=True)
def fake(monkeypatch):
    kind = registry.BackendKind(title="Fake", factory="tests.worlds.fake_backend.FakeBackend", description="For tests.")
    monkeypatch.setitem(registry.BACKENDS, "fake", kind)


@pytest.fixture
def mia(world):
    return Program(world.mia)


def fields_of(answer):
    assert answer.status_code == 422, answer.content
    return [one["field"] for one in answer.json()["errors"]]


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
    RunItem.objects.filter(document=world.note).update(state=RunItem.State.FAILED, error="It did not answer.")
    (failed,) = mia.get(f"{RUNS}/{made['id']}/failures").json()["items"]
    assert failed == {"note": world.note.pk, "name": "caso-001", "error": "It did not answer."}
    retried = mia.post(f"{RUNS}/{made['id']}/retry").json()
    assert (retried["job"], retried["state"]) == (2, "queued")


@pytest.mark.django_db
def test_what_is_wrong_is_named(world, mia):
    assert fields_of(mia.post(RUNS, {"backend": "none"})) == ["backend"]
    assert fields_of(mia.post(RUNS, {"backend": "ensemble"})) == ["backend"]
    members = [{"member": "rules"}, {"member": "rules"}]
    assert fields_of(mia.post(f"{RUNS}/ensembles", {"members": members})) == ["members"]
    unknown = {"members": [{"member": "rules"}, {"member": "run:none"}]}
    assert fields_of(mia.post(f"{RUNS}/ensembles", unknown)) == ["members"]
    model = {"server": "a", "model": "b", "omega": 1}
    assert fields_of(mia.post(f"{RUNS}/language-models", model)) == ["model", "omega"]
    assert fields_of(mia.post(f"{RUNS}/merged", {"runs": [1]})) == ["runs"]
    assert mia.post(f"{RUNS}/external", {"backend": "pipeline", "model": "none"}).status_code == 404
    assert mia.post(f"{RUNS}/external", {"backend": "rules", "model": "none"}).status_code == 404


@pytest.mark.django_db
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


@pytest.mark.django_db
def test_runs_are_not_merged_while_planted_leaks_are_hidden(world):
    run = make.make_author(world.project, kind="run", name="imported")
    Review.objects.create(document=world.note, author=run, planted_share=100)
    answer = Program(world.rev).post(f"{RUNS}/merged", {"runs": [run.pk]})
    assert (answer.status_code, answer.json()["code"]) == (409, "withheld")


@pytest.mark.django_db
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
    assert Program(world.vic).get(f"{own}/rewritten").status_code == 403
