"""BIO tags of a label set as numbers, and the best path among those that spell spans."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from annotations.domain.bio import OUTSIDE, split_tag

NEVER = -1e4
"""A score that no path survives, and that half precision still holds."""


@dataclass(frozen=True)
class Tags:
    """`names`: `O` first, then `B-` and `I-` of each label, in the order of the labels."""

    names: tuple[str, ...]

    @classmethod
    def of(cls, labels: Sequence[str]) -> "Tags":
        return cls((OUTSIDE, *(f"{mark}-{label}" for label in labels for mark in "BI")))

    def __len__(self) -> int:
        return len(self.names)

    def number(self, tag: str) -> int:
        return self.names.index(tag)

    def barred(self) -> tuple[Any, Any]:
        """Scores to add: a first tag's [tags], and a transition's [from, to]. `I-X` follows only `B-X` and `I-X`."""
        marks = [split_tag(name) for name in self.names]
        first = np.array([NEVER if mark == "I" else 0.0 for mark, _ in marks], dtype=np.float32)
        steps = np.zeros((len(marks), len(marks)), dtype=np.float32)
        for to, (mark, label) in enumerate(marks):
            if mark == "I":
                steps[[at for at, (before, other) in enumerate(marks) if before == OUTSIDE or other != label], to] = (
                    NEVER
                )
        return first, steps


def best_path(scores: Any, first: Any, steps: Any) -> list[int]:
    """Viterbi: the tags with the highest sum of `scores` [tokens, tags], `first` [tags] and `steps` [from, to]."""
    if not len(scores):
        return []
    total = scores[0] + first
    came = np.zeros(scores.shape, dtype=np.int32)
    for at in range(1, len(scores)):
        ways = total[:, None] + steps
        came[at] = ways.argmax(axis=0)
        total = ways.max(axis=0) + scores[at]
    path = [int(total.argmax())]
    for at in range(len(scores) - 1, 0, -1):
        path.append(int(came[at, path[-1]]))
    return path[::-1]
