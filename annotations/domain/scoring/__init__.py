"""Scores of predicted spans against gold: DOMAIN's section on scoring, each figure with what it counts.

`Scorer` takes note by note and gives a `ScoreTable`. Spans may overlap, nest and touch on either side; offsets are code
points, end-exclusive.
"""

from annotations.domain.scoring.mapping import LabelMapping, MappingError
from annotations.domain.scoring.rates import Rates
from annotations.domain.scoring.scorer import Scorer
from annotations.domain.scoring.table import ScoreTable

__all__ = ["LabelMapping", "MappingError", "Rates", "ScoreTable", "Scorer"]
