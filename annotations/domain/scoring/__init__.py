"""Scores of predicted spans against gold.

`Scorer` counts note by note and returns a `ScoreTable`. Spans may overlap, nest and touch, in gold and in predictions.
Offsets are code points, end-exclusive.
"""

from annotations.domain.scoring.mapping import LabelMapping, MappingError
from annotations.domain.scoring.rates import Rates
from annotations.domain.scoring.scorer import Scorer
from annotations.domain.scoring.table import ScoreTable

__all__ = ["LabelMapping", "MappingError", "Rates", "ScoreTable", "Scorer"]
