from django.apps import AppConfig


class GoldConfig(AppConfig):
    name = "annotations.gold"
    label = "gold"
