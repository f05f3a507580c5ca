"""Tags of a model from elsewhere in the words of a label set: any of BIO, IO, BIOES, BILOU."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from annotations.domain.tag_names import mark_and_label
from models_runtime.backends.base import BackendError
from models_runtime.backends.neural.tags import Tags

_MARKS: Final = {"B": "B", "U": "B", "S": "B", "I": "I", "L": "I", "E": "I", "M": "I"}
# Without marks a run of one label is one span: going on is better than beginning anew, by very little.
LITTLE: Final = 1e-3


class Columns:
    """The map from a model's columns to those of `tags`. Its `labels` are their labels and what each is here.

    None: their label is nothing personal, its probability goes to `O`. Raises BackendError (permanent) where a label of
    theirs has no entry, or an entry no label of theirs.
    """

    def __init__(self, names: Sequence[str], labels: Mapping[str, str | None]) -> None:
        read = [_read(name) for name in names]
        theirs = {label for _, label in read if label}
        if missing := sorted(theirs - set(labels)):
            raise BackendError(f"labels of the model without a counterpart: {', '.join(missing)}", permanent=True)
        if unknown := sorted(set(labels) - theirs):
            raise BackendError(f"the model has no labels {', '.join(unknown)}", permanent=True)
        self.tags = Tags.of(sorted({label for label in labels.values() if label}))
        self._from: list[list[tuple[int, float]]] = [[] for _ in self.tags.names]
        for column, (mark, label) in enumerate(read):
            ours = labels[label] if label else None
            if ours is None:
                self._from[0].append((column, 0.0))
            elif mark:
                self._from[self.tags.number(f"{_MARKS[mark]}-{ours}")].append((column, 0.0))
            else:
                self._from[self.tags.number(f"I-{ours}")].append((column, 0.0))
                self._from[self.tags.number(f"B-{ours}")].append((column, -LITTLE))

    def __call__(self, scores: Any) -> Any:
        """Log-probabilities [pieces, their tags] as [pieces, our tags]."""
        return np.stack([_sum(scores, columns) for columns in self._from], axis=1)


def _read(name: str) -> tuple[str, str]:
    try:
        return mark_and_label(name)
    except ValueError as error:
        raise BackendError(f"its configuration names {error}", permanent=True) from None


def _sum(scores: Any, columns: Sequence[tuple[int, float]]) -> Any:
    if not columns:
        return np.full(len(scores), -np.inf, dtype=np.float32)
    return np.logaddexp.reduce([scores[:, column] + shift for column, shift in columns], axis=0)
