"""A served model over real HTTP: keys, limits, unknown addresses, and errors without words of the texts."""

import base64
import http.client
import json
import threading
from urllib.parse import urlsplit

import pytest

from annotations.text.spans import Span
from models_runtime.backends import BackendError
from models_runtime.backends.remote import inception
from models_runtime.runs.services import serving as answering
from tests.backends.remote.scripted import KEY, serving
from tests.waiting import HANGS

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
