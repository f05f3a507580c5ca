from django.apps import AppConfig


class CoreConfig(AppConfig):
    name = "models_runtime.core"
    label = "models_core"
