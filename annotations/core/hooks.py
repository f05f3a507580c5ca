"""What lower features announce and higher ones answer, in the same transaction. They register in AppConfig.ready()."""

from collections.abc import Callable


class Hook:
    """Functions that are called with the same keywords, in the order in which they registered."""

    def __init__(self) -> None:
        self._answers: list[Callable[..., object]] = []

    def add(self, answer: Callable[..., object]) -> None:
        self._answers.append(answer)

    def __call__(self, **about: object) -> None:
        for answer in self._answers:
            answer(**about)


# A whole annotation set `source` becomes the gold of `document` by `actor`.
gold_replaced = Hook()
