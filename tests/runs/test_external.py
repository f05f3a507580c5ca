"""Runs of models that were trained elsewhere: spaCy pipelines, taggers, zero-shot models, and models on servers."""

import json
import re
import shutil

import pytest
from django.core.management.base import CommandError
from django.urls import reverse

from annotations.gold.services.making import freeze
from annotations.models import Job, JobState, Label, LabelSet, Project, Span
from models_runtime.backends.remote.servers import read_remote_models
from models_runtime.backends.rules import RulesBackend
from models_runtime.core import external as here
from models_runtime.core.external import external_models, pipelines
from models_runtime.models import Run
from models_runtime.runs.services.external import usual_labels
from tests import factories as make
from tests.backends.made import made_pipeline
from tests.backends.remote.scripted import KEY, serving
from tests.runs.conftest import command, finished
from tests.worlds.checks import check_page

pytest.importorskip("torch")

from tests.backends.made_flair import word_tagger
from tests.backends.made_gliner import made_gliner, steady_gliner
from tests.backends.made_weights import lookup_tagger

pytestmark = pytest.mark.django_db(transaction=True)
TEXT = "Anna Maria Bianchi, di Rovigo.\n"
TAG_OF = {"Mario": "B-PER", "Rossi": "E-PER", "Roma": "S-LOC", "Luca": "I-PER", "##a": "O"}
NOTES = 26
RUNS = "/projects/ward/runs"


@pytest.fixture
def boss():
    return make.make_user("boss")


@pytest.fixture
def ward(no_redis, client, boss):
    """A project without notes, whose manager uses the browser."""
    project = make.make_project("ward")
    LabelSet.objects.update(key="i2b2-2014")
    make.make_member(project, "manager", boss)
    client.force_login(boss)
    return project


def html_of(client, name, *arguments):
    return check_page(client.get(reverse(name, args=["ward", *arguments])))


def ran(run):
    job = finished(run)
    assert (job.error, job.state) == ("", JobState.DONE)
    return job


def spans_of(run):
    return Span.objects.filter(annotation_set__author=run.author).order_by("annotation_set__document", "start")


# ── Pipelines of spaCy ───────────────────────────────────────────────────────────────────────────────────────────────
PIPELINE = f"{RUNS}/pipelines/small/"


@pytest.fixture(scope="module")
def made_small(tmp_path_factory):
    return made_pipeline(tmp_path_factory.mktemp("pipelines") / "small")


@pytest.fixture
def small(made_small, tmp_path, monkeypatch):
    """The folder of a pipeline where this machine keeps its pipelines."""
    monkeypatch.setattr(here, "pipelines_home", lambda: tmp_path)
    shutil.copytree(made_small, tmp_path / "small")
    return tmp_path / "small"


@pytest.fixture
def with_pipeline(ward, small):
    make.make_note(ward, "Rita Neri, di Madrid, con Covid.\n", "uno")
    return small


def test_pipelines_are_found_without_spacy_in_folders_and_packages(small, monkeypatch, tmp_path):
    home = small.parent
    for name in ("empty", "broken", "-bad name"):
        (home / name).mkdir()
    (home / "broken" / "meta.json").write_text("[" * 10_000)
    (home / "file").write_text("x")
    (found,) = pipelines()
    assert (found.name, found.labels, found.language) == ("small", ("LOC", "MISC", "PER"), "it")
    assert found.path == str(small)
    package = tmp_path / "site" / "xx_small"
    package.mkdir(parents=True)
    meta = json.loads((small / "meta.json").read_text())
    shutil.copy(small / "meta.json", package)
    shutil.copytree(small, package / f"{meta['lang']}_{meta['name']}-{meta['version']}")

    class Point:
        name = module = "xx_small"

        class dist:
            locate_file = staticmethod(lambda path: tmp_path / "site" / path)

    monkeypatch.setattr(here, "entry_points", lambda group: [Point] if group == "spacy_models" else [])
    assert [(row.name, row.path) for row in pipelines() if not row.folder] == [("xx_small", "xx_small")]


