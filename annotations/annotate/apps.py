from django.apps import AppConfig
from django.utils.translation import gettext_noop as _


class AnnotateConfig(AppConfig):
    name = "annotations.annotate"
    label = "annotate"

    def ready(self) -> None:
        from annotations.core import navigation
        from annotations.core.access import Can

        navigation.extend("notes", "annotate", "next_note")
        navigation.working("annotate")
        navigation.register(navigation.Entry("account", 10, _("My keys"), "keys", Can.ANNOTATE))

        from annotations.annotate import overview

        overview.register()
