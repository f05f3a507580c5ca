from django.apps import AppConfig
from django.utils.translation import gettext_noop as _


class OpsConfig(AppConfig):
    name = "annotations.ops"
    label = "ops"

    def ready(self) -> None:
        from annotations.core import navigation, offers
        from annotations.core.access import Can
        from annotations.core.api import registry
        from annotations.jobs import hooks
        from annotations.ops.services.deleting import finish_deletions

        hooks.STEPS.append(finish_deletions)
        registry.register("annotations.ops.api.router")
        registry.register("annotations.ops.api.patients.router")
        navigation.register(navigation.Entry("project", 40, _("Patients"), "patients", Can.MANAGE))
        navigation.extend("project_settings", "project_delete")
        navigation.extend("notes", "note_delete")
        offers.offer("note.foot", "ops/offers/note.html")
        offers.offer("settings.sections", "ops/offers/settings.html")
        offers.offer("settings_archived.actions", "ops/offers/archived.html")
