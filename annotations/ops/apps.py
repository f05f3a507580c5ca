from django.apps import AppConfig
from django.utils.translation import gettext_noop as _


class OpsConfig(AppConfig):
    name = "annotations.ops"
    label = "ops"

    def ready(self) -> None:
        from annotations.core import navigation
        from annotations.core.access import Can

        navigation.register(navigation.Entry("project", 40, _("Patients"), "patients", Can.MANAGE))
