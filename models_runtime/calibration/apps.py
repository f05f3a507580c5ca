from django.apps import AppConfig


class CalibrationConfig(AppConfig):
    name = "models_runtime.calibration"
    label = "models_calibration"
