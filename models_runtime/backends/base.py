"""The Protocol of all backends, their error, and loading by dotted path.

A backend turns texts into spans. It imports neither Django nor the queue, so it can be tested and timed alone.
"""

import importlib
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from math import inf
from typing import Any, Protocol, TypeVar, cast, runtime_checkable

from annotations.text.spans import Span
from annotations.text.wording import WordedError

T = TypeVar("T")
R = TypeVar("R")


class BackendError(WordedError):
    """A backend failed. `permanent`: trying again can't help, as is usual.

    The message is shown to people and written to logs. It names settings and choices, never text of a note.
    """

    def __init__(self, sentence: str, *values: object, permanent: bool = True) -> None:
        super().__init__(sentence, *values)
        self.permanent = permanent


@dataclass(frozen=True, slots=True)
class Budget:
    """The largest batch for a backend, in notes and in estimated tokens. A batch has at least one note.

    The limits bound memory, and the work that is lost with a worker.
    """

    notes: int = 64
    tokens: int = 100_000


@runtime_checkable
class Backend(Protocol):
    """Finds spans in texts.

    Offsets are code points, end-exclusive. The spans of a text are sorted, distinct, inside the text and without white
    space at their ends. Each span has a source (a rule id, a model's name) and a confidence from 0 to 1, or None.
    The same texts always give the same spans, in the order of the texts. A backend uses no network, except for a server
    that the administrator listed. A backend with other batch limits than the default has a `budget` (Budget).
    Raises BackendError.
    """

    @property
    def name(self) -> str:
        """A short name of the backend, such as `rules`."""

    @property
    def revision(self) -> str:
        """A string that changes whenever the output can change: version, rules or weights, and parameters."""

    @property
    def label_set(self) -> str:
        """The key of the label set that the labels of the spans belong to."""

    @property
    def labels(self) -> tuple[str, ...]:
        """The codes of all labels that a span may have, sorted."""

    def predict(self, texts: Sequence[str]) -> list[list[Span]]:
        """The spans of each text."""

    def stream(self, texts: Iterable[str]) -> Iterator[list[Span]]:
        """The spans of each text, one text at a time. Reads only a bounded number of texts ahead."""


class StreamingBackend(ABC):
    """A backend that reads its texts in `stream`."""

    def predict(self, texts: Sequence[str]) -> list[list[Span]]:
        """The spans of each text: sorted and trimmed."""
        return list(self.stream(texts))

    @abstractmethod
    def stream(self, texts: Iterable[str]) -> Iterator[list[Span]]:
        """The spans of each text, in order. Some read several texts at a time."""


class OneByOne(ABC):
    """A backend that reads its texts one at a time in `stream`."""

    @abstractmethod
    def predict(self, texts: Sequence[str]) -> list[list[Span]]:
        """The spans of each text."""

    def stream(self, texts: Iterable[str]) -> Iterator[list[Span]]:
        """The spans of each text, one text at a time."""
        return (self.predict([text])[0] for text in texts)


def each_alone(
    together: Callable[[], Sequence[R]],
    alone: Callable[[T], R],
    items: Sequence[T],
    stop: type[Exception] | tuple[()] = (),
) -> list[R | BackendError]:
    """What `together` finds for all items, or if that fails, what `alone` finds for each, or the error of its own.

    So one text doesn't lose the others. Passes on `stop`, and permanent errors, since with those every text would fail.
    """
    found = _found(together, stop)
    if isinstance(found, BackendError) or len(found) != len(items):
        return [_found(partial(alone, item), stop) for item in items]
    return [*found]


def _found(act: Callable[[], R], stop: type[Exception] | tuple[()]) -> R | BackendError:
    try:
        return act()
    except stop:
        raise
    except Exception as error:
        if isinstance(error, BackendError):
            if error.permanent:
                raise
            return error
        # The error's own message could quote the text.
        return BackendError("The backend failed ({error}).", type(error).__name__, permanent=False)


def not_installed(error: ImportError) -> BackendError:
    """The error for a missing library."""
    library = (error.name or "").partition(".")[0]
    if not library:
        return BackendError("A library is not installed on this worker. Run “make setup-models” there.")
    return BackendError("The library “{name}” is not installed on this worker. Run “make setup-models” there.", library)


