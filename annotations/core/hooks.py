"""What is announced, and answered in the same transaction unless it says otherwise: register in AppConfig.ready()."""

from collections.abc import Callable
from typing import Any


class Hook:
    """Functions that are called with the same keywords, in the order in which they registered."""

    def __init__(self) -> None:
        self._answers: list[Callable[..., Any]] = []

    def add(self, answer: Callable[..., Any]) -> None:
        self._answers.append(answer)

    def __call__(self, **about: object) -> list[Any]:
        return [answer(**about) for answer in self._answers]


# A patient's notes are being erased from `project`: what a feature made of them and keeps elsewhere goes as well.
patient_erased = Hook()
# Such an erasure in `project` is committed: files that were made of the notes go.
patient_gone = Hook()
# A whole annotation set `source` becomes the gold of `document` by `actor`.
gold_replaced = Hook()
