from django.apps import AppConfig


class RunsConfig(AppConfig):
    name = "models_runtime.runs"
    label = "models_runs"
