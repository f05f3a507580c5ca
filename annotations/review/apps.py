from django.apps import AppConfig


class ReviewConfig(AppConfig):
    name = "annotations.review"
    label = "review"
