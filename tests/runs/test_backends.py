"""The health of backends, as workers report it and as the page and the command show it."""

import io
import json
import subprocess
import sys

import django_rq
import pytest
from django.core.management import call_command
from django.urls import reverse
from rq.serializers import JSONSerializer

from annotations.gold.services.making import freeze
from annotations.jobs.services.doorbell import connection
from annotations.jobs.services.worker import DurableWorker
from annotations.models import StoredFile
from models_runtime.backends.llm.servers import read_servers
from models_runtime.core import abilities, registry
from models_runtime.core.registry import BackendKind
from models_runtime.models import Run, TrainedModel
from tests import factories as make
from tests.worlds.checks import check_page

pytestmark = [pytest.mark.queue, pytest.mark.django_db]


@pytest.fixture
def project():
    return make.make_project("ward")


@pytest.fixture
def kinds(monkeypatch):
    """Register two more backends: one needs a library that does not exist, the other needs weights."""
    for key, needs, weights in (("lib", "no_such_library", ""), ("heavy", "", "heavy-1")):
        monkeypatch.setitem(
            registry.BACKENDS, key, BackendKind(key.title(), "nowhere", "A fake.", needs=needs, weights=weights)
        )


@pytest.fixture
def worker(redis_server, monkeypatch):
    """`worker(lacks)`: register a worker of the queue cpu that reports what its machine lacks, by default this one."""
    shown = []

    def show(lacks=None):
        report = json.dumps(abilities.lacks_here() if lacks is None else lacks)
        monkeypatch.setattr(abilities, "_at_start", lambda: report)
        made = DurableWorker(
            [django_rq.get_queue("cpu", connection=connection())], connection=connection(), serializer=JSONSerializer
        )
        made.register_birth()
        shown.append(made)

    yield show
    for made in shown:
        made.register_death()


def listed(*words):
    out = io.StringIO()
    call_command("backends", *words, "--json", stdout=out)
    return {row["backend"]: row for row in json.loads(out.getvalue())["backends"]}


def health(*words):
    return {key: row["health"] for key, row in listed(*words).items() if key in ("rules", "lib", "heavy")}


def test_with_redis_away_nothing_is_claimed(no_redis, kinds):
    rows = listed()
    assert {row["health"] for key, row in rows.items() if key != "llm"} == {"unknown"}
    assert "Redis" in rows["rules"]["message"] and "make setup-models" in rows["lib"]["message"]


def test_without_a_worker_it_says_how_to_start_one(redis_server, kinds):
    rows = listed()
    assert rows["rules"]["health"] == "no worker"
    assert "manage.py work --queue cpu" in rows["rules"]["message"]


def test_a_worker_says_what_its_machine_lacks(worker, kinds, settings, tmp_path):
    settings.DATA_DIR = tmp_path
    worker()
    rows = listed()
    assert health() == {"rules": "ready", "lib": "library", "heavy": "weights"}
    assert rows["rules"]["message"] == ""
    assert "The library no_such_library is missing. Install it with “make setup-models”." in rows["lib"]["message"]
    assert f"The weights are missing. Copy them to {tmp_path}/weights/heavy-1." in rows["heavy"]["message"]
    (tmp_path / "weights" / "heavy-1").mkdir(parents=True)
    assert abilities.lacking(registry.BACKENDS["heavy"]) == "weights", "an empty folder holds none"
    (tmp_path / "weights" / "heavy-1" / "model.bin").touch()
    assert abilities.lacking(registry.BACKENDS["heavy"]) == ""


def test_one_worker_that_has_it_is_enough_wherever_the_page_comes_from(worker, kinds):
    worker({"lib": "library"})
    assert health()["lib"] == "library"
    worker({})
    assert health()["lib"] == "ready"


def test_the_command_in_words(worker, kinds, project):
    worker()
    out = io.StringIO()
    call_command("backends", "ward", stdout=out)
    assert "rules        Ready" in out.getvalue() and "lib          Library missing" in out.getvalue()


