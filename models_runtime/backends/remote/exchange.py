"""JSON requests to a listed server, with time limits, retries, and limits of size.

Text is sent only to the listed address, without proxies and redirects. A server's answer may quote the note, so errors
give the server's name, the status and what to do, never words of the answer.
"""

import base64
import json
import os
import random
import threading
from collections.abc import Callable
from typing import Any, Final

import httpx2

from models_runtime.backends.base import BackendError
from models_runtime.backends.bounded import BoundedTransport, TooLong
from models_runtime.backends.remote.servers import RemoteModel

TRIES: Final = 4
"""Attempts for each request, with pauses of 1, 2 and 4 seconds, each up to half as long again."""
GIVE_UP: Final = 5
"""Consecutive failed requests that end the run. Finished notes are kept."""
MOST_BYTES: Final = 64 * 1024 * 1024
"""Limit of one response. INCEpTION's protocol sends each token of a note back: about 25 bytes for a character."""
_AGAIN: Final = (408, 409, 425, 429)


class Exchange:
    """Requests to one server, from several threads. `sleep`: a function that waits for a number of seconds."""

    def __init__(self, server: RemoteModel, *, sleep: Callable[[float], object] | None = None) -> None:
        self._server = server
        self._over = threading.Event()
        self._sleep = sleep or self._over.wait
        self._failed_in_a_row = 0
        self._lock = threading.Lock()
        self._client = httpx2.Client(
            headers=_credentials(server),
            trust_env=False,
            follow_redirects=False,
            timeout=server.seconds,
            transport=BoundedTransport(seconds=server.seconds, most=MOST_BYTES, at_once=server.at_once),
        )

    def stop(self) -> None:
        """Send no more requests. Open requests are answered or time out."""
        self._over.set()

    def get(self, path: str) -> Any:
        """The JSON at a path below the server's address. Raises BackendError."""
        return self._asked("GET", path, None, TRIES)

    def post(self, path: str, body: dict[str, Any], *, tries: int = TRIES) -> Any:
        """The JSON that the server answers to a JSON object. Raises BackendError."""
        return self._asked("POST", path, body, tries)

    def _asked(self, method: str, path: str, body: dict[str, Any] | None, tries: int) -> Any:
        try:
            answer = self._tried(method, path, body, tries)
        except BackendError as error:
            raise self._counted(error) from None
        with self._lock:
            self._failed_in_a_row = 0
        return answer

    def _counted(self, error: BackendError) -> BackendError:
        with self._lock:
            self._failed_in_a_row += 1
            hopeless = self._failed_in_a_row >= GIVE_UP
        if hopeless and not error.permanent:
            error = BackendError(f"{error} The run was stopped after {GIVE_UP} failures in a row.", permanent=True)
        if error.permanent:
            self.stop()
        return error

    def _tried(self, method: str, path: str, body: dict[str, Any] | None, tries: int) -> Any:
        name = self._server.name
        for attempt in range(1, tries + 1):
            error = BackendError(f"The server “{name}” is not asked any more.", permanent=False)
            if self._over.is_set():
                raise error
            try:
                return self._read(self._client.request(method, self._url(path), json=body))
            except TooLong:
                raise BackendError(
                    f"The server “{name}” sent more than {MOST_BYTES // 2**20} MB, or a compressed response.",
                    permanent=False,
                ) from None
            except httpx2.TimeoutException:
                error = BackendError(f"The server “{name}” took longer than {self._server.seconds} s.", permanent=False)
            except httpx2.HTTPError:
                error = BackendError(
                    f"The server “{name}” doesn't respond. Start the server, then resume the run.", permanent=True
                )
            except _Again as again:
                error = BackendError(f"The server “{name}” failed {attempt} times ({again.status}).", permanent=False)
            if attempt < tries:
                self._sleep(2.0 ** (attempt - 1) * random.uniform(1, 1.5))  # noqa: S311 - no secret
        raise error

    def _read(self, response: httpx2.Response) -> Any:
        """The JSON of a response. Raises BackendError, or _Again where a retry may help."""
        name, status = self._server.name, response.status_code
        if status in (401, 403):
            raise BackendError(f"The server “{name}” rejected the key ({status}). Check the key.", permanent=True)
        if status == 404:
            raise BackendError(f"The server “{name}” has no such address. Check the address.", permanent=True)
        if 300 <= status < 400:
            raise BackendError(f"The server “{name}” redirects ({status}). Enter its exact address.", permanent=True)
        if status in _AGAIN or status >= 500:
            raise _Again(status)
        if not 200 <= status < 300:
            raise BackendError(f"The server “{name}” rejected the request ({status}).", permanent=False)
        try:
            return json.loads(response.content)
        except (ValueError, RecursionError):
            raise BackendError(f"The server “{name}” sent an answer that is no JSON.", permanent=False) from None

    def _url(self, path: str) -> str:
        return f"{self._server.url.rstrip('/')}/{path}"


class _Again(Exception):
    """A status after which a retry may help."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


def _credentials(server: RemoteModel) -> dict[str, str]:
    key = os.environ.get(server.key_variable, "")
    if not key:
        return {}
    if server.user:
        return {"Authorization": f"Basic {base64.b64encode(f'{server.user}:{key}'.encode()).decode()}"}
    return {"Authorization": f"Bearer {key}"}
