from django.apps import AppConfig


class BulkConfig(AppConfig):
    name = "models_runtime.runs"
    label = "models_bulk"
