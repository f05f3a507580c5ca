"""Events of calibrating backends."""

from typing import TypedDict

from django.utils.translation import gettext_lazy as _

from annotations.core.events import Verb


class CalibrationWithdrawn(TypedDict):
    backend: str
    calibration: int


class Calibrated(CalibrationWithdrawn):
    gold: int


CALIBRATED = Verb[Calibrated]("backend.calibrated", _("calibrated a backend"))
CALIBRATION_WITHDRAWN = Verb[CalibrationWithdrawn]("calibration.withdrawn", _("withdrew a calibration"))
