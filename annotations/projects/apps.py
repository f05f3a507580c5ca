from django.apps import AppConfig
from django.utils.translation import gettext_noop as _


class ProjectsConfig(AppConfig):
    name = "annotations.projects"
    label = "projects"

    def ready(self) -> None:
        from annotations.core import navigation
        from annotations.core.access import Can

        navigation.register(
            navigation.Entry(10, _("Overview"), "project", Can.SEE_PROJECT),
            navigation.Entry(50, _("Labels"), "labels", Can.MANAGE, frozenset({"label_edit", "label_merge"})),
            navigation.Entry(70, _("Guidelines"), "guidelines", Can.SEE_PROJECT, frozenset({"guidelines_edit"})),
            navigation.Entry(170, _("Audit"), "audit", Can.SEE_AUDIT),
            navigation.Entry(180, _("Settings"), "project_settings", Can.MANAGE),
        )

        from annotations.projects import overview

        overview.register()
