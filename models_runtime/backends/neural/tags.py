"""BIO tags as numbers, and the best path of valid tags."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from annotations.text.bio import OUTSIDE, split_tag

NEVER = -1e4
"""The score of a barred transition. It rules out a path, and fits into half precision."""


@dataclass(frozen=True)
class Tags:
    """The tags: `O` first, then `B-` and `I-` of each label, in the order of the labels."""

    names: tuple[str, ...]

    @classmethod
    def of(cls, labels: Sequence[str]) -> "Tags":
        return cls((OUTSIDE, *(f"{prefix}-{label}" for label in labels for prefix in "BI")))

    def __len__(self) -> int:
        return len(self.names)

    def number(self, tag: str) -> int:
        return self.names.index(tag)

    def barred(self, score: float = NEVER) -> tuple[Any, Any]:
        """Scores to add for the first tag [tags] and for transitions [from, to].

        `I-X` only follows `B-X` and `I-X`. `score` is added where it doesn't.
        """
        tags = [split_tag(name) for name in self.names]
        first = np.array([score if prefix == "I" else 0.0 for prefix, _ in tags], dtype=np.float32)
        steps = np.zeros((len(tags), len(tags)), dtype=np.float32)
        for to, (prefix, label) in enumerate(tags):
            if prefix == "I":
                steps[[at for at, (before, other) in enumerate(tags) if before == OUTSIDE or other != label], to] = (
                    score
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
