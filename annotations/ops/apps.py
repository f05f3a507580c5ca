from django.apps import AppConfig


class OpsConfig(AppConfig):
    name = "annotations.ops"
    label = "ops"
