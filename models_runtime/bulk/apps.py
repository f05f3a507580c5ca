from django.apps import AppConfig


class BulkConfig(AppConfig):
    name = "models_runtime.bulk"
    label = "models_bulk"
