from django.apps import AppConfig


class OpsConfig(AppConfig):
    name = "models_runtime.ops"
    label = "models_ops"

    def ready(self) -> None:
        from annotations.ops.selectors.free_texts import more_texts
        from annotations.ops.selectors.kept_weights import more_weights
        from models_runtime.ops.services.free_texts import free_texts, kept_weights

        more_texts.add(free_texts)
        more_weights.add(kept_weights)
