from django.apps import AppConfig
from django.utils.translation import gettext_noop as _


class AdjudicateConfig(AppConfig):
    name = "annotations.adjudicate"
    label = "adjudicate"

    def ready(self) -> None:
        from annotations.adjudicate.selectors.counts import notes_left
        from annotations.core import navigation
        from annotations.core.access import Can

        navigation.add_group(navigation.Group("adjudicate", _("Adjudicate"), 50, counter=notes_left))
        navigation.register(
            navigation.Entry(
                "adjudicate",
                10,
                _("Adjudicate"),
                "adjudications",
                Can.MAKE_GOLD,
                frozenset({"adjudicate", "adjudicate_next"}),
            ),
        )
        navigation.working("adjudicate")
        navigation.extend("notes", "outcome")

        from annotations.adjudicate import overview

        overview.register()
