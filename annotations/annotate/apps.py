from django.apps import AppConfig


class AnnotateConfig(AppConfig):
    name = "annotations.annotate"
    label = "annotate"
