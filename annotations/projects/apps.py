from django.apps import AppConfig


class ProjectsConfig(AppConfig):
    name = "annotations.projects"
    label = "projects"
