"""Scores of predicted spans against gold.

`Scorer` counts note by note and returns `TableData`. Spans may overlap, nest and touch, in gold and in predictions.
Offsets are code points, end-exclusive. The modules are loaded when `Rates` or `Scorer` is first asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__all__ = ["Rates", "Scorer"]
if TYPE_CHECKING:
    from annotations.scores.rules.rates import Rates
    from annotations.scores.rules.scorer import Scorer
else:

    def __getattr__(name: str) -> Any:
        return getattr(import_module("annotations.scores.rules.scorer"), name)
