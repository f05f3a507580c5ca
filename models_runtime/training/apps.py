from django.apps import AppConfig


class TrainingConfig(AppConfig):
    name = "models_runtime.training"
    label = "models_training"
