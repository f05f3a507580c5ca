"""Runs of zero-shot models: prompts for the project's labels on the page, by command and by the API."""

import json

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.urls import reverse

from annotations.jobs.runner import run as work
from annotations.models import Job, Label, Span
from models_runtime.core import weights as found_here
from models_runtime.core.external import external_models
from models_runtime.models import Run
from tests import factories as make
from tests.worlds.checks import check_page
from tests.worlds.programs import Program

pytest.importorskip("torch")

from tests.backends.made_gliner import made_gliner, steady_gliner

pytestmark = [pytest.mark.queue, pytest.mark.django_db(transaction=True)]

TEXT = "Anna Maria Bianchi, di Rovigo.\n"
RUNS = "/projects/ward/runs"


@pytest.fixture
def ward(no_redis, client, tmp_path, monkeypatch):
    monkeypatch.setattr(found_here, "home", lambda: tmp_path)
    steady_gliner(tmp_path / "tiny")
    project = make.make_project("ward")
    Label.objects.filter(label_set__project=project, code="CITY").update(description="Towns <and> villages.")
    make.make_note(project, TEXT, "uno")
    project.boss = make.make_member(project, "manager", "boss")
    client.force_login(project.boss)
    return project


def page():
    return reverse("run_zero_shot", args=["ward", "tiny"])


def test_folders_are_found_and_a_pickle_is_not_listed(ward, tmp_path):
    made_gliner(tmp_path / "models--org--other" / "snapshots" / ("a" * 40))
    made_gliner(tmp_path / "pickled")
    (tmp_path / "pickled" / "model.safetensors").rename(tmp_path / "pickled" / "pytorch_model.bin")
    made_gliner(tmp_path / "broken")
    (tmp_path / "broken" / "gliner_config.json").write_text("[" * 10_000)
    found = [(row.name, row.description) for row in external_models() if row.backend == "gliner"]
    assert found == [("org/other", "bert, markerV0"), ("tiny", "bert, markerV0")]


def test_from_the_page_to_suggestions(ward, client):
    assert page() in client.get(reverse("runs", args=["ward"])).content.decode()
    shown = check_page(client.get(page()))
    assert "A zero-shot model from a folder" in shown and "Towns &lt;and&gt; villages." in shown
    first = Label.objects.filter(label_set__project=ward).first()
    assert f'value="{first.name.lower()}"' in shown, "the usual prompt is the label's name"
    there = client.post(page(), {"prompts:PATIENT": "name of a person; person", "prompts:CITY": "", "token": "t"}).url
    run = Run.objects.get()
    assert there == reverse("run", args=["ward", run.pk])
    assert run.params == {"folder": "tiny", "labels": {"name of a person": "PATIENT", "person": "PATIENT"}}
    assert run.job.queue == Job.Queue.GPU
    work(run.job_id)
    assert (Job.objects.get().error, Job.objects.get().state) == ("", Job.State.DONE)
    spans = list(Span.objects.filter(annotation_set__author=run.author))
    assert spans and {span.label.code for span in spans} == {"PATIENT"}
    assert all("Bianchi" in TEXT[span.start : span.end] and 0.5 <= span.confidence <= 1 for span in spans)
    # The form keeps the last prompts.
    assert 'value="name of a person; person"' in check_page(client.get(page()))
    assert "Zero-shot models" in check_page(client.get(reverse("backends", args=["ward"])))


def test_wrong_prompts_are_refused_and_the_form_keeps_the_rest(ward, client):
    twice = client.post(page(), {"prompts:PATIENT": "who", "prompts:CITY": "who"})
    assert twice.status_code == 422 and "Another label has the prompt “who”, too." in check_page(twice)
    assert 'value="who"' in check_page(twice)
    for sent, why in (({}, "No label has a prompt."), ({"prompts:CITY": "x" * 101}, "must have 1 to 100 characters")):
        answer = client.post(page(), sent)
        assert answer.status_code == 422 and why in check_page(answer)
    assert not Run.objects.exists()
    assert client.get(reverse("run_zero_shot", args=["ward", "none"])).status_code == 404
    Label.objects.filter(label_set__project=ward).delete()
    assert "This project has no labels to write prompts for." in check_page(client.get(page()))


def told(capsys, *words):
    call_command("run_model", "ward", "gliner", "--folder", "tiny", *words, "--json")
    return json.loads(capsys.readouterr().out)


def test_from_the_command_line(ward, capsys):
    answer = told(capsys, "--map", "name of a person=PATIENT,city=CITY", "--wait")
    assert (answer["run"], answer["state"], answer["done"]) == ("tiny-1", "done", 1)
    assert Run.objects.get().params["labels"] == {"name of a person": "PATIENT", "city": "CITY"}
    told(capsys)
    again = Run.objects.get(author__name="tiny-2").params["labels"]
    assert again == {"name of a person": "PATIENT", "city": "CITY"}, "without --map, those of the last run"
    told(capsys, "--map", "ward = unit=HOSPITAL")
    assert Run.objects.latest("pk").params["labels"] == {"ward = unit": "HOSPITAL"}, "a prompt can contain “=”"
    with pytest.raises(CommandError, match="no label KING"):
        told(capsys, "--map", "king=KING")
    with pytest.raises(CommandError, match="“city” two labels: CITY and HOSPITAL"):
        told(capsys, "--map", "city=CITY,city =HOSPITAL")
    with pytest.raises(CommandError, match="has a character that can't be stored"):
        told(capsys, "--map", "ci\udc80ty=CITY")
    with pytest.raises(CommandError, match="threshold"):
        told(capsys, "--threshold", "0.05")
    with pytest.raises(CommandError, match="Available: tiny"):
        call_command("run_model", "ward", "gliner", "--folder", "none")


def test_by_the_api(ward):
    boss = Program(ward.boss)
    (listed,) = [one for one in boss.get("/projects/ward/external-models").json() if one["backend"] == "gliner"]
    usual = {label.name.lower(): label.code for label in Label.objects.filter(label_set__project=ward)}
    assert (listed["model"], listed["labels"]) == ("tiny", usual)
    started = {"backend": "gliner", "model": "tiny"}
    assert boss.post(f"{RUNS}/external", started | {"labels": {"person": "PATIENT"}}).status_code == 202
    assert Run.objects.get().params["labels"] == {"person": "PATIENT"}
    for labels, why in (
        ({"person": "KING"}, "no label KING"),
        ({"city": "CITY", " city ": "HOSPITAL"}, "The prompt “city” stands for two labels: CITY and HOSPITAL."),
    ):
        refused = boss.post(f"{RUNS}/external", started | {"labels": labels})
        assert (refused.status_code, refused.json()["errors"][0]["field"]) == (422, "labels")
        assert why in refused.json()["errors"][0]["reason"]
