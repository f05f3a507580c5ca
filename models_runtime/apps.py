from django.apps import AppConfig
from django.utils.translation import gettext_noop as _


class ModelsRuntimeConfig(AppConfig):
    name = "models_runtime"
    verbose_name = "Models and jobs"

    def ready(self) -> None:
        from annotations.core import navigation
        from annotations.core.hooks import heartbeats

        heartbeats.add("models_runtime.core.health.report")
        navigation.add_group(navigation.NavigationGroup("models", _("Models"), 70))
