from django.apps import AppConfig


class CoreConfig(AppConfig):
    name = "models_runtime.core"
    label = "models_core"

    def ready(self) -> None:
        from annotations.jobs import hooks
        from models_runtime.core.abilities import report

        hooks.REPORTS.append(report)
