"""The command: which models it serves, with which key, and that the audit log knows."""

import io
import re
import threading

import pytest
from django.core.management import CommandError, call_command

from annotations.models import Event
from models_runtime.backends.rules import RulesBackend
from models_runtime.serving.management.commands import serve_model
from models_runtime.serving.services import serving
from tests import factories as make
from tests.backends.remote.scripted import remote
from tests.waiting import HANGS, wait_for

pytestmark = [pytest.mark.django_db, pytest.mark.once]
TEXT = "Dr. Julián Otero Paz, tel. 923 555 100.\n"


@pytest.fixture
def project(monkeypatch):
    # The tests need the connection afterwards.
    monkeypatch.setattr(serving.connection, "close", lambda: None)
    project = make.make_project("ward")
    project.label_set.key = "i2b2-2014"
    project.label_set.save()
    return project


def test_a_backend_is_loaded_and_recorded(project, settings):
    boss = make.make_member(project, "manager", "boss")
    found = serving.served(project=project, model="rules", protocol="inception", actor=boss)
    assert found.name == "rules" and len(found.made_key) >= 20
    event = Event.objects.get(verb="model.served")
    assert (event.data, event.actor) == ({"backend": "rules", "protocol": "inception"}, boss)
    settings.SERVING_KEY = "k" * 30
    assert serving.served(project=project, model="rules", protocol="inception", actor=None).made_key == ""


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        ("nothing", "There is no backend “nothing”"),
        ("llm", "needs a server"),
        ("remote", "Choose a model of this type"),
    ],
)
def test_what_is_not_served(project, model, reason):
    with pytest.raises(CommandError, match=reason):
        call_command("serve_model", "ward", model, "--protocol", "inception")


def test_a_port_that_is_taken(project):
    with serve_model.server_for(None, "127.0.0.1", 0) as taken, pytest.raises(CommandError, match="can't be used"):
        call_command("serve_model", "ward", "rules", "--protocol", "inception", "--port", str(taken.server_port))


def test_the_command_serves_until_it_is_stopped(project, monkeypatch):
    made = []
    original = serve_model.server_for
    monkeypatch.setattr(serve_model, "server_for", lambda *words: made.append(original(*words)) or made[0])
    monkeypatch.setattr(serve_model.signal, "signal", lambda *_: None)
    err, found = io.StringIO(), []

    def client():
        wait_for(lambda: "with the key" in err.getvalue(), what="the server")
        url, key = re.search(r"at (\S+)/ with the key (\S+)", err.getvalue()).groups()
        labels = {label: label for label in RulesBackend(label_set="i2b2-2014").labels}
        try:
            found.extend(remote(f"{url}/{key}", "label-studio", labels).predict([TEXT]))
        finally:
            made[0].shutdown()

    thread = threading.Thread(target=client)
    thread.start()
    call_command("serve_model", "ward", "rules", "--protocol", "label-studio", "--port", "0", stderr=err, stdout=err)
    thread.join(HANGS)
    assert {(TEXT[span.start : span.end], span.label) for span in found[0]} >= {("Julián Otero Paz", "DOCTOR")}
    assert "not served any more" in err.getvalue()
