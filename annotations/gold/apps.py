from django.apps import AppConfig
from django.utils.translation import gettext_noop as _


class GoldConfig(AppConfig):
    name = "annotations.gold"

    def ready(self) -> None:
        from annotations.core.access import Can
        from annotations.jobs.registry import JobKind, register

        register(
            {
                "gold": JobKind(
                    _("Make gold"),
                    "annotations.gold.jobs.run",
                    Can.MAKE_GOLD,
                    result="gold/result.html",
                    can_pause=True,
                ),
                "corpus": JobKind(
                    _("Corpus statistics"),
                    "annotations.gold.jobs.count",
                    Can.READ_NOTES,
                    result="gold/statistics_result.html",
                ),
            }
        )

        from annotations.core import navigation, offers

        navigation.add_group(navigation.NavigationGroup("gold", _("Gold"), 80))
        versions = frozenset({"gold_version", "gold_changes", "gold_split"})
        navigation.register(
            navigation.Entry("gold", 10, _("Gold set"), "gold", Can.READ_NOTES),
            # The versions have no list of their own: they are a part of the page of the gold set.
            navigation.Entry("gold", 20, _("Versions"), "gold", Can.READ_NOTES, versions, fragment="versions-title"),
            navigation.Entry("gold", 25, _("Statistics"), "gold_statistics", Can.READ_NOTES),
        )
        offers.offer("note.gold", "gold/offers/note.html")
        navigation.SHORTCUTS += [
            navigation.Shortcut(_("Freeze gold"), "gold", Can.MAKE_GOLD, "freeze-title"),
            navigation.Shortcut(_("Make annotations gold"), "gold", Can.MAKE_GOLD, "bulk-title"),
        ]
