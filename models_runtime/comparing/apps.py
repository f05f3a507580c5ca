from django.apps import AppConfig


class ComparingConfig(AppConfig):
    name = "models_runtime.comparing"
    label = "models_comparing"
