from django.apps import AppConfig


class SurrogatesConfig(AppConfig):
    name = "annotations.surrogates"
    label = "surrogates"

    def ready(self) -> None:
        pass
