from django.apps import AppConfig


class ModelsRuntimeConfig(AppConfig):
    name = "models_runtime"
    verbose_name = "Models and jobs"
