"""The backend for models on other servers. A failed note doesn't affect the other notes of a batch."""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import replace
from itertools import islice
from typing import Final

from annotations.text.spans import Span
from models_runtime.backends.base import BackendError, Budget, Rewritten
from models_runtime.backends.remote import inception, label_studio
from models_runtime.backends.remote.exchange import TRIES, Exchange
from models_runtime.backends.remote.protocol import Malformed, UnknownLabel
from models_runtime.backends.remote.servers import INCEPTION, RemoteModel

VERSION: Final = "1"
# Interval of the calls of `check` (seconds).
TICK: Final = 1.0
Result = list[Span] | BackendError


class RemoteBackend:
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

    def predict(self, texts: Sequence[str]) -> list[list[Span]]:
        """The spans of each text. Raises the first error, if any."""
        found = []
        for result in self._each(texts, lambda: None):
            if isinstance(result, BackendError):
                raise result
            found.append(result)
        return found

    def predict_each(
        self, texts: Sequence[str], check: Callable[[], None] = lambda: None
    ) -> list[list[Span] | Rewritten | BackendError]:
        """The spans of each text, or its error. Raises BackendError if every text would fail."""
        return [*self._each(texts, check)]

    def stream(self, texts: Iterable[str]) -> Iterator[list[Span]]:
        """The spans of each text, in order; a few texts at a time."""
        remaining = iter(texts)
        while some := list(islice(remaining, self.budget.notes)):
            yield from self.predict(some)

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
        except Malformed as error:
            raise BackendError(
                f"The server “{server.name}” sent an unusable answer. {error}", permanent=False
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
            f"The server “{self._server.name}” has a label that is not in {self._server.labels_variable}. Add all "
            "labels of the model there, and start another run.",
            permanent=True,
        )
