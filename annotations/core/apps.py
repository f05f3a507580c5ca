from django.apps import AppConfig
from django.utils.module_loading import autodiscover_modules


class CoreConfig(AppConfig):
    name = "annotations.core"
    label = "core"

    def ready(self) -> None:
        # Importing a feature's verbs registers them.
        autodiscover_modules("events")
