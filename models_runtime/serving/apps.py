from django.apps import AppConfig


class ServingConfig(AppConfig):
    name = "models_runtime.serving"
    label = "models_serving"
