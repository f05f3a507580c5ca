from django.apps import AppConfig


class LoopConfig(AppConfig):
    name = "models_runtime.loop"
    label = "models_loop"
