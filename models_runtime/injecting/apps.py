from django.apps import AppConfig
from django.utils.translation import gettext_noop as _


class InjectingConfig(AppConfig):
    name = "models_runtime.injecting"
    label = "models_injecting"

    def ready(self) -> None:
        from annotations.core.access import Can
        from annotations.jobs.registry import JobKind, register

        register(
            {
                "inject": JobKind(
                    title=_("Injection of errors"),
                    handler="models_runtime.injecting.jobs.run",
                    right=Can.MANAGE,
                ),
            }
        )
