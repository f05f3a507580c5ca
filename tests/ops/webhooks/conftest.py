"""A project whose manager is signed in, and real servers that receive messages."""

import json
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from annotations.ops.rules import read_hosts
from annotations.ops.selectors.webhooks import KINDS
from annotations.ops.services.webhooks import sending
from annotations.ops.services.webhooks.webhooks import add_webhook
from tests.worlds.pages import world

__all__ = ["world"]


@dataclass
class Received:
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> dict[str, Any]:
        return json.loads(self.body)


@dataclass
class Receiver:
    """A server that answers with `statuses` in turn; the last one is repeated. `raw`: bytes in place of an answer."""

    port: int = 0
    scheme: str = "http"
    statuses: list[int] = field(default_factory=lambda: [204])
    location: str = ""
    raw: Callable[[Any], None] | None = None
    received: list[Received] = field(default_factory=list)

    def url(self, path: str = "/hook", host: str = "127.0.0.1") -> str:
        return f"{self.scheme}://{host}:{self.port}{path}"

    @property
    def listed(self) -> str:
        return f"127.0.0.1:{self.port}"


def serve(receiver: Receiver, context: ssl.SSLContext | None = None) -> HTTPServer:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            receiver.received.append(Received(self.path, {k.lower(): v for k, v in self.headers.items()}, body))
            if receiver.raw:
                receiver.raw(self)
                return
            statuses = receiver.statuses
            self.send_response(statuses.pop(0) if len(statuses) > 1 else statuses[0])
            if receiver.location:
                self.send_header("Location", receiver.location)
            self.end_headers()

        def log_message(self, *args: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    if context:
        server.socket = context.wrap_socket(server.socket, server_side=True)
    receiver.port = server.server_port
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    return server


@pytest.fixture
def receiver(settings) -> Iterator[Receiver]:
    """A server whose address is listed."""
    made = Receiver()
    server = serve(made)
    settings.WEBHOOK_HOSTS = read_hosts([made.listed])
    yield made
    server.shutdown()
    server.server_close()


@pytest.fixture
def tls_receiver(tmp_path: Path, settings, monkeypatch) -> Iterator[Receiver]:
    """A server with a certificate for hooks.test, which the client trusts."""
    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    about = ["-days", "1", "-subj", "/CN=hooks.test", "-addext", "subjectAltName=DNS:hooks.test"]
    command = ["openssl", "req", "-x509", *curve, *about, "-keyout", str(key), "-out", str(certificate)]
    subprocess.run(command, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    made = Receiver(scheme="https")
    server = serve(made, context)
    trusting = ssl.create_default_context(cafile=str(certificate))
    monkeypatch.setattr(sending, "_tls", lambda: trusting)
    settings.WEBHOOK_HOSTS = read_hosts([f"hooks.test:{made.port}", f"other.test:{made.port}", "127.0.0.1/32"])
    yield made
    server.shutdown()
    server.server_close()


@pytest.fixture
def made(world, receiver):
    """A webhook for all events, with its secret."""
    return add_webhook(project=world.project, url=receiver.url(), kinds=list(KINDS), actor=world.mia)


@pytest.fixture
def webhook(made):
    return made.webhook
