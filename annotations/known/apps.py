from django.apps import AppConfig


class KnownConfig(AppConfig):
    name = "annotations.known"
    label = "known"

    def ready(self) -> None:
        pass
