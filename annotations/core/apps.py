from django.apps import AppConfig
from django.utils.module_loading import autodiscover_modules


class CoreConfig(AppConfig):
    name = "annotations.core"
    label = "core"

    def ready(self) -> None:
        from annotations.core.api.kept_answers import empty_answers
        from annotations.core.hooks import patient_erased

        # Importing a feature's verbs, and its parts of a project's overview, registers them.
        autodiscover_modules("events", "overview")
        patient_erased.add(empty_answers)
