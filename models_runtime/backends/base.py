"""What every backend is: a small Protocol, its one error, and loading by dotted path.

A backend turns texts into spans. It knows neither Django nor the queue, so it can be tried, tested and timed alone.
"""

import importlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol, cast, runtime_checkable

from annotations.domain.spans import Span


class BackendError(Exception):
    """A backend can't do what it was asked. `permanent`: trying the same again can't help.

    The message is for people and logs: it names settings and choices, never text of a note.
    """

    def __init__(self, message: str, *, permanent: bool) -> None:
        super().__init__(message)
        self.permanent = permanent


@dataclass(frozen=True, slots=True)
class Budget:
    """How much a backend takes at once: a batch ends at so many notes or estimated tokens, and has one note at least.

    Memory stays flat by it, and a worker that is lost takes little with it.
    """

    notes: int = 64
    tokens: int = 100_000


@runtime_checkable
class Backend(Protocol):
    """Proposes spans for texts.

    Offsets are code points, end-exclusive. The spans of a text are sorted, distinct, inside the text and free of white
    space at their ends; each carries its source (a rule id, a model's name) and a confidence from 0 to 1, or None.
    The same texts always give the same spans, in the order of the texts, without a network (but for a server that the
    administrator listed). Raises BackendError.
    A backend that takes more or less at once than others has a `budget` (Budget).
    """

    @property
    def name(self) -> str:
        """A short word for the kind of backend: `rules`."""

    @property
    def revision(self) -> str:
        """Changes whenever the output for some text could change: version, rules or weights, and parameters."""

    @property
    def label_set(self) -> str:
        """The key of the label set that the labels of the spans belong to."""

    @property
    def labels(self) -> tuple[str, ...]:
        """The codes of all labels that a span may carry, sorted."""

    def predict(self, texts: Sequence[str]) -> list[list[Span]]:
        """The spans of each text."""

    def stream(self, texts: Iterable[str]) -> Iterator[list[Span]]:
        """The same, one text at a time as they come, for long runs; never reads far ahead."""


def not_installed(error: ImportError) -> BackendError:
    """What to say, and to do, where a library is missing."""
    library = (error.name or "a library").partition(".")[0]
    return BackendError(
        f"{library} is not installed on this worker; install it with: make setup-models", permanent=True
    )


@runtime_checkable
class Apart(Protocol):
    """A backend whose notes fail apart from each other, without being read again one by one."""

    def predict_each(
        self, texts: Sequence[str], check: Callable[[], None] = lambda: None
    ) -> list[list[Span] | BackendError]:
        """The spans of each text, or what went wrong with it. Raises BackendError where none would fare better.

        `check` is called about every second; what it raises ends the reading, and comes out.
        """


class Place(Protocol):
    """Where a network computes. `words` are for people."""

    @property
    def words(self) -> str: ...

    def memory(self) -> int:
        """Bytes at most so far: on a GPU of its tensors, on a CPU of the whole process."""


@runtime_checkable
class OnDevice(Protocol):
    """A backend that computes on a GPU where there is one."""

    @property
    def device(self) -> Place: ...


def budget_of(*backends: object) -> Budget:
    """What these take at once: what each says, or what most do; of several the least."""
    budgets: list[Budget] = [getattr(backend, "budget", Budget()) for backend in backends]
    return Budget(min(budget.notes for budget in budgets), min(budget.tokens for budget in budgets))


def load(dotted_path: str, **params: Any) -> Backend:
    """The backend that `package.module.Class(**params)` makes, imported on first use; the same one for the same words.

    `params` are plain JSON values. Raises BackendError (permanent) for a path or parameters that can't be used.
    """
    try:
        words = json.dumps(params, sort_keys=True)
    except TypeError:
        raise BackendError(f"the parameters of {dotted_path} must be plain JSON values", permanent=True) from None
    return _load(dotted_path, words)


@cache
def _load(dotted_path: str, words: str) -> Backend:
    module, _, attribute = dotted_path.rpartition(".")
    try:
        factory = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        if isinstance(error, ImportError) and not module.startswith(error.name or module):
            raise not_installed(error) from None
        raise BackendError(f"there is no backend {dotted_path!r} ({error})", permanent=True) from None
    try:
        return cast(Backend, factory(**json.loads(words)))
    except TypeError as error:
        raise BackendError(f"{dotted_path} doesn't take these parameters: {error}", permanent=True) from None
