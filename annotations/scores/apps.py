from django.apps import AppConfig


class ScoresConfig(AppConfig):
    name = "annotations.scores"
    label = "scores"
