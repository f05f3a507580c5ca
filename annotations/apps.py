from django.apps import AppConfig


class AnnotationsConfig(AppConfig):
    name = "annotations"
    verbose_name = "Annotations"

    def ready(self) -> None:
        from django.utils.translation import gettext

        from annotations.text import wording

        wording.speak_with(gettext)
