from django.apps import AppConfig


class JobsConfig(AppConfig):
    name = "annotations.jobs"
    label = "jobs"