def test_a_pipeline_from_the_page_to_suggestions(with_pipeline, client):
    assert PIPELINE in html_of(client, "runs")
    shown = client.get(PIPELINE).content.decode()
    assert "A few names &amp; towns." in shown
    assert '<option value="PATIENT" selected>' in shown and '<option value="" selected>' in shown
    chosen = {"label:PER": "DOCTOR", "label:LOC": "CITY", "label:MISC": "", "token": "t"}
    there = [client.post(PIPELINE, chosen).url for _ in range(2)]
    run = Run.objects.get()
    assert there == [reverse("run", args=["ward", run.pk])] * 2
    assert run.params == {"pipeline": "small", "labels": {"PER": "DOCTOR", "LOC": "CITY", "MISC": None}}
    ran(run)
    assert list(spans_of(run).values_list("start", "end", "label__code", "confidence")) == [
        (0, 9, "DOCTOR", None), (14, 20, "CITY", None)
    ]  # fmt: skip
    assert '<option value="DOCTOR" selected>' in client.get(PIPELINE).content.decode(), "the form keeps the mapping"
    words = ("run_model", "ward", "spacy-pipeline", "--pipeline")
    answer = command(*words, "small", "--map", "PER=DOCTOR", "--wait")
    assert (answer["run"], answer["state"], answer["done"]) == ("small-2", "done", 1)
    assert Run.objects.latest("pk").params["labels"] == {"PER": "DOCTOR", "LOC": "CITY", "MISC": None}
    for more, why in (
        (["large"], "Available: small"), (["small", "--map", "KING=DOCTOR"], r"has no label KING\. Its labels: LOC"),
    ):  # fmt: skip
        with pytest.raises(CommandError, match=why):
            command(*words, *more)


def test_a_label_that_nobody_decided_on_is_refused_and_a_pipeline_that_is_gone_named(with_pipeline, client):
    response = client.post(PIPELINE, {"label:PER": "DOCTOR", "label:LOC": "?", "token": "t"})
    assert response.status_code == 422 and response.context["form"].errors.keys() == {"label:LOC", "label:MISC"}
    assert '<option value="DOCTOR" selected>' in response.content.decode()
    given = {"label:LOC": "", "label:MISC": ""}
    for label, why in (("KING", "KING is not one of the available choices"), ("", "Every label is set to “Nothing”")):
        assert why in client.post(PIPELINE, given | {"label:PER": label}).content.decode()
    assert not Run.objects.exists() and client.get(PIPELINE.replace("small", "none")).status_code == 404
    client.post(PIPELINE, given | {"label:PER": "DOCTOR"})
    shutil.rmtree(with_pipeline)
    why = f"no pipeline “small”. Copy it to {here.pipelines_home()} there."
    assert why in finished(Run.objects.get()).error


@pytest.mark.parametrize(
    ("key", "person", "town"),
    [("i2b2-2014", "PATIENT", "CITY"), ("meddocan", "NOMBRE_SUJETO_ASISTENCIA", "TERRITORIO"), ("my own", "?", "?")],
)
def test_usual_labels_go_through_the_shipped_maps(key, person, town):
    make.make_project("a")
    LabelSet.objects.update(key=key)
    usual = usual_labels(Project.objects.get())
    assert (usual.get("PER", "?"), usual.get("GPE", "?"), usual["MISC"]) == (person, town, None)


# ── Folders with weights: taggers and zero-shot models ───────────────────────────────────────────────────────────────
@pytest.fixture(scope="module")
def made(tmp_path_factory):
    home = tmp_path_factory.mktemp("weights")
    lookup_tagger(home / "bioes", TAG_OF, ["O", "B-PER", "I-PER", "E-PER", "S-LOC"])
    lookup_tagger(home / "io", {"Mario": "I-PER", "Rossi": "I-PER", "Roma": "I-LOC"}, ["O", "I-PER", "I-LOC"])
    flair_tags = ["O", "B-PER", "E-PER", "S-LOC"]
    word_tagger(home / "flair", {"Mario": "B-PER", "Rossi": "E-PER", "Roma": "S-LOC"}, flair_tags)
    steady_gliner(home / "tiny")
    return home


@pytest.fixture
def home(made, monkeypatch):
    monkeypatch.setattr(here, "weights_home", lambda: made)
    return made


@pytest.fixture
def tagged(ward, home):
    """A project with gold."""
    for number in range(NOTES):
        text = f"\U0001f600 Mario Rossi di Roma {number}"
        note = make.make_note(ward, text, f"n{number}", patient_id=f"p{number}")
        make.make_set(note, "gold", [(2, 13, "PATIENT")])
    return ward


