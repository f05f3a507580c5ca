"""A server whose answers a test writes, and a server of one of our own backends."""

import json
import threading
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from models_runtime.backends.remote.backend import RemoteBackend
from models_runtime.backends.remote.servers import RemoteModel
from models_runtime.runs.services.serving import ModelServer, server_for
from tests.backends.llm.scripted import Reply, Scripted

KEY = "only-for-tests-0123456789"


@dataclass
class Asked:
    method: str
    path: str
    headers: dict[str, str]
    body: Any


class ScriptedModel(Scripted):
    """`script(asked)` gives the status and the JSON, or bytes."""

    def __init__(self, script):
        super().__init__(script)
        self.url, self.asked = self.url.replace("/v1", "/model"), list[Asked]()

    def _reply(self, handler, body):
        asked = Asked(handler.command, handler.path, dict(handler.headers), body)
        self.asked.append(asked)
        status, answer = self.script(asked)
        return Reply(status=status, raw=answer if isinstance(answer, bytes) else json.dumps(answer).encode())


@contextmanager
def scripted(script):
    made = ScriptedModel(script)
    try:
        yield made
    finally:
        made.stop()


@contextmanager
def serving(backend, protocol):
    """Serve a backend as the command serve_model does. Yields its address, without the key."""
    answering = ModelServer(backend, protocol, lambda given: given == KEY, "tested")
    with server_for(answering, "127.0.0.1", 0) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def remote(url, protocol, labels, **options):
    """The backend for a server, which waits for nothing between attempts."""
    server = RemoteModel("there", url, protocol, tuple(sorted(labels)), **({"seconds": 20} | options))
    return RemoteBackend(server, labels, "redactor-33", sleep=lambda _: None)
