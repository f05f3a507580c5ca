"""A backend for tests: labels every capital letter, and fails at special words."""

import time
from collections.abc import Iterable, Iterator, Sequence

from annotations.text.spans import Span
from models_runtime.backends.base import BackendError, Budget
from tests.worlds.gates import STEP, may_begin


class FakeBackend:
    name = "fake"

    def __init__(
        self, label_set: str, label: str = "PATIENT", slow: float = 0.0, revision: str = "1", gate: str = "",
        **budget: int,
    ) -> None:  # fmt: skip
        """With a gate, each text ends with its number."""
        self.label, self.slow, self.revision, self.budget = label, slow, revision, Budget(**budget)
        self.label_set, self.labels, self.gate = label_set, (label,), gate

    def predict(self, texts: Sequence[str]) -> list[list[Span]]:
        time.sleep(self.slow * len(texts))
        while self.gate and not may_begin(self.gate, int(texts[-1].split()[-1])):
            time.sleep(STEP)
        return [self._one(text) for text in texts]

    def stream(self, texts: Iterable[str]) -> Iterator[list[Span]]:
        for text in texts:
            yield self._one(text)

    def _one(self, text: str) -> list[Span]:
        if "EXPLODE" in text:
            raise RuntimeError(f"Can't read {text}.")
        if "REFUSE" in text:
            raise BackendError("this note is too strange", permanent=False)
        if "HOPELESS" in text:
            raise BackendError("the weights are gone")
        if "OUTSIDE" in text:
            return [Span(0, len(text) + 5, self.label)]
        return [Span(at, at + 1, self.label, 0.9, "capital") for at, ch in enumerate(text) if ch.isupper()]


class CityBackend(FakeBackend):
    """Labels capital letters as cities."""

    def __init__(self, label_set: str) -> None:
        super().__init__(label_set, label="CITY")
