from django.apps import AppConfig
from django.utils.translation import gettext_noop as _


class GoldConfig(AppConfig):
    name = "annotations.gold"
    label = "gold"

    def ready(self) -> None:
        from annotations.core.access import Can
        from annotations.jobs.registry import JobKind, register

        register(
            {
                "gold": JobKind(
                    title=_("Make gold"),
                    handler="annotations.gold.jobs.run",
                    right=Can.MAKE_GOLD,
                    result="gold/result.html",
                    can_pause=True,
                ),
            }
        )

        from annotations.core import navigation

        navigation.register(
            navigation.Entry(130, _("Gold"), "gold", Can.READ_NOTES, frozenset({"gold_version", "gold_changes"})),
        )

        from annotations.gold import overview

        overview.register()
