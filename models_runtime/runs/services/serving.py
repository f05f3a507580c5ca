"""The WSGI application that answers the requests of INCEpTION or Label Studio with one loaded model.

A request needs a token: as `Authorization: Bearer TOKEN`, as the password of HTTP basic authentication, which Label
Studio sends, or as the first part of the path, since INCEpTION can send neither. Texts are kept nowhere and logged
nowhere, and no error repeats them.
"""

import base64
import binascii
import json
import logging
import socket
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from http import HTTPStatus
from socketserver import ThreadingMixIn
from typing import Any, Final
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from django.core.exceptions import PermissionDenied
from django.db import connection
from django.http import Http404
from django.utils.translation import gettext as _

from annotations.core.access import Can, enter
from annotations.core.api.tokens import token_of
from annotations.core.services import ServiceError
from annotations.models import Project, User
from models_runtime.backends.base import Backend, BackendError, OfPatients
from models_runtime.backends.remote import inception, label_studio
from models_runtime.backends.remote.servers import INCEPTION, LABEL_STUDIO, MalformedMessage
from models_runtime.core.model_files import load_backend, load_model
from models_runtime.runs.events import MODEL_SERVED
from models_runtime.runs.services.backends import chosen

logger = logging.getLogger("deidreview.serving")
MOST_BYTES: Final = 64 * 1024 * 1024
WAIT: Final = 60.0
"""How long a request waits for the model, which reads for one request at a time (seconds)."""

Accepts = Callable[[str], bool]
"""Whether a token is right."""


@dataclass(frozen=True)
class _Problem(Exception):
    """A request that is refused: the status, and a sentence for whoever set up the other tool."""

    status: HTTPStatus
    message: str


class ModelServer:
    """Answers with a model, by one protocol. `name` is the name of the model, which other tools show."""

    def __init__(self, backend: Backend, protocol: str, accepts: Accepts, name: str) -> None:
        self._backend, self._protocol, self._accepts, self.name = backend, protocol, accepts, name
        self._lock = threading.Lock()
        self._version = f"{name} {backend.revision}"[:200]

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        headers = [("Content-Type", "application/json"), ("Cache-Control", "no-store")]
        try:
            status, answer = HTTPStatus.OK, self._answer(environ)
        except _Problem as problem:
            status, answer = problem.status, {"error": problem.message}
            if status is HTTPStatus.UNAUTHORIZED:
                headers.append(("WWW-Authenticate", 'Basic realm="deidreview", charset="UTF-8"'))
            if status is HTTPStatus.SERVICE_UNAVAILABLE:
                headers.append(("Retry-After", "10"))
        except Exception as error:
            # Without its message, which may quote a text.
            logger.error("A request for the model failed: %s", type(error).__name__)
            status, answer = HTTPStatus.INTERNAL_SERVER_ERROR, {"error": "The model failed on this text."}
        body = json.dumps(answer).encode()
        start_response(f"{status.value} {status.phrase}", [*headers, ("Content-Length", str(len(body)))])
        return [body]

    def _answer(self, environ: dict[str, Any]) -> dict[str, Any]:
        method, path = environ.get("REQUEST_METHOD", ""), environ.get("PATH_INFO", "").strip("/")
        if self._protocol == LABEL_STUDIO and method == "GET" and path in ("", "health"):
            return {"status": "UP"}
        do = self._entered(environ, path)
        if self._protocol == LABEL_STUDIO and method == "GET" and do in ("", "health"):
            return {"status": "UP"}
        handlers: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {"predict": self._inception}
        if self._protocol != INCEPTION:
            handlers = {"predict": self._label_studio, "setup": self._setup, "versions": self._versions}
        if do not in handlers:
            raise _Problem(HTTPStatus.NOT_FOUND, f"There is no “{do}” here. Addresses: {', '.join(handlers)}.")
        if method != "POST":
            raise _Problem(HTTPStatus.METHOD_NOT_ALLOWED, "Send a POST request.")
        try:
            return handlers[do](_body(environ))
        except MalformedMessage as error:
            raise _Problem(HTTPStatus.BAD_REQUEST, str(error)) from None

    def _entered(self, environ: dict[str, Any], path: str) -> str:
        """The path without the token, if the request has a right one. Raises _Problem."""
        first, _, rest = path.partition("/")
        given = _token_in(environ.get("HTTP_AUTHORIZATION", ""))
        if given:
            if self._accepts(given):
                return path
        elif first and self._accepts(first):
            return rest.strip("/")
        raise _Problem(
            HTTPStatus.UNAUTHORIZED,
            "The token is missing or wrong. Send it as a bearer token, as the password of basic authentication, or as "
            "the first part of the path.",
        )

    def _inception(self, body: dict[str, Any]) -> dict[str, Any]:
        asked = inception.PredictionRequest(body)
        (spans,) = self._read([asked.text])
        return asked.answer(spans)

    def _label_studio(self, body: dict[str, Any]) -> dict[str, Any]:
        asked = label_studio.TaskRequest(body)
        return asked.answer(self._read(asked.texts), self._version)

    def _setup(self, body: dict[str, Any]) -> dict[str, Any]:
        return {"model_version": self._version}

    def _versions(self, body: dict[str, Any]) -> dict[str, Any]:
        return {"versions": [self._version]}

    def _read(self, texts: list[str]) -> list[Any]:
        if not self._lock.acquire(timeout=WAIT):
            raise _Problem(HTTPStatus.SERVICE_UNAVAILABLE, "The model is busy. Try again later.")
        try:
            return self._backend.predict(texts)
        except BackendError as error:
            raise _Problem(HTTPStatus.INTERNAL_SERVER_ERROR, str(error)) from None
        finally:
            self._lock.release()


