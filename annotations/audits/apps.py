from django.apps import AppConfig


class AuditsConfig(AppConfig):
    name = "annotations.audits"
    label = "audits"

    def ready(self) -> None:
        pass
