"""Servers that are slow, busy, broken or down: retries, errors of a note, errors that end the run."""

import itertools
import logging
import threading
from typing import Any

import pytest

from models_runtime.backends.base import BackendError
from models_runtime.backends.llm import remote
from models_runtime.backends.llm.asking import Meter, Question
from models_runtime.backends.llm.remote import RemoteCompletion
from models_runtime.backends.llm.servers import Server
from tests.backends.llm.scripted import Reply, backend_at, entities, note_of, serving
from tests.waiting import HANGS

QUESTION = Question("system", "note-0000000000000000\nDr. Serra\nnote-0000000000000000", 100, {"type": "object"})


def completion(url: str, waits: list[float] | None = None, **options: Any) -> RemoteCompletion:
    server = Server("ward", url, ("m1",), **({"seconds": 5} | options))
    return RemoteCompletion(server, "m1", Meter(), sleep=(waits if waits is not None else []).append)


def in_turn(*said: Reply | str) -> Any:
    """Each answer once, then the last one again and again."""
    following = itertools.chain(said, itertools.repeat(said[-1]))
    return lambda body: next(following)


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503])
def test_temporary_errors_are_retried_with_growing_pauses(status: int) -> None:
    waits: list[float] = []
    with serving(in_turn(Reply(status=status), Reply(status=status), "yes")) as server:
        asker = completion(server.url, waits)
        assert asker.complete(QUESTION).text == "yes"
    assert asker.meter.take() == {"requests": 3, "retries": 2, "tokens_in": 100, "tokens_out": 10}
    assert len(waits) == 2 and 1 <= waits[0] <= 2 <= waits[1] <= 4


def test_retry_after_is_respected_up_to_a_minute() -> None:
    waits: list[float] = []
    busy = [
        Reply(status=429, headers={"Retry-After": value}) for value in ("7", "86400", "Wed, 21 Oct 2015 07:28:00 GMT")
    ]
    with serving(in_turn(*busy, "yes")) as server:
        completion(server.url, waits).complete(QUESTION)
    assert 7 <= waits[0] <= 8 and waits[1] == remote.LONGEST_WAIT and 0 <= waits[2] <= 1


@pytest.mark.parametrize("headers", [{}, {"Retry-After": "7"}], ids=["growing", "asked for"])
def test_retries_are_spread_by_jitter(headers: dict[str, str]) -> None:
    firsts = []
    with serving(in_turn(Reply(status=429, headers=headers))) as server:
        for _ in range(4):
            waits: list[float] = []
            with pytest.raises(BackendError, match="failed 5 times"):
                completion(server.url, waits).complete(QUESTION)
            firsts.append(waits[0])
    assert len(set(firsts)) == len(firsts)


def test_a_server_that_keeps_failing_fails_the_note_and_then_the_run() -> None:
    with serving(in_turn(Reply(status=500))) as server:
        asker = completion(server.url)
        for permanent in (*[False] * (remote.GIVE_UP - 1), True):
            with pytest.raises(BackendError, match=r"failed 5 times|in a row") as caught:
                asker.complete(QUESTION)
            assert caught.value.permanent is permanent and "Serra" not in str(caught.value)
        assert len(server.requests) == 5 * remote.GIVE_UP


def test_slow_answers_time_out() -> None:
    go = threading.Event()

    def slow(body: dict[str, Any]) -> str:
        go.wait(HANGS)
        return "late"

    with serving(slow) as server:
        with pytest.raises(BackendError, match=r"took longer than 0\.05 s") as caught:
            completion(server.url, seconds=0.05).complete(QUESTION)
        go.set()
    assert not caught.value.permanent


@pytest.mark.parametrize(
    ("status", "words"),
    [(401, "rejected the key"), (403, "rejected the key"), (404, "has no model"), (307, "redirects")],
)
def test_permanent_errors_end_the_run_at_once(status: int, words: str) -> None:
    with serving(
        in_turn(Reply(status=status, headers={"Location": "http://203.0.113.5/v1/chat/completions"}))
    ) as server:
        with pytest.raises(BackendError, match=words) as caught:
            completion(server.url).complete(QUESTION)
        assert caught.value.permanent and len(server.requests) == 1


def test_a_server_that_is_down_ends_the_run() -> None:
    with serving(in_turn("")) as server:
        url = server.url
    waits: list[float] = []
    with pytest.raises(BackendError, match="The server “ward” doesn't respond") as caught:
        completion(url, waits).complete(QUESTION)
    assert caught.value.permanent and len(waits) == remote.TRIES - 1


def test_invalid_json_is_an_error_of_the_note() -> None:
    with serving(in_turn(Reply(raw=b'{"choices": [Dr. Serra'))) as server:
        with pytest.raises(BackendError, match="The server “ward” sent an unreadable answer") as caught:
            completion(server.url).complete(QUESTION)
        assert not caught.value.permanent and len(server.requests) == 1


def test_a_note_too_long_for_the_model_fails_alone() -> None:
    error = {"error": {"message": "This model's maximum context length is 10 tokens: Dr. Serra", "code": 400}}
    with serving(in_turn(Reply(status=400, body=error))) as server:
        with pytest.raises(BackendError, match="too long for the model") as caught:
            completion(server.url).complete(QUESTION)
        assert not caught.value.permanent and len(server.requests) == 1


def test_unsupported_answer_formats_are_given_up_for_good() -> None:
    def old(body: dict[str, Any]) -> Reply:
        return Reply(status=400) if "response_format" in body else Reply("yes")

    with serving(old) as server:
        asker = completion(server.url)
        assert [asker.complete(QUESTION).text for _ in range(2)] == ["yes", "yes"]
        formats = [body.get("response_format", {}).get("type") for body in server.requests]
    assert formats == ["json_schema", "json_object", None, None]
    assert all((body["temperature"], body["max_tokens"]) == (0, QUESTION.most_tokens) for body in server.requests)


def test_the_limit_of_simultaneous_questions_is_kept() -> None:
    pair = threading.Barrier(2, timeout=HANGS)

    def model(body: dict[str, Any]) -> str:
        pair.wait()
        return entities()

    with serving(model) as server:
        backend_at(server.url, at_once=2, passes=1).predict([f"Note {n}." for n in range(8)])
        assert server.most_at_once == 2 and len(server.requests) == 8


def test_the_key_comes_from_the_environment_and_proxies_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEIDREVIEW_LLM_WARD_KEY", "k-123")
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    with serving(in_turn("yes")) as server:
        completion(server.url, key_variable="DEIDREVIEW_LLM_WARD_KEY").complete(QUESTION)
        completion(server.url).complete(QUESTION)
        assert server.keys == ["Bearer k-123", "Bearer none"]


def test_no_log_line_contains_a_note(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with serving(in_turn(Reply(status=500), Reply(status=400), "yes")) as server:
        completion(server.url).complete(QUESTION)
        assert all("Serra" in note_of(body) for body in server.requests)
    for client in ("openai._base_client", "httpx", "httpcore.http11"):  # as other versions of these libraries do
        logging.getLogger(client).debug("Request options: Dr. Serra")
    assert "Serra" not in caplog.text
