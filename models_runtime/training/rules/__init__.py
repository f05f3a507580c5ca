"""Calibration: of suggestions with a calibrated confidence of 0.9, nine in ten should be right.

`Outcomes` counts a backend's suggestions by label, confidence and whether gold has the same span. `fitted` turns the
counts into `Curves`, one for each label, and measures the reliability of the confidences before and after calibration.
"""

from models_runtime.training.rules.carried import BadCalibration, Carried, as_text, from_text
from models_runtime.training.rules.curves import LEAST, LEAST_OWN, Curve, Curves, TooFew, fitted
from models_runtime.training.rules.reliability import FOLDS, ConfidenceBin, Outcomes, Reliability, fold_of

__all__ = [
    "FOLDS",
    "LEAST",
    "LEAST_OWN",
    "BadCalibration",
    "Carried",
    "ConfidenceBin",
    "Curve",
    "Curves",
    "Outcomes",
    "Reliability",
    "TooFew",
    "as_text",
    "fitted",
    "fold_of",
    "from_text",
]
