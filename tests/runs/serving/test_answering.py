"""A served model over real HTTP: keys, limits, unknown addresses, and errors without words of the texts."""

import base64
import http.client
import io
import json
import re
import threading
from datetime import timedelta
from urllib.parse import urlsplit

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from annotations.core.api.tokens import create_token, revoke_token
from annotations.models import ApiToken, Event, Membership
from annotations.text.spans import Span
from models_runtime.backends import BackendError
from models_runtime.backends.remote import inception
from models_runtime.backends.rules import RulesBackend
from models_runtime.runs.management.commands import serve_model
from models_runtime.runs.services import serving as answering
from models_runtime.runs.services.serving import served, tokens_for
from tests import factories as make
from tests.backends.remote.scripted import KEY, remote, serving
from tests.waiting import HANGS, wait_for

CONFIG = '<View><Labels name="l" toName="t"><Label value="PER"/></Labels><Text name="t" value="$text"/></View>'
TASKS = {"tasks": [{"data": {"text": "Rita"}}], "label_config": CONFIG}


class Model:
    name, revision, label_set, labels = "tested", "3", "test", ("PER",)

    def __init__(self, fail=None):
        self.fail = fail

    def predict(self, texts):
        if self.fail:
            raise self.fail
        return [[Span(0, 4, "PER", 0.5, "tested")] if text else [] for text in texts]


def ask(url, path="", body=None, method="POST", **headers):
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=HANGS)
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    connection.request(method, path, raw if method == "POST" else None, headers)
    answer = connection.getresponse()
    found = json.loads(answer.read())
    connection.close()
    return answer.status, found, dict(answer.headers)


def basic(words):
    return {"Authorization": f"Basic {base64.b64encode(words.encode()).decode()}"}


BEARER = {"Authorization": f"Bearer {KEY}"}


@pytest.fixture
def studio():
    with serving(Model(), "label-studio") as url:
        yield url


@pytest.mark.parametrize(("path", "headers"), [("", BEARER), ("", basic(f"anybody:{KEY}")), (f"/{KEY}", {})])
def test_each_way_to_send_the_key(studio, path, headers):
    status, answer, _ = ask(studio, f"{path}/predict", TASKS, **headers)
    assert status == 200
    (result,) = answer["results"]
    assert result["result"][0]["value"] == {"start": 0, "end": 4, "text": "Rita", "labels": ["PER"]}
    assert ask(studio, f"{path}/setup", {"project": "1"}, **headers)[1] == {"model_version": "tested 3"}
    assert ask(studio, f"{path}/versions", {"project": "1"}, **headers)[1] == {"versions": ["tested 3"]}


def test_requests_without_the_key_are_refused_before_they_are_read(studio):
    for path, headers in (
        ("", {}), ("/wrong", {}), ("", {"Authorization": "Bearer wrong"}),
        (f"/{KEY}", {"Authorization": "Bearer wrong"}), ("", {"Authorization": "Basic ???"}), ("", basic(KEY)),
        ("", {"Authorization": f"Digest {KEY}"}),
    ):  # fmt: skip
        status, _, sent = ask(studio, f"{path}/predict", b"no JSON", **headers)
        assert status == 401 and "Basic" in sent["WWW-Authenticate"], (path, headers)
    # Health needs no key, and says nothing of the model.
    for path in ("/health", "/", f"/{KEY}/health"):
        assert ask(studio, path, method="GET")[:2] == (200, {"status": "UP"})


def test_other_addresses_and_malformed_or_long_bodies(studio, monkeypatch):
    assert ask(studio, "/train", {}, **BEARER)[0] == 404 and ask(studio, "/predict", method="GET", **BEARER)[0] == 405
    assert ask(studio, f"/{KEY}", {})[0] == 404
    for body in (b"{", b"[" * 100_000, b"[]", b"{}"):
        assert ask(studio, "/predict", body, **BEARER)[0] == 400
    monkeypatch.setattr(answering, "MOST_BYTES", 100)
    assert ask(studio, "/predict", b"x" * 101, **BEARER)[0] == 413
    parts = urlsplit(studio)
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=HANGS)
    connection.putrequest("POST", "/predict")
    connection.putheader("Authorization", f"Bearer {KEY}")
    connection.endheaders()
    assert connection.getresponse().status == 411


@pytest.mark.parametrize(
    ("fail", "reason"),
    [(ValueError("Rita"), "failed on this text"), (BackendError("The library is missing."), "library")],
)
def test_errors_of_the_model(fail, reason, caplog):
    with serving(Model(fail), "label-studio") as url:
        status, answer, _ = ask(url, "/predict", TASKS, **BEARER)
    assert status == 500 and reason in answer["error"] and "Rita" not in json.dumps(answer) + caplog.text


def test_a_busy_model(monkeypatch):
    monkeypatch.setattr(answering, "WAIT", 0.05)
    entered, leave = threading.Event(), threading.Event()

    class Slow(Model):
        def predict(self, texts):
            entered.set()
            leave.wait(HANGS)
            return super().predict(texts)

    with serving(Slow(), "label-studio") as url:
        first = threading.Thread(target=ask, args=(url, "/predict", TASKS), kwargs=BEARER)
        first.start()
        entered.wait(HANGS)
        status, _, headers = ask(url, "/predict", TASKS, **BEARER)
        leave.set()
        first.join()
    assert status == 503 and headers["Retry-After"] == "10"


