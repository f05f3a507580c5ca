"""The backend for models on other servers. A failed note doesn't affect the other notes of a batch."""

import base64
import hashlib
import json
import os
import random
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import replace
from typing import Any, Final

import httpx2

from annotations.text.spans import Span
from annotations.text.wording import gettext as _
from models_runtime.backends.base import BackendError, Budget, PredictsEach, RewrittenText
from models_runtime.backends.bounded import BoundedTransport, ServerRequests, TooLong
from models_runtime.backends.remote import inception, label_studio
from models_runtime.backends.remote.servers import INCEPTION, MalformedMessage, RemoteModel, UnknownLabel

# JSON requests to a listed server, with time limits, retries, and limits of size.
#
# Text is sent only to the listed address, without proxies and redirects. A server's answer may quote the note, so
# errors give the server's name, the status and what to do, never words of the answer.


TRIES: Final = 4
"""Attempts for each request, with pauses of 1, 2 and 4 seconds, each up to half as long again."""
MOST_BYTES: Final = 64 * 1024 * 1024
"""Limit of one response. INCEpTION's protocol sends each token of a note back: about 25 bytes for a character."""


class Exchange(ServerRequests):
    """JSON requests to one server."""

    def __init__(self, server: RemoteModel, *, sleep: Callable[[float], object] | None = None) -> None:
        super().__init__(server.name, server.seconds, MOST_BYTES, sleep)
        self._url = server.url.rstrip("/")
        self._client = httpx2.Client(
            headers=_credentials(server),
            trust_env=False,
            follow_redirects=False,
            timeout=server.seconds,
            transport=BoundedTransport(seconds=server.seconds, most=MOST_BYTES, at_once=server.at_once),
        )

    def get(self, path: str) -> Any:
        """The JSON at a path below the server's address. Raises BackendError."""
        return self._counted(lambda: self._tried("GET", path, None, TRIES))

    def post(self, path: str, body: dict[str, Any], *, tries: int = TRIES) -> Any:
        """The JSON that the server answers to a JSON object. Raises BackendError."""
        return self._counted(lambda: self._tried("POST", path, body, tries))

    def _tried(self, method: str, path: str, body: dict[str, Any] | None, tries: int) -> Any:
        for attempt in range(1, tries + 1):
            error = self._error(_("is not asked any more."))
            if self._over.is_set():
                raise error
            try:
                return self._read(self._client.request(method, f"{self._url}/{path}", json=body))
            except TooLong:
                raise self._too_long() from None
            except httpx2.TimeoutException:
                error = self._late()
            except httpx2.HTTPError:
                error = self._silent()
            except _Again as again:
                error = self._error(_("failed {attempt} times ({status}).", attempt, again.status))
            if attempt < tries:
                self._sleep(2.0 ** (attempt - 1) * random.uniform(1, 1.5))  # noqa: S311 - no secret
        raise error

    def _read(self, response: httpx2.Response) -> Any:
        """The JSON of a response. Raises BackendError, or _Again where a retry may help."""
        if not response.is_success:
            raise self._refusal(response.status_code, _("has no such address. Check the address.")) or _Again(
                response.status_code
            )
        try:
            return json.loads(response.content)
        except (ValueError, RecursionError):
            raise self._error(_("sent an answer that is not valid JSON.")) from None


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


VERSION: Final = "1"
# Interval of the calls of `check` (seconds).
TICK: Final = 1.0
Result = list[Span] | BackendError


