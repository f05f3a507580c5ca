"""A server whose answers a test writes, and a server of one of our own backends."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from models_runtime.backends import Backend
from models_runtime.backends.remote.backend import RemoteBackend
from models_runtime.backends.remote.servers import RemoteModel
from models_runtime.runs.services.serving import ModelServer, server_for

KEY = "only-for-tests-0123456789"


@dataclass
class Asked:
    method: str
    path: str
    headers: dict[str, str]
    body: Any


@dataclass
class Scripted:
    """`script(asked)` gives the status and the JSON, or bytes."""

    script: Callable[[Asked], tuple[int, Any]]
    url: str = ""
    asked: list[Asked] = field(default_factory=list)


@contextmanager
def scripted(script: Callable[[Asked], tuple[int, Any]]) -> Iterator[Scripted]:
    made = Scripted(script)

    class Handler(BaseHTTPRequestHandler):
        def _do(self) -> None:
            raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            asked = Asked(self.command, self.path, dict(self.headers), json.loads(raw) if raw else None)
            made.asked.append(asked)
            status, answer = made.script(asked)
            body = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST = _do

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    made.url = f"http://127.0.0.1:{server.server_port}/model"
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield made
    finally:
        server.shutdown()
        server.server_close()


@contextmanager
def serving(backend: Backend, protocol: str) -> Iterator[str]:
    """Serve a backend as the command serve_model does. Yields its address, without the key."""
    answering = ModelServer(backend, protocol, lambda given: given == KEY, "tested")
    with server_for(answering, "127.0.0.1", 0) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def remote(url: str, protocol: str, labels: dict[str, str | None], **options: Any) -> RemoteBackend:
    """The backend for a server, which waits for nothing between attempts."""
    server = RemoteModel("there", url, protocol, tuple(sorted(labels)), **({"seconds": 20} | options))
    return RemoteBackend(server, labels, "redactor-33", sleep=lambda _: None)
