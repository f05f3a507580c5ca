"""Servers that are slow, busy, broken or gone: what is tried again, what ends a note, what ends the run."""

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
from tests.backends.llm.scripted import Said, backend_at, entities, note_of, serving

QUESTION = Question("system", "note-0000000000000000\nDr. Serra\nnote-0000000000000000", 100, {"type": "object"})


def completion(url: str, waits: list[float] | None = None, **options: Any) -> RemoteCompletion:
    server = Server("ward", url, ("m1",), **({"seconds": 5} | options))
    return RemoteCompletion(server, "m1", Meter(), sleep=(waits if waits is not None else []).append)


def in_turn(*said: Said | str) -> Any:
    """Each answer once, then the last for ever."""
    following = itertools.chain(said, itertools.repeat(said[-1]))
    return lambda body: next(following)


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503])
def test_what_may_pass_is_tried_again_with_growing_waits(status: int) -> None:
    waits: list[float] = []
    with serving(in_turn(Said(status=status), Said(status=status), "yes")) as server:
        asker = completion(server.url, waits)
        assert asker.complete(QUESTION).text == "yes"
    assert asker.meter.take() == {"requests": 3, "retries": 2, "tokens_in": 100, "tokens_out": 10}
    assert len(waits) == 2 and 1 <= waits[0] <= 2 <= waits[1] <= 4


def test_a_server_that_says_when_is_believed_up_to_a_minute() -> None:
    waits: list[float] = []
    busy = [
        Said(status=429, headers={"Retry-After": value}) for value in ("7", "86400", "Wed, 21 Oct 2015 07:28:00 GMT")
    ]
    with serving(in_turn(*busy, "yes")) as server:
        completion(server.url, waits).complete(QUESTION)
    assert 7 <= waits[0] <= 8 and waits[1] == remote.LONGEST_WAIT and 0 <= waits[2] <= 1


@pytest.mark.parametrize("headers", [{}, {"Retry-After": "7"}], ids=["growing", "asked for"])
def test_who_was_refused_together_does_not_come_back_together(headers: dict[str, str]) -> None:
    firsts = []
    with serving(in_turn(Said(status=429, headers=headers))) as server:
        for _ in range(4):
            waits: list[float] = []
            with pytest.raises(BackendError, match="failed 5 times"):
                completion(server.url, waits).complete(QUESTION)
            firsts.append(waits[0])
    assert len(set(firsts)) == len(firsts)


def test_a_server_that_keeps_failing_fails_the_note_and_then_the_run() -> None:
    with serving(in_turn(Said(status=500))) as server:
        asker = completion(server.url)
        for permanent in (*[False] * (remote.GIVE_UP - 1), True):
            with pytest.raises(BackendError, match=r"failed 5 times|in a row") as caught:
                asker.complete(QUESTION)
            assert caught.value.permanent is permanent and "Serra" not in str(caught.value)
        assert len(server.requests) == 5 * remote.GIVE_UP


def test_slow_answers_are_not_waited_for() -> None:
    go = threading.Event()

    def slow(body: dict[str, Any]) -> str:
        go.wait(20)
        return "late"

    with serving(slow) as server:
        with pytest.raises(BackendError, match=r"took longer than 0\.05 s") as caught:
            completion(server.url, seconds=0.05).complete(QUESTION)
        go.set()
    assert not caught.value.permanent


@pytest.mark.parametrize(
    ("status", "words"),
    [(401, "refused the key"), (403, "refused the key"), (404, "has no model"), (307, "leads elsewhere")],
)
def test_what_no_other_try_helps_ends_the_run_at_once(status: int, words: str) -> None:
    with serving(
        in_turn(Said(status=status, headers={"Location": "http://203.0.113.5/v1/chat/completions"}))
    ) as server:
        with pytest.raises(BackendError, match=words) as caught:
            completion(server.url).complete(QUESTION)
        assert caught.value.permanent and len(server.requests) == 1


def test_a_server_that_is_away_ends_the_run_and_says_so() -> None:
    with serving(in_turn("")) as server:
        url = server.url
    waits: list[float] = []
    with pytest.raises(BackendError, match="the server ward does not answer") as caught:
        completion(url, waits).complete(QUESTION)
    assert caught.value.permanent and len(waits) == remote.TRIES - 1


def test_an_answer_that_only_calls_itself_json_fails_the_note() -> None:
    with serving(in_turn(Said(raw=b'{"choices": [Dr. Serra'))) as server:
        with pytest.raises(BackendError, match="the server ward gave an answer that can't be read") as caught:
            completion(server.url).complete(QUESTION)
        assert not caught.value.permanent and len(server.requests) == 1


def test_a_note_too_long_for_the_model_fails_alone() -> None:
    error = {"error": {"message": "This model's maximum context length is 10 tokens: Dr. Serra", "code": 400}}
    with serving(in_turn(Said(status=400, body=error))) as server:
        with pytest.raises(BackendError, match="longer than the model takes") as caught:
            completion(server.url).complete(QUESTION)
        assert not caught.value.permanent and len(server.requests) == 1


def test_formats_that_a_server_does_not_know_are_left_for_good() -> None:
    def old(body: dict[str, Any]) -> Said:
        return Said(status=400) if "response_format" in body else Said("yes")

    with serving(old) as server:
        asker = completion(server.url)
        assert [asker.complete(QUESTION).text for _ in range(2)] == ["yes", "yes"]
        formats = [body.get("response_format", {}).get("type") for body in server.requests]
    assert formats == ["json_schema", "json_object", None, None]
    assert all((body["temperature"], body["max_tokens"]) == (0, QUESTION.most_tokens) for body in server.requests)


def test_no_more_questions_at_once_than_the_server_takes() -> None:
    pair = threading.Barrier(2, timeout=10)

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


def test_no_log_line_holds_a_note(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with serving(in_turn(Said(status=500), Said(status=400), "yes")) as server:
        completion(server.url).complete(QUESTION)
        assert all("Serra" in note_of(body) for body in server.requests)
    for client in ("openai._base_client", "httpx", "httpcore.http11"):  # as other versions of these do
        logging.getLogger(client).debug("Request options: Dr. Serra")
    assert "Serra" not in caplog.text
