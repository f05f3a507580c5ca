from django.apps import AppConfig


class RecordsConfig(AppConfig):
    name = "annotations.records"
    label = "records"
