from django.apps import AppConfig


class AnnotateConfig(AppConfig):
    name = "annotations.annotate"
    label = "annotate"

    def ready(self) -> None:
        from annotations.core import navigation

        navigation.extend("notes", "annotate", "next_note")

        from annotations.annotate import overview

        overview.register()