class RemoteBackend(PredictsEach):
    """Predicts with the model of a listed server.

    `labels` maps the model's labels to the project's, or to None for spans to leave out. Label Studio's protocol tells
    the version of a model, which is then part of the revision. Raises BackendError if the server doesn't respond.
    """

    name = "remote"

    def __init__(
        self,
        server: RemoteModel,
        labels: Mapping[str, str | None],
        label_set: str,
        *,
        sleep: Callable[[float], object] | None = None,
    ) -> None:
        self._server = server
        self._map = dict(labels)
        self._exchange = Exchange(server, sleep=sleep)
        self._types = inception.types_xml()
        self._source = f"remote-{server.name}"
        self.label_set = label_set
        self.labels = tuple(sorted({label for label in self._map.values() if label}))
        self.budget = Budget(notes=2 * server.at_once * server.batch)
        made_of = f"{server.url}\0{self._version()}\0{sorted(self._map.items())}\0{label_set}"
        self.revision = f"{VERSION}-{server.protocol}-{hashlib.sha256(made_of.encode()).hexdigest()[:16]}"

    def predict_each(
        self, texts: Sequence[str], check: Callable[[], None] = lambda: None
    ) -> list[list[Span] | RewrittenText | BackendError]:
        """The spans of each text, or its error. Raises BackendError if every text would fail."""
        return [*self._each(texts, check)]

    def _version(self) -> str:
        """The version of the model, for which the server must respond; empty if the protocol has none."""
        if self._server.protocol == INCEPTION:
            return ""
        self._exchange.get("health")
        return label_studio.version_in(self._exchange.post("setup", label_studio.setup_of(self._server.labels)))

    def _each(self, texts: Sequence[str], check: Callable[[], None]) -> list[Result]:
        size = self._server.batch
        parts = [texts[at : at + size] for at in range(0, len(texts), size)]
        with ThreadPoolExecutor(self._server.at_once, thread_name_prefix="remote") as pool:
            open_ones = [pool.submit(self._read, part) for part in parts]
            try:
                while wait(open_ones, timeout=TICK).not_done:
                    check()
                return [result for future in open_ones for result in future.result()]
            except BaseException:
                self._exchange.stop()
                pool.shutdown(wait=True, cancel_futures=True)
                raise

    def _read(self, texts: Sequence[str], tries: int = TRIES) -> list[Result]:
        """The results of one request. If it fails, each of its texts is sent alone. Raises permanent errors."""
        asked = [text for text in texts if text.strip()]
        try:
            found = iter(self._answered(asked, tries) if asked else [])
        except BackendError as error:
            if error.permanent:
                raise
            if len(texts) == 1:
                return [error]
            return [result for text in texts for result in self._read([text], tries=1)]
        return [self._mapped(next(found)) if text.strip() else [] for text in texts]

    def _answered(self, texts: list[str], tries: int) -> list[list[Span]]:
        """The spans of each text, with the model's labels. Raises BackendError."""
        server = self._server
        try:
            if server.protocol == INCEPTION:
                (text,) = texts
                answer = self._exchange.post("predict", inception.request_of(text, self._types), tries=tries)
                return [inception.spans_in(answer, text)]
            answer = self._exchange.post("predict", label_studio.request_of(texts, server.labels), tries=tries)
            predictions = label_studio.predictions_in(answer, len(texts))
            return [
                label_studio.spans_in(each, text, server.labels) for each, text in zip(predictions, texts, strict=True)
            ]
        except UnknownLabel:
            raise self._unknown_label() from None
        except MalformedMessage as error:
            raise BackendError(
                "The server “{name}” sent an unusable answer. {error}", server.name, error, permanent=False
            ) from None

    def _mapped(self, spans: list[Span]) -> list[Span]:
        """The spans with the project's labels. Several labels may become one, so equal spans are left out."""
        found: dict[tuple[int, int, str], Span] = {}
        for span in spans:
            if span.label not in self._map:
                raise self._unknown_label()
            if ours := self._map[span.label]:
                found.setdefault(
                    (span.start, span.end, ours), replace(span, label=ours, source=self._source, attributes=())
                )
        return sorted(found.values())

    def _unknown_label(self) -> BackendError:
        """The label is not named, since a server may put a word of the note in its place."""
        return BackendError(
            "The server “{name}” has a label that is not in {labels_variable}. Add all labels of the model "
            "there, and start another run.",
            *(self._server.name, self._server.labels_variable),
        )
