from django.apps import AppConfig


class OpsConfig(AppConfig):
    name = "models_runtime.ops"
    label = "models_ops"

    def ready(self) -> None:
        from annotations.ops.selectors import free_texts
        from models_runtime.ops.services.free_texts import worded

        free_texts.SOURCES.append(worded)