def test_the_page_shows_models_runs_and_calibrations(worker, project, client):
    worker()
    viewer = make.make_member(project, "viewer", "vic")
    client.force_login(viewer)
    there = reverse("backends", args=["ward"])
    html = check_page(client.get(there))
    assert "Ready" in html and "none yet" in html and "not calibrated" in html
    gold = freeze_one(project)
    weights = StoredFile.objects.create(project=project, kind="model", name="a.zip")
    model = TrainedModel.objects.create(
        project=project, name="Ward <b>", backend="crf", state="ready", stored_file=weights, gold_version=gold
    )
    author = make.make_author(project, kind="run", name="rules-1")
    run = Run.objects.create(project=project, author=author, backend="rules", revision="rev-7")
    calibration = make.make_calibration(run, gold)
    html = check_page(client.get(there))
    assert "Ward &lt;b&gt;" in html and "CRF, trained on gold version 1" in html
    assert "rules-1" in html and "rev-7" in html and "calibrated on gold version 1" in html
    assert reverse("calibration", args=["ward", calibration.pk]) in html
    Run.objects.update(revision="rev-8")
    assert "calibrated for another revision" in check_page(client.get(there))
    row = listed("ward")["rules"]
    assert (row["revision"], row["last_run"], row["calibration"]["applies"]) == ("rev-8", "rules-1", False)
    assert listed("ward")[f"model:{model.pk}"]["health"] == "ready"
    out = io.StringIO()
    call_command("backends", "ward", stdout=out)
    assert "Ward <b>     Ready           CRF, trained on gold version 1 (queue cpu)" in out.getvalue()
    assert "model:" not in out.getvalue()
    weights.delete()
    assert listed("ward")[f"model:{model.pk}"]["health"] == "weights"
    assert there in check_page(client.get(reverse("runs", args=["ward"])))
    assert there in check_page(client.get(reverse("models", args=["ward"])))


def freeze_one(project):
    gold = make.make_author(project, kind="gold", name="gold")
    make.make_set(make.make_note(project), gold, [(0, 11, "PATIENT")], submitted=True)
    return freeze(project=project, actor=None)[0]


@pytest.mark.nightly  # By day, an import contract says it of the web process.
def test_pages_commands_and_the_look_for_libraries_import_none():
    """In a new process, since other tests may have imported the libraries here."""
    code = (
        "import os, sys, django; os.environ['DJANGO_SETTINGS_MODULE']='tests.settings'; django.setup();"
        "import deidreview.urls, models_runtime.runs.management.commands.run_model;"
        "from models_runtime.core.abilities import lacks_here; lacks_here();"
        "print([m for m in ('spacy', 'thinc', 'torch', 'transformers', 'pycrfsuite') if m in sys.modules])"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"


def test_a_language_model_wants_a_server(no_redis, settings):
    settings.LLM_SERVERS = {}
    row = listed()["llm"]
    assert row["health"] == "no server"
    assert "DEIDREVIEW_LLM_SERVERS" in row["message"]
    settings.LLM_SERVERS = read_servers(
        {"DEIDREVIEW_LLM_SERVERS": "near=http://127.0.0.1:9/v1", "DEIDREVIEW_LLM_NEAR_MODELS": "small"}
    )
    assert listed()["llm"]["health"] != "no server"


def test_models_of_others_say_where_they_are_put(no_redis, project, client, settings, tmp_path):
    settings.DATA_DIR = tmp_path
    rows = listed("ward")
    for key, folder in (
        ("token-classification", "weights"),
        ("flair", "weights"),
        ("gliner", "weights"),
        ("spacy-pipeline", "pipelines"),
    ):
        assert (rows[key]["health"], f"to {tmp_path / folder}" in rows[key]["message"]) == ("weights", True)
    client.force_login(make.make_member(project, "viewer", "vic"))
    html = check_page(client.get(reverse("backends", args=["ward"])))
    # The row's head must be one block, because on small screens two blocks would be side by side.
    assert '<th scope="row"><div>Rules<div class="mute why">' in html
    assert html.count("Weights missing") == 4 and f"to {tmp_path / 'weights'}, on this machine" in html