@pytest.mark.parametrize(("folder", "scheme"), [("bioes", "BIOES"), ("io", "IO")])
def test_a_folder_becomes_a_mapped_and_calibrated_run(tagged, client, folder, scheme):
    """The page names the scheme of the tags. After `calibrate`, the same folder's confidences are calibrated ones."""
    assert f"bert, 2 labels, {scheme} tags" in html_of(client, "run_tagger", folder)
    freeze(project=tagged, actor=None)
    words = ("run_model", "ward", "token-classification", "--folder", folder, "--map", "PER=PATIENT,LOC=CITY", "--wait")
    assert command(*words)["done"] == NOTES
    first = spans_of(Run.objects.get())
    assert set(first.values_list("start", "end", "label__code")) == {(2, 13, "PATIENT"), (17, 21, "CITY")}
    raw = first.first().confidence
    said = command("calibrate", "ward", "--run", f"{folder}-1", "--gold", "1")
    assert said["ece"]["after"] < said["ece"]["before"] and command(*words)["run"] == f"{folder}-2"
    run = Run.objects.get(author__name=f"{folder}-2")
    assert run.full_revision.endswith(said["calibration"])
    towns = spans_of(run).filter(label__code="CITY")
    assert {span.raw_confidence for span in towns} == {raw} and max(span.confidence for span in towns) < raw


def test_a_tagger_of_flair_becomes_a_run_at_a_threshold(tagged, client):
    page = reverse("run_flair", args=["ward", "flair"])
    assert page in html_of(client, "runs") and "A tagger of Flair" in html_of(client, "run_flair", "flair")
    words = ("run_model", "ward", "flair", "--folder", "flair", "--map", "PER=PATIENT,LOC=", "--wait")
    assert command(*words, "--threshold", "0.05")["masking_threshold"] == 0.05
    run = Run.objects.get()
    assert run.params["labels"] == {"PER": "PATIENT", "LOC": None}
    assert set(spans_of(run).values_list("start", "end", "label__code")) == {(2, 13, "PATIENT")}
    there = client.post(page, {"label:PER": "PATIENT", "label:LOC": "CITY", "token": "t"}).url
    assert there == reverse("run", args=["ward", Run.objects.latest("pk").pk])
    assert ("flair", "flair", ("LOC", "PER")) in [(row.backend, row.name, row.labels) for row in external_models()]


@pytest.fixture
def asked(ward, home):
    """A project with a note, and a description of a label."""
    Label.objects.filter(label_set__project=ward, code="CITY").update(description="Towns <and> villages.")
    make.make_note(ward, TEXT, "uno")
    return Label.objects.filter(label_set__project=ward)


def test_zero_shot_models_are_found_and_a_pickle_is_not_listed(tmp_path, monkeypatch):
    monkeypatch.setattr(here, "weights_home", lambda: tmp_path)
    made_gliner(tmp_path / "models--org--other" / "snapshots" / ("a" * 40))
    for name in ("pickled", "broken"):
        made_gliner(tmp_path / name)
    (tmp_path / "pickled" / "model.safetensors").rename(tmp_path / "pickled" / "pytorch_model.bin")
    (tmp_path / "broken" / "gliner_config.json").write_text("[" * 10_000)
    found = [(row.name, row.description) for row in external_models() if row.backend == "gliner"]
    assert found == [("org/other", "bert, markerV0")]


def test_prompts_from_the_page_to_suggestions(asked, boss, client):
    page = reverse("run_zero_shot", args=["ward", "tiny"])
    shown = html_of(client, "run_zero_shot", "tiny")
    assert page in html_of(client, "runs") and "Towns &lt;and&gt; villages." in shown
    assert f'value="{asked.first().name.lower()}"' in shown, "the usual prompt is the label's name"
    for sent, why in (
        ({"prompts:PATIENT": "who", "prompts:CITY": "who"}, "Another label has the prompt “who”, too."),
        ({}, "No label has a prompt."),
        ({"prompts:CITY": "x" * 101}, "must have 1 to 100 characters"),
    ):
        answer = client.post(page, sent)
        html = check_page(answer)
        assert answer.status_code == 422 and why in html
        assert all(f'value="{prompt}"' in html for prompt in sent.values())
    assert not Run.objects.exists()
    there = client.post(page, {"prompts:PATIENT": "name of a person; person", "prompts:CITY": "", "token": "t"}).url
    run = Run.objects.get()
    assert there == reverse("run", args=["ward", run.pk])
    assert run.params == {"folder": "tiny", "labels": {"name of a person": "PATIENT", "person": "PATIENT"}}
    assert ran(run).queue == Job.Queue.GPU
    spans = list(spans_of(run))
    assert spans and {span.label.code for span in spans} == {"PATIENT"}
    assert all("Bianchi" in TEXT[span.start : span.end] and 0.5 <= span.confidence <= 1 for span in spans)
    shown = html_of(client, "run_zero_shot", "tiny")
    assert 'value="name of a person; person"' in shown, "the form keeps the last prompts"
    make.make_member(make.make_project("bare", labels=[]), "manager", boss)
    bare = check_page(client.get(reverse("run_zero_shot", args=["bare", "tiny"])))
    assert "This project has no labels to write prompts for." in bare


