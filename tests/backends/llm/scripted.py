"""An OpenAI-compatible HTTP server on loopback, with answers scripted by the test."""

import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from hypothesis import strategies as st

from annotations.text.spans import Span
from models_runtime.backends.llm.backend import LlmBackend
from models_runtime.backends.llm.prompts import LabelWord
from models_runtime.backends.llm.servers import Params, Server, read_servers

LABELS = [
    LabelWord("PERSON", "Person", "Name of a person", "[PERSON]"),
    LabelWord("AGE", "Age", "Age in years", "[AGE]"),
    LabelWord("ORGANIZATION", "Organization", "Hospital or firm", "[ORGANIZATION]"),
    LabelWord("DATE", "Date", "", "[DATE]"),
]


@dataclass
class Reply:
    """The server's response: a chat completion with this text, or an error with `status`."""

    text: str = ""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    finish: str = "stop"
    body: Any = None
    raw: bytes | None = None


class Cached(dict[str, Any]):
    """A store of answers."""

    find = dict.get

    def keep(self, key: str, text: str, found: Any) -> None:
        self[key] = found


def calling(*calls: tuple[str, Any]) -> Reply:
    """A reply that calls tools."""
    made = [
        {"id": f"c{at}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
        for at, (name, arguments) in enumerate(calls)
    ]
    message = {"role": "assistant", "content": None, "tool_calls": made}
    return Reply(body=_body("m", {"index": 0, "finish_reason": "tool_calls", "message": message}))


Script = Callable[[dict[str, Any]], "Reply | str"]


class Scripted:
    """The running server. `requests`: the bodies received; `script`: the function that answers them."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str] = []
        self.paths: list[str] = []
        self.most_at_once = 0
        self._now = 0
        self._lock = threading.Lock()
        scripted = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_POST(self) -> None:
                scripted._answer(self)

            do_GET = do_POST

            def log_message(self, *args: object) -> None:
                pass

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._http.server_port}/v1"
        threading.Thread(target=self._http.serve_forever, args=(0.05,), daemon=True).start()

    def _answer(self, handler: BaseHTTPRequestHandler) -> None:
        raw = handler.rfile.read(int(handler.headers.get("Content-Length") or 0))
        body = json.loads(raw) if raw else {}
        with self._lock:
            self.requests.append(body)
            self.keys.append(handler.headers.get("Authorization", ""))
            self.paths.append(handler.path)
            self._now += 1
            self.most_at_once = max(self.most_at_once, self._now)
        try:
            said = self._reply(handler, body)
        finally:
            with self._lock:
                self._now -= 1
        data = said.raw or json.dumps(said.body if said.body is not None else _completion(said, body)).encode()
        handler.send_response(said.status)
        headers = {"Content-Type": "application/json", "Content-Length": str(len(data))} | said.headers
        for header in headers.items():
            handler.send_header(*header)
        handler.end_headers()
        handler.wfile.write(data)

    def _reply(self, handler: BaseHTTPRequestHandler, body: dict[str, Any]) -> Reply:
        said = self.script(body)
        return Reply(said) if isinstance(said, str) else said

    def stop(self) -> None:
        self._http.shutdown()
        self._http.server_close()


def _completion(said: Reply, body: dict[str, Any]) -> dict[str, Any]:
    if said.status != 200:
        return {"error": {"message": f"no: {note_of(body)}", "type": "error"}}
    message = {"role": "assistant", "content": said.text}
    return _body(body["model"], {"index": 0, "finish_reason": said.finish, "message": message})


def _body(model: str, choice: dict[str, Any]) -> dict[str, Any]:
    usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
    return {
        "id": "x", "object": "chat.completion", "created": 0, "model": model, "choices": [choice], "usage": usage
    }  # fmt: skip


@contextmanager
def serving(script: Script) -> Iterator[Scripted]:
    server = Scripted(script)
    try:
        yield server
    finally:
        server.stop()


@contextmanager
def offered(settings: Any, script: Script, *, monkeypatch: Any = None, **variables: str) -> Iterator[Scripted]:
    """The scripted server `ward` with the model `small`, and more variables of the environment, in which {url} is its
    address. With `monkeypatch`, processes that the test starts find it, too."""
    with serving(script) as server:
        servers = variables.get("SERVERS", "ward={url}")
        variables = ({"WARD_MODELS": "small"} if "ward=" in servers else {}) | variables | {"SERVERS": servers}
        given = {f"DEIDREVIEW_LLM_{name}": value.format(url=server.url) for name, value in variables.items()}
        for item in given.items() if monkeypatch else ():
            monkeypatch.setenv(*item)
        settings.LLM_SERVERS = read_servers(given)
        yield server


def note_of(body: dict[str, Any]) -> str:
    """The note in a request, between the two equal lines."""
    first, _, rest = body["messages"][1]["content"].partition("\n")
    assert re.fullmatch(r"note-[0-9a-f]{16}", first) and rest.endswith("\n" + first)
    return rest[: -len(first) - 1]


def entities(*mentions: tuple[str, str] | tuple[str, str, str]) -> str:
    """An answer: text, type and optionally context of each mention."""
    rows = [dict(zip(("text", "type", "context"), mention, strict=False)) for mention in mentions]
    return json.dumps({"entities": [{"context": ""} | row for row in rows]}, ensure_ascii=False)


WORDS = re.compile(r"(?P<PERSON>Dr\. \w+ \w+)|(?P<DATE>\d\d/\d\d/\d{4})|(?P<ORGANIZATION>Hospital San \w+)")


def finder(body: dict[str, Any]) -> str:
    """A model that finds the matches of WORDS, each with its context."""
    note = note_of(body)
    rows = [(found[0], str(found.lastgroup), note[max(0, found.start() - 20) : found.end() + 20])
            for found in WORDS.finditer(note)]  # fmt: skip
    return entities(*rows)


def backend_at(
    url: str, *, at_once: int = 4, server: str = "test", model: str = "m1",
    answers: Any = None, completion: Any = None, **params: Any,
) -> LlmBackend:  # fmt: skip
    return LlmBackend(
        label_set="redactor-33", labels=LABELS, params=Params(server, model, **params), answers=answers,
        server=Server(server, url, (model,), at_once=at_once, seconds=5), completion=completion,
    )  # fmt: skip


def shown(text: str, spans: Any) -> list[tuple[str, str]]:
    """The texts and labels of spans."""
    return [(text[span.start : span.end], span.label) for span in spans]


# Made-up texts and spans for properties of offsets.


TEXT = st.text(st.sampled_from("ab1 .,\n\r\tÈİ[]👩‍⚕️\u0301\ufeff\xa0漢"), max_size=120)


@st.composite
def spanned(draw: st.DrawFn) -> tuple[str, list[Span]]:
    text = draw(TEXT)
    ends = st.integers(0, len(text))
    bounds = draw(st.lists(st.tuples(ends, ends, st.sampled_from(["PERSON", "AGE"])), max_size=5))
    return text, [Span(a, b, label) for a, b, label in bounds if a < b]
