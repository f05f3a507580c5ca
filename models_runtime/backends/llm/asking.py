"""What is asked of a language model and what comes back, whoever answers: a server, or a model in this process."""

import threading
from collections import Counter
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True)
class Question:
    """Two messages. `schema` is the JSON schema of the answer, None for plain text; no tools are ever offered."""

    system: str
    user: str
    most_tokens: int
    schema: dict[str, Any] | None = None


@dataclass(frozen=True)
class Answer:
    """What was said; `cut`: it ended because it was too long."""

    text: str
    cut: bool = False


class Completion(Protocol):
    """Answers questions, at temperature 0. Raises BackendError: permanent where no other question would fare better."""

    @property
    def at_once(self) -> int:
        """How many threads may ask at the same time."""

    def complete(self, question: Question) -> Answer: ...

    def stop(self) -> None:
        """Nothing more is wanted, of any thread: what waits to ask again ends with an error. There is no way back."""


class Meter:
    """Counts what a model cost and what was wrong with its answers; safe to use from many threads.

    This one forgets with its process: whoever pays overrides `record`, which is called with every answer.
    """

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._lock = threading.Lock()

    def add(self, **counts: int) -> None:
        with self._lock:
            self._counts.update({name: count for name, count in counts.items() if count})

    def take(self) -> dict[str, int]:
        """The counts since they were taken last."""
        with self._lock:
            counts, self._counts = self._counts, Counter()
        return dict(counts)

    def record(self) -> None:
        """Write down what was counted, where that is to outlive this process. Called in the caller's thread alone."""
