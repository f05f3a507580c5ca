from django.apps import AppConfig


class DeidreviewConfig(AppConfig):
    name = "deidreview"

    def ready(self) -> None:
        from deidreview import checks  # noqa: F401 - registers them
