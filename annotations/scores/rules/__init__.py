"""Scores of predicted spans against gold.

`Scorer` counts note by note and returns `TableData`. Spans may overlap, nest and touch, in gold and in predictions.
Offsets are code points, end-exclusive.
"""

from annotations.scores.rules.rates import Rates
from annotations.scores.rules.scorer import Scorer

__all__ = ["Rates", "Scorer"]
