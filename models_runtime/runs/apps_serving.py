from django.apps import AppConfig


class ServingConfig(AppConfig):
    name = "models_runtime.runs"
    label = "models_serving"
