from django.apps import AppConfig
from django.utils.translation import gettext_noop as _


class AdjudicateConfig(AppConfig):
    name = "annotations.adjudicate"
    label = "adjudicate"

    def ready(self) -> None:
        from annotations.core import navigation
        from annotations.core.access import Can

        navigation.register(
            navigation.Entry(
                90, _("Adjudicate"), "adjudications", Can.MAKE_GOLD, frozenset({"adjudicate", "adjudicate_next"})
            ),
        )
        navigation.extend("notes", "outcome")

        from annotations.adjudicate import overview

        overview.register()
