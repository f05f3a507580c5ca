"""Errors of servers: retried, given up, named without their words; credentials, batches, and stopping."""

import base64
import json
import threading

import pytest

from annotations.text.spans import Span
from models_runtime.backends import BackendError
from models_runtime.backends.remote import backend as exchange
from models_runtime.backends.remote import inception
from models_runtime.backends.remote.servers import read_remote_models
from models_runtime.backends.rules import RulesBackend
from tests.backends.contract import MANY, PLAIN, key, only_loopback
from tests.backends.remote.scripted import KEY, remote, scripted, serving
from tests.waiting import HANGS

TEXT = "Rita Neri, Madrid"
LABELS = {"PER": "PATIENT", "LOC": None}


def studio(asked):
    """A server of Label Studio's protocol, which finds each “Rita”."""
    if asked.path == "/model/health":
        return 200, {"status": "UP"}
    if asked.path == "/model/setup":
        return 200, {"model_version": "v7"}
    results = []
    for task in asked.body["tasks"]:
        text = task["data"]["text"]
        value = {"start": text.find("Rita"), "end": text.find("Rita") + 4, "text": "Rita", "labels": ["PER"]}
        results.append({"result": [{"type": "labels", "value": value, "score": 0.5}] if "Rita" in text else []})
    return 200, {"results": results, "model_version": "v7"}


def predicts(answer):
    """Like `studio`, but requests for predictions get another answer where there is one."""
    return lambda asked: (answer(asked) if asked.path == "/model/predict" else None) or studio(asked)


def failing(*statuses):
    """Requests for predictions get these statuses in turn, with the note in the answer."""
    left = list(statuses)
    return predicts(lambda asked: (left.pop(0), {"error": json.dumps(asked.body)}) if left else None)


def predictions(server):
    return [asked for asked in server.asked if asked.path == "/model/predict"]


def test_texts_are_sent_in_batches_and_empty_ones_not_at_all():
    texts = [TEXT, "", "nobody", *["Rita"] * 5]
    with scripted(studio) as server:
        found = remote(server.url, "label-studio", LABELS, batch=4, at_once=1).predict(texts)
    assert [len(spans) for spans in found] == [1, 0, 0, 1, 1, 1, 1, 1]
    assert (found[0][0].label, found[0][0].confidence, found[0][0].source) == ("PATIENT", 0.5, "remote-there")
    assert sorted(len(asked.body["tasks"]) for asked in predictions(server)) == [3, 4]
    sent = json.dumps([asked.body for asked in server.asked])
    assert "there" not in sent, "nothing names the server, the project or the note"


def test_the_version_of_the_model_is_part_of_the_revision():
    with scripted(studio) as server:

        def revision(labels):
            return remote(server.url, "label-studio", labels).revision

        one = revision(LABELS)
        assert revision(LABELS) == one != revision(LABELS | {"LOC": "CITY"})
        server.script = lambda asked: (200, studio(asked)[1] | {"model_version": "v8"})
        assert revision(LABELS) != one


@pytest.mark.parametrize("statuses", [(503,), (429, 500, 502), (408,)])
def test_passing_errors_are_retried(statuses):
    with scripted(failing(*statuses)) as server:
        (spans,) = remote(server.url, "label-studio", LABELS).predict([TEXT])
    assert len(spans) == 1


@pytest.mark.parametrize(
    ("status", "reason"),
    [(401, "rejected the key"), (403, "rejected the key"), (404, "no such address"), (302, "redirects")],
)
def test_errors_that_end_the_run(status, reason):
    with scripted(failing(status)) as server, pytest.raises(BackendError, match=reason) as error:
        remote(server.url, "label-studio", LABELS).predict_each([TEXT])
    assert error.value.permanent and "Rita" not in str(error.value) and len(predictions(server)) == 1


def test_a_note_that_fails_does_not_affect_the_others():
    def bad(asked):
        error = 500, {"error": json.dumps(asked.body)}
        return error if any("bad" in task["data"]["text"] for task in asked.body["tasks"]) else None

    with scripted(predicts(bad)) as server:
        found = remote(server.url, "label-studio", LABELS, batch=4).predict_each([TEXT, "bad Rita", "Rita"])
    assert [isinstance(each, BackendError) for each in found] == [False, True, False]
    assert not found[1].permanent and "Rita" not in str(found[1]) and "(500)" in str(found[1])


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (b"<html>Rita</html>", "not valid JSON"),
        (b"[" * 100_000, "not valid JSON"),
        (b"[" + b"1," * 20_000 + b"1]", "sent more than"),
        ({"results": []}, "does not have 1 results"),
        (
            {"results": [{"result": [{"type": "labels", "value": {"start": 0, "end": 99, "labels": ["PER"]}}]}]},
            "match the text",
        ),
    ],
)
def test_unusable_answers(answer, reason, monkeypatch):
    if reason == "sent more than":
        monkeypatch.setattr(exchange, "MOST_BYTES", 20_000)
    with scripted(predicts(lambda asked: (200, answer))) as server:
        (found,) = remote(server.url, "label-studio", LABELS).predict_each([TEXT])
    assert isinstance(found, BackendError) and reason in str(found) and "Rita" not in str(found) and not found.permanent


@pytest.mark.parametrize("protocol", ["label-studio", "inception"])
def test_a_label_that_is_not_listed_ends_the_run_without_its_name(protocol):
    value = {"start": 0, "end": 4, "labels": ["Neri"]}

    def unlisted(asked):
        if protocol == "inception":
            return 200, inception.PredictionRequest(asked.body).answer([Span(0, 4, "Neri")])
        return 200, {"results": [{"result": [{"type": "labels", "value": value}]}]}

    with (
        scripted(predicts(unlisted)) as server,
        pytest.raises(BackendError, match="DEIDREVIEW_REMOTE_THERE_LABELS") as error,
    ):
        remote(server.url, protocol, LABELS).predict_each([TEXT])
    assert error.value.permanent and "Neri" not in str(error.value)


