from django.apps import AppConfig
from django.utils.translation import gettext_noop as _


class CalibrationConfig(AppConfig):
    name = "models_runtime.training"
    label = "models_calibration"

    def ready(self) -> None:
        from annotations.core.access import Can
        from annotations.core.api import registry
        from annotations.jobs.registry import JobKind, register

        register(
            {
                "calibrate": JobKind(
                    title=_("Calibration"),
                    handler="models_runtime.training.jobs.calibration.run",
                    right=Can.MANAGE,
                    result="calibration/result.html",
                    can_retry=True,
                ),
            }
        )
        registry.register("models_runtime.training.api.calibration.router")
