"""Metrics: what is counted, what they never hold, and who may read them. Log lines as JSON, and ids of requests."""

import io
import json
import re

import pytest
from django.core.management import CommandError, call_command
from django.db import OperationalError, connection
from django.test import Client, RequestFactory

from annotations.jobs.services import relay
from annotations.models import Job
from annotations.ops.services.backup import BEFORE_RELEASES, SchemaState
from deidreview import views
from deidreview.logs import JsonFormatter, request_id
from deidreview.metrics import ERRORS, ViewCounter, may_read
from tests.deidreview.test_logs import log_of
from tests.factories import make_member, make_project

NAME = "Oncologia-Torino"


def figures(client):
    text = client.get("/metrics").content.decode()
    return text, dict(re.findall(r"^(\S+) (\S+)$", text, re.MULTILINE))


@pytest.mark.django_db
def test_requests_and_jobs_are_counted_without_any_name(client):
    project = make_project(NAME)
    client.force_login(make_member(project, "manager", "dr-bianchi"))
    counted = 'deidreview_requests_total{method="GET",status="200",view="jobs"}'
    before = float(figures(client)[1].get(counted, 0))
    for number, (state, queue) in enumerate([("queued", "gpu"), ("failed", "cpu"), ("failed", "cpu")], 1):
        Job.objects.create(project=project, kind="export", key=f"k{number}", number=number, state=state, queue=queue)
    assert client.get(f"/projects/{project.slug}/jobs/").status_code == 200

    text, found = figures(client)
    assert float(found[counted]) == before + 1
    assert found['deidreview_queue_jobs{queue="gpu",state="queued"}'] == "1.0"
    assert found['deidreview_ended_jobs{kind="export",outcome="failed"}'] == "2.0"
    assert any(name.startswith('deidreview_request_seconds_bucket{le="0.25",view="jobs"}') for name in found)
    assert found["deidreview_database_up"] == "1.0" and "deidreview_redis_up" in found
    assert not re.search(rf"{NAME}|{project.slug}|bianchi", text, re.IGNORECASE)


@pytest.mark.django_db
def test_figures_of_requests_are_there_without_the_database(client, monkeypatch):
    def down(*args, **kwargs):
        raise OperationalError("no connection")

    monkeypatch.setattr(connection, "cursor", down)
    assert figures(client)[1]["deidreview_database_up"] == "0.0"


def test_exceptions_are_counted_by_view_and_type():
    request = RequestFactory().get("/")
    request.resolver_match = None
    ViewCounter(lambda _: None).process_exception(request, KeyError(NAME))
    samples = [each for each in ERRORS.collect()[0].samples if each.name.endswith("_total")]
    [sample] = [each for each in samples if each.labels["type"] == "KeyError"]
    assert (sample.labels["view"], sample.value) == ("none", 1.0)


@pytest.mark.parametrize(
    ("proxies", "address", "headers", "allowed"),
    [
        (0, "127.0.0.1", {}, True),
        (0, "::1", {}, True),
        (0, "::ffff:127.0.0.1", {}, True),
        (0, "10.0.0.9", {}, False),
        (0, "", {}, False),
        # A proxy that nobody told the app about: everybody would seem to be this machine.
        (0, "127.0.0.1", {"X-Forwarded-For": "127.0.0.1"}, False),
        (0, "127.0.0.1", {"Forwarded": "for=127.0.0.1"}, False),
        (1, "127.0.0.1", {"X-Forwarded-For": "192.0.2.7"}, False),
        (1, "127.0.0.1", {"X-Forwarded-For": "127.0.0.1, 192.0.2.7"}, False),
        (1, "127.0.0.1", {"X-Real-IP": "127.0.0.1"}, False),
        (1, "127.0.0.1", {}, True),
        (0, "10.0.0.9", {"Authorization": "Bearer " + "t" * 30}, True),
        (0, "10.0.0.9", {"Authorization": "Bearer " + "t" * 29}, False),
        (0, "10.0.0.9", {"Authorization": "Bearer é"}, False),
    ],
)
def test_who_may_read(settings, proxies, address, headers, allowed):
    settings.PROXIES, settings.METRICS_TOKEN = proxies, "t" * 30
    assert may_read(RequestFactory(REMOTE_ADDR=address).get("/metrics", headers=headers)) is allowed