def test_connections_are_limited(monkeypatch):
    monkeypatch.setattr(answering, "AT_ONCE", 1)
    with serving(Model(), "label-studio") as url:
        parts = urlsplit(url)
        held = http.client.HTTPConnection(parts.hostname, parts.port, timeout=HANGS)
        held.connect()
        with pytest.raises((http.client.RemoteDisconnected, ConnectionError)):
            ask(url, "/health", method="GET")
            ask(url, "/health", method="GET")
        held.close()


def test_inception_by_the_path():
    with serving(Model(), "inception") as url:
        request = inception.request_of("Rita", inception.types_xml())
        status, answer, _ = ask(url, f"/{KEY}/predict", request)
        assert status == 200
        (span,) = inception.spans_in(answer, "Rita")
        assert (span.start, span.end, span.label, span.confidence) == (0, 4, "PER", 0.5)
        assert ask(url, f"/{KEY}/predict", {"metadata": {}})[0] == 400 and ask(url, "/health", method="GET")[0] == 401


# The command serve_model


TEXT = "Dr. Julián Otero Paz, tel. 923 555 100.\n"


@pytest.fixture
def project(db):
    project = make.make_project("ward")
    make.change(project.label_set, key="i2b2-2014")
    return project


def token(user, **options):
    return create_token(user=user, name="Label Studio", scope="read", days=9, actor=None, **options)


def test_a_backend_is_loaded_and_recorded(project):
    boss = make.make_member(project, "manager", "boss")
    assert served(project=project, model="rules", protocol="inception", actor=boss).name == "rules"
    event = Event.objects.get(verb="model.served")
    assert (event.data, event.actor) == ({"backend": "rules", "protocol": "inception"}, boss)


def test_what_is_not_served(project):
    for model, reason in (("nothing", "no backend “nothing”"), ("llm", "needs a server"), ("remote", "this type")):
        with pytest.raises(CommandError, match=reason):
            call_command("serve_model", "ward", model, "--protocol", "inception")
    with serve_model.server_for(None, "127.0.0.1", 0) as taken, pytest.raises(CommandError, match="can't be used"):
        call_command("serve_model", "ward", "rules", "--protocol", "inception", "--port", str(taken.server_port))


def test_tokens_of_people_who_may_read_every_note(project):
    accepts = tokens_for(project)
    for role, right in (("viewer", True), ("reviewer", True), ("manager", True), ("annotator", False)):
        _, secret = token(make.make_member(project, role, role))
        assert accepts(secret) is right
    _, stranger = token(make.make_member(make.make_project("other"), "manager", "out"))
    assert not accepts(stranger) and not accepts("") and not accepts("deid_wrong")


def test_tokens_of_other_projects_and_those_that_ended(project):
    accepts, vic = tokens_for(project), make.make_member(project, "viewer", "vic")
    other = make.make_project("other")
    make.make_member(other, "viewer", vic)
    assert accepts(token(vic, project=project)[1]) and not accepts(token(vic, project=other)[1])
    revoked, secret = token(vic)
    assert accepts(secret)
    revoke_token(token=revoked, actor=vic)
    assert not accepts(secret)
    _, secret = token(vic)
    Membership.objects.filter(project=project, user=vic).update(active=False)
    assert not accepts(secret)
    Membership.objects.filter(project=project, user=vic).update(active=True)
    ApiToken.objects.update(expires_at=timezone.now() - timedelta(days=1))
    assert not accepts(secret)


@pytest.mark.django_db(transaction=True)
def test_the_command_serves_until_it_is_stopped(project, monkeypatch):
    row, secret = token(make.make_member(project, "viewer", "vic"))
    made, original = [], serve_model.server_for
    monkeypatch.setattr(serve_model, "server_for", lambda *words: made.append(original(*words)) or made[0])
    monkeypatch.setattr(serve_model.signal, "signal", lambda *_: None)
    err, found, refused = io.StringIO(), [], []
    labels = {label: label for label in RulesBackend(label_set="i2b2-2014").labels}

    def client():
        wait_for(lambda: "answers" in err.getvalue(), what="the server")
        url = re.search(r"at (\S+)/", err.getvalue())[1]
        try:
            found.extend(remote(f"{url}/{secret}", "label-studio", labels).predict([TEXT]))
            remote(f"{url}/{secret}x", "label-studio", labels)
        except BackendError as error:
            refused.append(str(error))
        finally:
            made[0].shutdown()

    thread = threading.Thread(target=client)
    thread.start()
    call_command("serve_model", "ward", "rules", "--protocol", "label-studio", "--port", "0", stderr=err, stdout=err)
    thread.join(HANGS)
    assert {(TEXT[span.start : span.end], span.label) for span in found[0]} >= {("Julián Otero Paz", "DOCTOR")}
    assert "rejected the key (401)" in refused[0]
    assert "not served any more" in err.getvalue() and secret not in err.getvalue()
    assert make.reread(row).last_used_at is not None