def _token_in(header: str) -> str:
    """The token in a header Authorization; empty if it has none."""
    scheme, _, rest = header.strip().partition(" ")
    if scheme.lower() == "bearer":
        return rest.strip()
    if scheme.lower() == "basic":
        try:
            return base64.b64decode(rest.strip(), validate=True).decode().partition(":")[2]
        except (binascii.Error, UnicodeDecodeError):
            return ""
    return ""


def _body(environ: dict[str, Any]) -> dict[str, Any]:
    """The JSON object of a request. Raises _Problem."""
    word = environ.get("CONTENT_LENGTH") or ""
    if not (word.isascii() and word.isdecimal()):
        raise _Problem(HTTPStatus.LENGTH_REQUIRED, "The request needs a Content-Length.")
    length = int(word[:12])
    if length > MOST_BYTES:
        raise _Problem(
            HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
            f"The request has more than {MOST_BYTES // 2**20} MB. Send fewer texts.",
        )
    try:
        body = json.loads(environ["wsgi.input"].read(length))
    except (ValueError, RecursionError):
        raise _Problem(HTTPStatus.BAD_REQUEST, "The request is not valid JSON.") from None
    if not isinstance(body, dict):
        raise _Problem(HTTPStatus.BAD_REQUEST, "The request must be a JSON object.")
    return body


# The HTTP server of a served model: threads, limits, and no log of requests, whose paths may have the token.


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


def server_for(answering: ModelServer, host: str, port: int) -> WSGIServer:
    """A server at this address, which answers once `serve_forever` is called. Raises OSError if the port is taken."""
    kind = _Server6 if ":" in host else _Server
    return make_server(host, port, answering, server_class=kind, handler_class=_Handler)


# Who may use a served model: people who may read every note of its project, by the tokens of the API.


def tokens_for(project: Project) -> Accepts:
    """Accept the valid tokens of these people. A token that is limited to a project must be limited to this one."""

    def accepts(given: str) -> bool:
        token = token_of(given)
        if token is None or token.project_id not in (None, project.pk):
            return False
        try:
            enter(token.user, project.slug, Can.READ_NOTES)
        except (Http404, PermissionDenied):
            return False
        return True

    return accepts


# Which model is served, and to whom.


def served(*, project: Project, model: str, protocol: str, actor: User | None) -> ModelServer:
    """Load a backend or a trained model of a project, and record that it is served. Raises ServiceError."""
    choice = chosen(project, model)
    try:
        backend = load_model(choice.model) if choice.model else load_backend(choice.backend, project, {})
    except BackendError as error:
        raise ServiceError(str(error), code="model") from None
    _check(backend, choice.stem)
    MODEL_SERVED.record(actor=actor, project_id=project.pk, data={"backend": choice.backend, "protocol": protocol})
    return ModelServer(backend, protocol, tokens_for(project), choice.stem)


def _check(backend: Backend, name: str) -> None:
    """Raise ServiceError for a backend that reads the patient of each note, which other tools don't send."""
    if isinstance(backend, OfPatients):
        raise ServiceError(
            _("The backend “%(name)s” needs the patient of each note, so it can't be served. Choose another model.")
            % {"name": name},
            code="model",
        )
