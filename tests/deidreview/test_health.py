"""Health and readiness: what needs the database, and what each outage does."""

import io
import json

import pytest
from django.core.management import CommandError, call_command
from django.db import OperationalError, connection

from annotations.jobs.services import relay
from annotations.ops.services.backup import BEFORE_RELEASES, SchemaState
from deidreview import views


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
    down = {"database": "down", "migrations": "unknown", "redis": "ok", "workers": "ok"}
    assert ready(client) == (503, down)
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