@runtime_checkable
class OfPatients(Protocol):
    """A backend that knows patients: it needs the patient id of each note beside its text."""

    def predict_notes(self, notes: Sequence[tuple[str, str]]) -> list[list[Span]]:
        """The spans of each note, which is given as patient id and text."""


@dataclass(frozen=True, slots=True)
class RewrittenText:
    """A text that a model rewrote with placeholders, and what was recovered from it.

    `text`: the rewritten text; empty if the answer was no rewritten text. `unmapped`: spans whose placeholder is no
    label's; `Span.label` is the placeholder as written. `error`: why the spans could not be recovered, or empty.
    """

    text: str = ""
    spans: list[Span] = field(default_factory=list)
    unmapped: list[Span] = field(default_factory=list)
    error: str = ""


@runtime_checkable
class PredictsEach(Protocol):
    """A backend that returns an error per failed text, so that a failed batch need not be repeated note by note."""

    def predict_each(
        self, texts: Sequence[str], check: Callable[[], None] = lambda: None
    ) -> list[list[Span] | RewrittenText | BackendError]:
        """The spans of each text, or the rewritten text with its spans, or an error.

        Raises BackendError where every text would fail.
        `check` is called about every second. An exception from it ends the work and is passed on.
        """

    def predict(self, texts: Sequence[str]) -> list[list[Span]]:
        """The spans of each text. Raises the first error, if any."""
        found = []
        for result in self.predict_each(texts):
            if isinstance(result, RewrittenText):
                result = BackendError(result.error, permanent=False) if result.error else result.spans
            if isinstance(result, BackendError):
                raise result
            found.append(result)
        return found

    def stream(self, texts: Iterable[str]) -> Iterator[list[Span]]:
        """The spans of each text, in order; a few texts at a time."""
        for some in blocks(texts, budget_of(self).notes):
            yield from self.predict(some)


def blocks(
    items: Iterable[T], count: int, most: float = inf, size: Callable[[T], int] = lambda item: 0
) -> Iterator[list[T]]:
    """Consecutive items in groups of at most `count`, with a `size` of at most `most` together; at least one item."""
    block, total = list[T](), 0
    for item in items:
        if block and total + size(item) > most:
            yield block
            block, total = [], 0
        block.append(item)
        total += size(item)
        if len(block) == count:
            yield block
            block, total = [], 0
    if block:
        yield block


class Device(Protocol):
    """The device that a network computes on. `description` is a text for people."""

    @property
    def description(self) -> str: ...

    def memory(self) -> int:
        """Peak memory in bytes: of the tensors on a GPU, of the whole process on a CPU."""


@runtime_checkable
class OnDevice(Protocol):
    """A backend that computes on a GPU, if there is one."""

    @property
    def device(self) -> Device: ...


def budget_of(*backends: object) -> Budget:
    """The smallest budget of these backends; the default for a backend without one."""
    budgets: list[Budget] = [getattr(backend, "budget", Budget()) for backend in backends]
    return Budget(min(budget.notes for budget in budgets), min(budget.tokens for budget in budgets))


def load(dotted_path: str, **params: Any) -> Backend:
    """The backend `package.module.Class(**params)`, imported on first use; one object per path and parameters.

    `params` are plain JSON values. Raises BackendError (permanent) for an unusable path or parameters.
    """
    try:
        encoded = json.dumps(params, sort_keys=True)
    except TypeError:
        raise BackendError("The parameters of {backend} must be plain JSON values.", dotted_path) from None
    return _load(dotted_path, encoded)


@cache
def _load(dotted_path: str, encoded: str) -> Backend:
    module, _, attribute = dotted_path.rpartition(".")
    try:
        factory = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        if isinstance(error, ImportError) and not module.startswith(error.name or module):
            raise not_installed(error) from None
        raise BackendError("There is no backend “{backend}” ({error}).", dotted_path, error) from None
    try:
        # The type is only known at run time. The registry names classes that follow the Protocol.
        return cast(Backend, factory(**json.loads(encoded)))
    except TypeError as error:
        raise BackendError("{backend} doesn't accept these parameters ({error}).", dotted_path, error) from None
