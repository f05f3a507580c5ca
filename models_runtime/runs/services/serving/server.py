"""The HTTP server of a served model: threads, limits, and no log of requests, whose paths may have the token."""

import socket
import threading
from socketserver import ThreadingMixIn
from typing import Any, Final
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from django.db import connection

from models_runtime.runs.services.serving.answering import Answering

AT_ONCE: Final = 32
"""Connections at a time; more are closed at once."""
SILENCE: Final = 30.0
"""How long a client may send nothing (seconds)."""


class _Handler(WSGIRequestHandler):
    timeout = SILENCE

    def log_message(self, format: str, *args: Any) -> None:
        pass


class _Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._free = threading.BoundedSemaphore(AT_ONCE)
        super().__init__(*args, **kwargs)

    def process_request(self, request: Any, client_address: Any) -> None:
        if self._free.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            connection.close()
            self._free.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is of no interest; the application answers all other errors itself."""

    def server_bind(self) -> None:
        """Bind without looking up the name of the machine, which can take long."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = str(self.server_address[0]), self.server_address[1]
        self.setup_environ()


class _Server6(_Server):
    address_family = socket.AF_INET6


def server_for(answering: Answering, host: str, port: int) -> WSGIServer:
    """A server at this address, which answers once `serve_forever` is called. Raises OSError if the port is taken."""
    kind = _Server6 if ":" in host else _Server
    return make_server(host, port, answering, server_class=kind, handler_class=_Handler)
