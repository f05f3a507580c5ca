"""Runs of spaCy pipelines on this machine: finding them without spaCy, mapping all labels, and running them."""

import json
import shutil

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.urls import reverse

from annotations.jobs.runner import run as work
from annotations.models import Job, LabelSet, Project, Span
from models_runtime.core import pipelines as found_here
from models_runtime.core.pipelines import pipelines
from models_runtime.models import Run
from models_runtime.runs.services.external import usual_labels
from tests import factories as make
from tests.backends.made import made_pipeline

pytestmark = pytest.mark.queue


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    return made_pipeline(tmp_path_factory.mktemp("pipelines") / "small")


@pytest.fixture
def small(made, tmp_path, monkeypatch):
    """The folder of a pipeline where this machine keeps its pipelines."""
    monkeypatch.setattr(found_here, "home", lambda: tmp_path)
    shutil.copytree(made, tmp_path / "small")
    return tmp_path / "small"


@pytest.fixture
def ward(transactional_db, no_redis, client, small):
    project = make.make_project("ward")
    LabelSet.objects.update(key="i2b2-2014")
    make.make_note(project, "Rita Neri, di Madrid, con Covid.\n", "uno")
    client.force_login(make.make_member(project, "manager", "boss"))
    return project


PAGE = "/projects/ward/runs/pipelines/small/"


def html_of(response):
    return response.content.decode()


def test_folders_are_found_without_spacy(small):
    (found,) = pipelines()
    assert (found.name, found.labels, found.language) == ("small", ("LOC", "MISC", "PER"), "it")
    assert found.path == str(small)


def test_what_is_no_pipeline_is_not_listed(small):
    home = small.parent
    (home / "empty").mkdir()
    (home / "broken").mkdir()
    (home / "broken" / "meta.json").write_text("[" * 10_000)
    (home / "-bad name").mkdir()
    (home / "file").write_text("x")
    assert [row.name for row in pipelines()] == ["small"]


def test_installed_packages_are_found_by_their_entry_point(small, monkeypatch, tmp_path):
    package = tmp_path / "site" / "xx_small"
    package.mkdir(parents=True)
    meta = json.loads((small / "meta.json").read_text())
    shutil.copy(small / "meta.json", package)
    shutil.copytree(small, package / f"{meta['lang']}_{meta['name']}-{meta['version']}")

    class Point:
        name = module = "xx_small"

        class dist:
            locate_file = staticmethod(lambda path: tmp_path / "site" / path)

    monkeypatch.setattr(found_here, "entry_points", lambda group: [Point] if group == "spacy_models" else [])
    assert [(row.name, row.path, row.folder) for row in pipelines() if not row.folder] == [
        ("xx_small", "xx_small", False)
    ]


def test_from_the_page_to_suggestions(ward, client):
    assert PAGE in html_of(client.get(reverse("runs", args=["ward"])))
    shown = html_of(client.get(PAGE))
    assert "A few names &amp; towns." in shown
    assert '<option value="PATIENT" selected>' in shown and '<option value="" selected>' in shown
    chosen = {"label:PER": "DOCTOR", "label:LOC": "CITY", "label:MISC": "", "token": "t"}
    there = [client.post(PAGE, chosen).url for _ in range(2)]
    run = Run.objects.get()
    assert there == [reverse("run", args=["ward", run.pk])] * 2
    assert run.params == {"pipeline": "small", "labels": {"PER": "DOCTOR", "LOC": "CITY", "MISC": None}}
    work(run.job_id)
    assert (Job.objects.get().error, Job.objects.get().state) == ("", Job.State.DONE)
    spans = Span.objects.filter(annotation_set__author=run.author).order_by("start")
    assert [(span.start, span.end, span.label.code, span.confidence) for span in spans] == [
        (0, 9, "DOCTOR", None),
        (14, 20, "CITY", None),
    ]
    # The form keeps the last mapping.
    assert '<option value="DOCTOR" selected>' in html_of(client.get(PAGE))
    assert "spaCy pipelines" in html_of(client.get(reverse("backends", args=["ward"])))


def test_a_label_that_nobody_decided_on_is_refused_and_the_form_keeps_the_rest(ward, client):
    response = client.post(PAGE, {"label:PER": "DOCTOR", "label:LOC": "?", "token": "t"})
    assert response.status_code == 422
    undecided = ["Choose a label of this project, or “Nothing”."]
    assert response.context["form"].errors == {"label:LOC": undecided, "label:MISC": undecided}
    assert html_of(response).count(undecided[0]) == 4, "in the summary at the top, and beside each field"
    assert '<option value="DOCTOR" selected>' in html_of(response)
    for labels, why in (({"PER": "KING"}, "no label KING"), ({"PER": ""}, "Every label is set to “Nothing”")):
        given = {f"label:{key}": value for key, value in ({"LOC": "", "MISC": ""} | labels).items()}
        assert why in html_of(client.post(PAGE, given))
    assert not Run.objects.exists()
    assert client.get("/projects/ward/runs/pipelines/none/").status_code == 404


def test_a_pipeline_that_the_worker_lacks_fails_the_run_in_plain_words(ward, client, small):
    client.post(PAGE, {"label:PER": "DOCTOR", "label:LOC": "CITY", "label:MISC": ""})
    shutil.rmtree(small)
    work(Run.objects.get().job_id)
    assert (
        Job.objects.get().error
        == f"The worker's machine has no pipeline “small”. Copy it to {found_here.home()} there."
    )


def test_from_the_command_line(ward, capsys):
    words = ("run_model", "ward", "spacy-pipeline", "--pipeline", "small")
    call_command(*words, "--map", "PER=DOCTOR", "--wait", "--json")
    answer = json.loads(capsys.readouterr().out)
    assert (answer["run"], answer["state"], answer["done"]) == ("small-1", "done", 1)
    assert Run.objects.get().params["labels"] == {"PER": "DOCTOR", "LOC": "CITY", "MISC": None}
    with pytest.raises(CommandError, match="Available: small"):
        call_command("run_model", "ward", "spacy-pipeline", "--pipeline", "large")
    with pytest.raises(CommandError, match=r"has no label KING\. Its labels: LOC"):
        call_command(*words, "--map", "KING=DOCTOR")


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("key", "person", "town"),
    [("i2b2-2014", "PATIENT", "CITY"), ("meddocan", "NOMBRE_SUJETO_ASISTENCIA", "TERRITORIO"), ("my own", "?", "?")],
)
def test_usual_labels_go_through_the_shipped_maps(key, person, town):
    make.make_project("a")
    LabelSet.objects.update(key=key)
    usual = usual_labels(Project.objects.get())
    assert (usual.get("PER", "?"), usual.get("GPE", "?"), usual["MISC"]) == (person, town, None)
