from django.apps import AppConfig
from django.utils.module_loading import autodiscover_modules


class CoreConfig(AppConfig):
    name = "annotations.core"

    def ready(self) -> None:
        from annotations.core.hooks import patient_erased

        # Importing a feature's verbs registers them.
        autodiscover_modules("events")
        patient_erased.add("annotations.core.api.answers.empty_answers")
