from django.apps import AppConfig


class CoreConfig(AppConfig):
    name = "annotations.core"
    label = "core"
