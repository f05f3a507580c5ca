from django.apps import AppConfig
from django.utils.translation import gettext_noop as _


class JobsConfig(AppConfig):
    name = "annotations.jobs"
    label = "jobs"

    def ready(self) -> None:
        from annotations.core import navigation
        from annotations.core.access import Can

        navigation.register(
            navigation.Entry(160, _("Jobs"), "jobs", Can.READ_NOTES, frozenset({"job"})),
        )

        from annotations.jobs import overview

        overview.register()
