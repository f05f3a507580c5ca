from django.apps import AppConfig


class LoopConfig(AppConfig):
    name = "models_runtime.loop"
    label = "models_loop"

    def ready(self) -> None:
        from annotations.core import navigation

        navigation.extend("gold", "loop")