# ── Models on other servers ──────────────────────────────────────────────────────────────────────────────────────────
REMOTE = f"{RUNS}/remote/ner/"
SENT = "👩‍⚕️ Dr. Julián Otero Paz, tel. 923 555 100.\n"
MAPPED = {"label:DOCTOR": "DOCTOR", "label:PHONE": ""}


def listed(settings, ner):
    settings.REMOTE_MODELS = read_remote_models({
        "DEIDREVIEW_REMOTE_MODELS": f"ner={ner} far=inception+http://models.example.org/ner",
        "DEIDREVIEW_REMOTE_NER_LABELS": "DOCTOR PHONE",
        "DEIDREVIEW_REMOTE_FAR_LABELS": "PER",
    })  # fmt: skip


@pytest.fixture
def one_note(ward):
    make.make_note(ward, SENT, "uno")


@pytest.mark.parametrize("server", ["inception", "label-studio"])
def test_a_server_from_the_page_or_the_command_to_suggestions(one_note, client, settings, server):
    with serving(RulesBackend(label_set="i2b2-2014"), server) as url:
        listed(settings, f"{server}+{url}/{KEY}")
        assert REMOTE in html_of(client, "runs")
        shown = check_page(client.get(REMOTE))
        assert re.search(r'aria-current="\w+">\s*Runs<', shown)
        assert "A model on the server 127.0.0.1" in shown and "may be sent" not in shown
        answer = client.post(REMOTE, MAPPED | {"token": "t"})
        run = Run.objects.get()
        assert answer.url == reverse("run", args=["ward", run.pk])
        assert run.params == {"server": "ner", "labels": {"DOCTOR": "DOCTOR", "PHONE": None}}
        assert ran(run).queue == Job.Queue.LLM and run.revision.startswith(f"1-{server}-")
        found = [(SENT[span.start : span.end], span.label.code) for span in spans_of(run)]
        assert found == [("Julián Otero Paz", "DOCTOR")]
        check_page(client.get(answer.url))
        words = ("run_model", "ward", "remote", "--server")
        told = command(*words, "ner", "--map", "DOCTOR=DOCTOR,PHONE=", "--wait")
        assert (told["run"], told["state"], told["done"]) == ("ner-2", "done", 1)
        with pytest.raises(CommandError, match=r"no model “none”\. Available: far, ner"):
            command(*words, "none")


def test_consent_where_notes_leave_the_machine(one_note, client, settings):
    listed(settings, "inception+http://127.0.0.1:1/")
    page = REMOTE.replace("ner", "far")
    assert "models.example.org</strong>, without encryption" in check_page(client.get(page))
    answer = client.post(page, {"label:PER": "DOCTOR"})
    assert answer.status_code == 422 and "Nothing was sent" in check_page(answer)
    with pytest.raises(CommandError, match="Nothing was sent"):
        command("run_model", "ward", "remote", "--server", "far", "--map", "PER=DOCTOR")
    assert not Run.objects.exists()
    assert client.post(page, {"label:PER": "DOCTOR", "may_leave": "yes"}).status_code == 302


def test_a_server_that_is_gone_or_not_listed_any_more(one_note, client, settings, monkeypatch):
    listed(settings, "label-studio+http://127.0.0.1:1/")
    monkeypatch.setattr("models_runtime.backends.remote.backend.TRIES", 1)
    client.post(REMOTE, MAPPED)
    run = Run.objects.get()
    assert "Start the server" in finished(run).error
    settings.REMOTE_MODELS = {}
    Job.objects.update(state="queued", attempt=0)
    assert "has no server “ner”" in finished(run).error and client.get(REMOTE).status_code == 404
    assert "DEIDREVIEW_REMOTE_MODELS" in html_of(client, "backends")
