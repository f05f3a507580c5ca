from django.apps import AppConfig


class OpsConfig(AppConfig):
    name = "models_runtime.ops"
    label = "models_ops"