def test_without_a_token_an_empty_one_opens_nothing(settings):
    settings.METRICS_TOKEN = ""
    assert Client(REMOTE_ADDR="10.0.0.9").get("/metrics", headers={"Authorization": "Bearer "}).status_code == 403


def test_an_id_for_each_request(client, settings):
    given = {"X-Request-ID": "a1b2c3d4e5f6"}
    assert re.fullmatch("[0-9a-f]{16}", client.get("/healthz", headers=given).headers["X-Request-ID"])
    settings.PROXIES = 1
    assert client.get("/healthz", headers=given).headers["X-Request-ID"] == "a1b2c3d4e5f6"
    forged = client.get("/healthz", headers={"X-Request-ID": 'a b"}'}).headers["X-Request-ID"]
    assert re.fullmatch("[0-9a-f]{16}", forged)


def test_a_log_line_as_json_quotes_no_note():
    logger, out = log_of("tests.json", JsonFormatter())
    request_id.set("a1b2c3d4e5f6")
    try:
        raise ValueError("cannot parse Mario Rossi")
    except ValueError as error:
        logger.exception("import %s failed: %s", 7, error, extra={"text": "Mario Rossi"}, stack_info=True)
    line = out.getvalue()
    found = json.loads(line)
    assert line.count("\n") == 1 and "Mario" not in line
    assert (found["level"], found["message"]) == ("ERROR", "import 7 failed: ValueError")
    assert (found["logger"], found["request_id"]) == ("tests.json", "a1b2c3d4e5f6")
    assert found["exc_info"].startswith("ValueError at ") and "test_metrics.py" in found["exc_info"]


# ── Health and readiness: what needs the database, and what each outage does ──


def ready(client):
    response = client.get("/readyz")
    return response.status_code, response.json()["checks"]


@pytest.fixture
def redis(monkeypatch):
    """A Redis that answers, with one worker on each queue."""
    state = {"alive": ["idle"]}

    class Answering:
        def ping(self):
            return True

    monkeypatch.setattr(relay, "redis_connection", Answering)
    monkeypatch.setattr(relay, "states", lambda queue: state["alive"])
    return state


def test_a_process_is_healthy_without_the_database(client):
    """pytest-django refuses the database to this test."""
    response = client.get("/healthz")
    assert (response.status_code, response.json()) == (200, {"status": "ok"})


@pytest.mark.django_db
def test_an_instance_that_has_everything_is_ready(client, redis):
    fine = {"database": "ok", "migrations": "ok", "redis": "ok", "workers": "ok"}
    assert ready(client) == (200, fine)
    redis["alive"] = []
    assert ready(client) == (200, fine | {"workers": "none"})
    assert client.get("/readyz").json()["warnings"]


@pytest.mark.django_db
def test_an_outage_of_the_database(client, redis, monkeypatch):
    def refused(*args, **kwargs):
        raise OperationalError("no connection to the host with the password x")

    monkeypatch.setattr(connection, "cursor", refused)
    assert ready(client) == (503, {"database": "down", "migrations": "unknown", "redis": "ok", "workers": "ok"})
    assert "password" not in client.get("/readyz").content.decode()


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("state", "word"),
    [
        (SchemaState(frozenset(), [], [("annotations", "0001")]), "pending"),
        (SchemaState(frozenset(), [("annotations", "9999")], []), "newer"),
        *((SchemaState(frozenset(), [each], []), "too-old") for each in BEFORE_RELEASES),
    ],
)
def test_a_database_of_another_version(client, redis, monkeypatch, state, word):
    monkeypatch.setattr(views, "_schema", lambda applied: state)
    status, checks = ready(client)
    assert (status, checks["migrations"]) == (503, word)


@pytest.mark.django_db
def test_the_command_says_the_same(no_redis):
    out = io.StringIO()
    with pytest.raises(CommandError):
        call_command("ready", "--json", stdout=out)
    assert json.loads(out.getvalue())["checks"]["redis"] == "down"
