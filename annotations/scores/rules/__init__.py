"""Scores of predicted spans against gold.

`Scorer` counts note by note and returns a `ScoreTable`. Spans may overlap, nest and touch, in gold and in predictions.
Offsets are code points, end-exclusive.
"""

from annotations.scores.rules.rates import Rates
from annotations.scores.rules.scorer import Scorer
from annotations.scores.rules.table import ScoreTable
from annotations.text.labels import LabelMapping, MappingError

__all__ = ["LabelMapping", "MappingError", "Rates", "ScoreTable", "Scorer"]
