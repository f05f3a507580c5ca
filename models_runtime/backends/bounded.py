"""HTTP with a limit of bytes and of time for each response.

The limits apply where bytes arrive from the network, so they include headers, bodies in any number of chunks, and slow
responses. Compressed responses are not requested and not accepted: a few bytes could unpack to gigabytes.
"""

import threading
import time
from collections.abc import Callable
from typing import Any, Final, TypeVar

import httpcore2
import httpx2

from annotations.text.wording import gettext as _
from models_runtime.backends.base import BackendError

GIVE_UP: Final = 5
"""Consecutive failed requests that end the run. Finished notes are kept."""
MOST_BYTES: Final = 16 * 1024 * 1024
"""Limit of one response. The longest note, rewritten by a model, takes a third of it."""


# Statuses after which another try may help, like those from 500.
AGAIN: Final = (408, 409, 425, 429)
T = TypeVar("T")


class ServerRequests:
    """Requests to one server, from several threads. `sleep`: a function that waits for a number of seconds.

    `name`, `seconds`, `most`: the server's name, and the limits of a response in seconds and bytes.
    """

    def __init__(self, name: str, seconds: float, most: int, sleep: Callable[[float], object] | None) -> None:
        self._name, self._seconds, self._most = name, seconds, most
        self._over = threading.Event()
        self._sleep = sleep or self._over.wait
        self._failed_in_a_row = 0
        self._lock = threading.Lock()

    def stop(self) -> None:
        """Send no more requests. Open requests are answered or time out."""
        self._over.set()

    def _counted(self, ask: Callable[[], T]) -> T:
        """What `ask` returns. Its BackendError is permanent after GIVE_UP failures in a row, which end all requests."""
        try:
            answer = ask()
        except BackendError as error:
            with self._lock:
                self._failed_in_a_row += 1
                hopeless = self._failed_in_a_row >= GIVE_UP
            if hopeless and not error.permanent:
                error = BackendError("{error} The run was stopped after {count} failures in a row.", error, GIVE_UP)
            if error.permanent:
                self.stop()
            raise error from None
        with self._lock:
            self._failed_in_a_row = 0
        return answer

    def _error(self, what: str, *, permanent: bool = False) -> BackendError:
        return BackendError("The server “{name}” {what}", self._name, what, permanent=permanent)

    def _refusal(self, status: int, missing: str) -> BackendError | None:
        """The error for a status other than success; None where another try may help. `missing`: what a 404 means."""
        if status in AGAIN or status >= 500:
            return None
        if status in (401, 403):
            return self._error(_("rejected the key ({status}). Check the key.", status), permanent=True)
        if status == 404:
            return self._error(missing, permanent=True)
        if 300 <= status < 400:
            return self._error(_("redirects ({status}). Enter its exact address.", status), permanent=True)
        return self._error(_("rejected the request ({status}).", status))

    def _too_long(self) -> BackendError:
        return self._error(_("sent more than {most} MB, or a compressed response.", self._most // 2**20))

    def _late(self) -> BackendError:
        return self._error(_("took longer than {seconds} s.", self._seconds))

    def _silent(self) -> BackendError:
        return self._error(_("doesn't respond. Start the server, then resume the run."), permanent=True)


class TooLong(httpx2.NetworkError):
    """The response has more than MOST_BYTES, or is compressed."""


class _Limits(threading.local):
    """The remaining time and bytes of the response that this thread waits for."""

    until = 0.0
    left = 0


class _Stream(httpcore2.NetworkStream):
    """A connection that counts what it reads."""

    def __init__(self, stream: httpcore2.NetworkStream, limits: _Limits) -> None:
        self._stream, self._limits = stream, limits

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        seconds = self._limits.until - time.monotonic()
        if seconds <= 0:
            raise httpcore2.ReadTimeout
        data = self._stream.read(max_bytes, seconds if timeout is None else min(timeout, seconds))
        self._limits.left -= len(data)
        if self._limits.left < 0:
            raise TooLong("too long")
        return data

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._stream.write(buffer, timeout)

    def close(self) -> None:
        self._stream.close()

    def start_tls(self, *args: Any, **kwargs: Any) -> httpcore2.NetworkStream:
        return _Stream(self._stream.start_tls(*args, **kwargs), self._limits)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


class _Network(httpcore2.SyncBackend):
    def __init__(self, limits: _Limits) -> None:
        super().__init__()
        self._limits = limits

    def connect_tcp(self, *args: Any, **kwargs: Any) -> httpcore2.NetworkStream:
        return _Stream(super().connect_tcp(*args, **kwargs), self._limits)


class BoundedTransport(httpx2.HTTPTransport):
    """An HTTP/1.1 transport without proxies. A response takes at most `seconds` and `most` bytes."""

    def __init__(self, *, seconds: float, most: int = MOST_BYTES, at_once: int = 10) -> None:
        self._seconds, self._most, self._limits = seconds, most, _Limits()
        # In place of the pool of the base class, whose connections have no limits.
        self._pool = httpcore2.ConnectionPool(
            ssl_context=httpx2.create_ssl_context(trust_env=False),
            max_connections=at_once,
            network_backend=_Network(self._limits),
        )

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        self._limits.until, self._limits.left = time.monotonic() + self._seconds, self._most
        request.headers["Accept-Encoding"] = "identity"
        response = super().handle_request(request)
        if response.headers.get("content-encoding", "identity").strip().lower() != "identity":
            response.close()
            raise TooLong("too long")
        return response
