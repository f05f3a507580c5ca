from django.apps import AppConfig


class AdjudicateConfig(AppConfig):
    name = "annotations.adjudicate"
    label = "adjudicate"
