from django.apps import AppConfig


class OpsConfig(AppConfig):
    name = "models_runtime.ops"
    label = "models_ops"

    def ready(self) -> None:
        from annotations.ops.selectors.free_texts import more_texts
        from models_runtime.ops.services.free_texts import free_texts

        more_texts.add(free_texts)
