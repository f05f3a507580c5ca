"""Calibration: what a backend calls 0.9 should be right nine times in ten.

`Outcomes` counts a backend's proposals by label, confidence and whether gold says the same; `fitted` makes a
`Curves` of them: one for each label, and how reliable the confidences are without and with it.
"""

from annotations.domain.calibration.curves import Curve
from annotations.domain.calibration.fitting import LEAST, LEAST_OWN, Curves, TooFew, fitted
from annotations.domain.calibration.outcomes import FOLDS, Outcomes, fold_of
from annotations.domain.calibration.reliability import Group, Reliability

__all__ = [
    "FOLDS",
    "LEAST",
    "LEAST_OWN",
    "Curve",
    "Curves",
    "Group",
    "Outcomes",
    "Reliability",
    "TooFew",
    "fitted",
    "fold_of",
]
