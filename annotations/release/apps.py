from django.apps import AppConfig
from django.utils.translation import gettext_noop as _


class ReleaseConfig(AppConfig):
    name = "annotations.release"
    label = "release"

    def ready(self) -> None:
        from annotations.core import navigation

        navigation.add_group(navigation.Group("release", _("Release"), 85))