def test_a_server_that_does_not_respond():
    with scripted(studio) as server:
        url = server.url
    with pytest.raises(BackendError, match="Start the server") as error:
        remote(url, "label-studio", LABELS)
    assert error.value.permanent
    with pytest.raises(BackendError, match="Start the server"):
        remote(url, "inception", LABELS).predict([TEXT])


def test_credentials(monkeypatch):
    monkeypatch.setenv("DEIDREVIEW_REMOTE_THERE_KEY", "s3cret")
    key = {"key_variable": "DEIDREVIEW_REMOTE_THERE_KEY"}
    with scripted(studio) as server:
        for options in (key, key | {"user": "ana"}, {}):
            remote(server.url, "label-studio", LABELS, **options)
    sent = [asked.headers.get("authorization", asked.headers.get("Authorization")) for asked in server.asked[::2]]
    assert sent == ["Bearer s3cret", f"Basic {base64.b64encode(b'ana:s3cret').decode()}", None]


def test_an_exception_of_check_ends_the_work(monkeypatch):
    monkeypatch.setattr("models_runtime.backends.remote.backend.TICK", 0.01)
    gate = threading.Event()

    class Canceled(Exception):
        pass

    def check():
        gate.set()
        raise Canceled

    with scripted(predicts(lambda asked: gate.wait(HANGS) and None)) as server:
        backend = remote(server.url, "label-studio", LABELS, batch=1, at_once=1)
        with pytest.raises(Canceled):
            backend.predict_each(["Rita"] * 50, check)
    assert len(predictions(server)) <= 2


def test_a_list_with_all_its_settings():
    models = read_remote_models({
        "DEIDREVIEW_REMOTE_MODELS": "ner=inception+http://127.0.0.1:5000/spacy_ner, studio=label-studio+https://ml.example.org/",
        "DEIDREVIEW_REMOTE_NER_LABELS": "PER LOC,ORG PER",
        "DEIDREVIEW_REMOTE_STUDIO_LABELS": "Person",
        "DEIDREVIEW_REMOTE_STUDIO_KEY": "secret",
        "DEIDREVIEW_REMOTE_STUDIO_USER": "ana",
        "DEIDREVIEW_REMOTE_STUDIO_BATCH": "16",
        "DEIDREVIEW_REMOTE_STUDIO_AT_ONCE": "2",
        "DEIDREVIEW_REMOTE_STUDIO_SECONDS": "30",
    })  # fmt: skip
    ner, other = models.values()
    assert (ner.protocol, ner.url) == ("inception", "http://127.0.0.1:5000/spacy_ner")
    assert ner.labels == ("LOC", "ORG", "PER")
    assert not ner.leaves_machine and other.leaves_machine and not other.in_clear
    assert (other.user, other.batch, other.at_once, other.seconds) == ("ana", 16, 2, 30)
    assert "secret" not in repr(models) and read_remote_models({}) == {}


@pytest.mark.parametrize(("environ", "words"), [
    ({"MODELS": "http://h/"}, "is not a name=address pair"), ({"MODELS": "a=http://h/"}, "The address of “a”"),
    ({"MODELS": "a=spacy+http://h/"}, "The address of “a”"), ({"MODELS": "a=inception+ftp://h/"}, "The address of “a”"),
    ({"MODELS": "a=inception+http://u:p@h/"}, "The address of “a”"), ({}, "DEIDREVIEW_REMOTE_A_LABELS"),
    ({"A_LABELS": "P" * 81}, "at most 80 characters"), ({"A_LABELS": "P", "A_BATCH": "2"}, "one note in a request"),
    ({"A_LABELS": "P", "A_USER": "x"}, "Set the password"),
    ({"A_LABELS": "P", "A_AT_ONCE": "0"}, "DEIDREVIEW_REMOTE_A_AT_ONCE"),
    ({"A_LABELS": "P", "B_LABELS": "P"}, "DEIDREVIEW_REMOTE_B_LABELS"),
])  # fmt: skip
def test_errors_name_the_variable(environ, words):
    given = {"MODELS": "a=inception+http://h/"} | environ
    with pytest.raises(ValueError, match=words):
        read_remote_models({f"DEIDREVIEW_REMOTE_{name}": value for name, value in given.items()})


# Our client and our server, by both protocols: the spans of a backend come back as they are.


RULES = RulesBackend(label_set="redactor-33")
SAME = {label: label for label in RULES.labels}


@pytest.fixture(scope="module")
def servers():
    with serving(RULES, "inception") as first, serving(RULES, "label-studio") as second:
        yield {"inception": first, "label-studio": second}


@pytest.mark.parametrize("protocol", ["inception", "label-studio"])
def test_spans_are_those_of_the_model(servers, protocol, monkeypatch):
    """Of hostile texts too, one by one and together. No other server is asked than the listed one."""
    only_loopback(monkeypatch)
    backend = remote(f"{servers[protocol]}/{KEY}", protocol, SAME, batch=8 if protocol == "label-studio" else 1)
    long = PLAIN * 300
    there, here = backend.predict([*MANY, long]), RULES.predict([*MANY, long])
    for found, expected in zip(there, here, strict=True):
        assert [row[:4] for row in key(found)] == [row[:4] for row in key(expected)]
        assert {span.source for span in found} <= {"remote-there"}
    assert any(there) and list(backend.stream(iter(MANY))) == there[:-1]
