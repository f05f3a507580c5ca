"""The health of backends, as workers report it and as the page and the command show it."""

import json

import django_rq
import pytest
from django.urls import reverse
from rq.serializers import JSONSerializer

from annotations.gold.services.making import freeze
from annotations.jobs.services.relay import redis_connection as connection
from annotations.jobs.services.worker import DurableWorker
from annotations.models import StoredFile
from models_runtime.backends.llm.servers import read_servers
from models_runtime.core import health as abilities
from models_runtime.core import registry
from models_runtime.core.registry import BackendKind
from models_runtime.models import Run, TrainedModel
from tests import factories as make
from tests.runs.conftest import command
from tests.worlds.checks import check_page

pytestmark = pytest.mark.django_db


@pytest.fixture
def project():
    return make.make_project("ward")


@pytest.fixture
def kinds(monkeypatch):
    """Register two more backends: one needs a library that does not exist, the other needs weights."""
    for key, needs, weights in (("lib", "no_such_library", ""), ("heavy", "", "heavy-1")):
        kind = BackendKind(key.title(), "nowhere", "A fake.", needs=needs, weights=weights)
        monkeypatch.setitem(registry.BACKENDS, key, kind)


@pytest.fixture
def worker(redis_server, monkeypatch):
    """`worker(lacks)`: register a worker of the queue cpu that reports what its machine lacks, by default this one."""
    shown = []

    def show(lacks=None):
        report = json.dumps(abilities.lacks_here() if lacks is None else lacks)
        monkeypatch.setattr(abilities, "_at_start", lambda: report)
        queue = django_rq.get_queue("cpu", connection=connection())
        made = DurableWorker([queue], connection=connection(), serializer=JSONSerializer)
        made.register_birth()
        shown.append(made)

    yield show
    for made in shown:
        made.register_death()


def listed(*words):
    return {row["backend"]: row for row in command("backends", *words)["backends"]}


def health(*words):
    return {key: row["health"] for key, row in listed(*words).items() if key in ("rules", "lib", "heavy")}


def test_without_redis_or_a_worker_nothing_is_claimed(no_redis, kinds, request):
    rows = listed()
    assert {row["health"] for key, row in rows.items() if key != "llm"} == {"unknown"}
    assert "Redis" in rows["rules"]["message"] and "make setup-models" in rows["lib"]["message"]
    request.getfixturevalue("redis_server")
    row = listed()["rules"]
    assert row["health"] == "no worker" and "manage.py work --queue cpu" in row["message"]


def test_a_worker_says_what_its_machine_lacks(worker, kinds, settings, tmp_path):
    settings.DATA_DIR = tmp_path
    worker()
    rows = listed()
    assert health() == {"rules": "ready", "lib": "library", "heavy": "weights"} and rows["rules"]["message"] == ""
    assert "The library no_such_library is missing. Install it with “make setup-models”." in rows["lib"]["message"]
    assert f"The weights are missing. Copy them to {tmp_path}/weights/heavy-1." in rows["heavy"]["message"]
    (tmp_path / "weights" / "heavy-1").mkdir(parents=True)
    assert abilities.lacking(registry.BACKENDS["heavy"]) == "weights", "an empty folder holds none"
    (tmp_path / "weights" / "heavy-1" / "model.bin").touch()
    assert abilities.lacking(registry.BACKENDS["heavy"]) == ""
    # One worker that has it is enough, wherever the page comes from.
    worker({})
    assert health()["lib"] == "ready"


def test_the_page_shows_models_runs_and_calibrations(worker, project, client):
    worker()
    client.force_login(make.make_member(project, "viewer", "vic"))
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

    weights.delete()
    assert listed("ward")[f"model:{model.pk}"]["health"] == "weights"
    for name in ("runs", "models"):
        assert there in check_page(client.get(reverse(name, args=["ward"])))


def freeze_one(project):
    make.make_set(make.make_note(project), "gold", [(0, 11, "PATIENT")], submitted=True)
    return freeze(project=project, actor=None)[0]


def test_a_language_model_wants_a_server(no_redis, settings):
    settings.LLM_SERVERS = {}
    row = listed()["llm"]
    assert row["health"] == "no server" and "DEIDREVIEW_LLM_SERVERS" in row["message"]
    near = {"DEIDREVIEW_LLM_SERVERS": "near=http://127.0.0.1:9/v1", "DEIDREVIEW_LLM_NEAR_MODELS": "small"}
    settings.LLM_SERVERS = read_servers(near)
    assert listed()["llm"]["health"] != "no server"
