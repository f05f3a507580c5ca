from django.apps import AppConfig


class JudgingConfig(AppConfig):
    name = "models_runtime.judging"
    label = "models_judging"
