"""Events of trained and uploaded models."""

from typing import TypedDict

from django.utils.translation import gettext_lazy as _

from annotations.core.services import Verb


class ModelTrained(TypedDict):
    model: int
    gold: int
    algorithm: str


class ModelUploaded(TypedDict):
    model: int
    sha256: str
    size: int
    calibrations: int


class OfModel(TypedDict):
    model: int


class CalibrationsUploaded(OfModel):
    """`calibrations`: how many were new."""

    calibrations: int


class GoldLent(TypedDict):
    """`borrower`: the id of the project in which the model is trained."""

    gold: int
    borrower: int


MODEL_TRAINED = Verb[ModelTrained]("model.trained", _("trained a model"))
GOLD_LENT = Verb[GoldLent]("gold.lent", _("trained a model of another project on gold"))
MODEL_UPLOADED = Verb[ModelUploaded]("model.uploaded", _("uploaded a model"))
CALIBRATIONS_UPLOADED = Verb[CalibrationsUploaded]("model.calibrated", _("uploaded calibrations of a model"))
MODEL_RENAMED = Verb[OfModel]("model.renamed", _("renamed a model"))
MODEL_RETIRED = Verb[OfModel]("model.retired", _("retired a model"))


# Events of calibrating backends.


class CalibrationWithdrawn(TypedDict):
    backend: str
    calibration: int


class CalibrationMade(CalibrationWithdrawn):
    gold: int


CALIBRATED = Verb[CalibrationMade]("backend.calibrated", _("calibrated a backend"))
CALIBRATION_WITHDRAWN = Verb[CalibrationWithdrawn]("calibration.withdrawn", _("withdrew a calibration"))
