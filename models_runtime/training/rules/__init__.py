"""Calibration: of suggestions with a calibrated confidence of 0.9, nine in ten should be right.

`Outcomes` counts a backend's suggestions by label, confidence and whether gold has the same span. `fitted` turns the
counts into `Curves`, one for each label, and measures the reliability of the confidences before and after calibration.
"""
