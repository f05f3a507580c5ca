from django.apps import AppConfig
from django.utils.translation import gettext_noop as _


class AdjudicateConfig(AppConfig):
    name = "annotations.agreement"
    label = "adjudicate"

    def ready(self) -> None:
        from annotations.agreement.selectors.adjudication.counts import notes_left
        from annotations.core import addresses, navigation, offers
        from annotations.core.access import Can
        from annotations.core.api import registry
        from annotations.jobs.registry import JobKind, register

        for module in ("lists", "desk", "majority"):
            registry.register(f"annotations.agreement.api.adjudication.{module}.router")
        register(
            {
                "majority": JobKind(
                    title=_("Majority vote"),
                    handler="annotations.agreement.jobs_adjudication.run",
                    right=Can.MAKE_GOLD,
                    result="adjudicate/majority_result.html",
                    can_pause=True,
                ),
                "majority_undo": JobKind(
                    title=_("Undo of a majority vote"),
                    handler="annotations.agreement.jobs_adjudication.undo",
                    right=Can.MAKE_GOLD,
                    result="adjudicate/majority_undo_result.html",
                    can_pause=True,
                ),
            }
        )
        navigation.add_group(navigation.Group("adjudicate", _("Adjudicate"), 50, counter=notes_left))
        navigation.register(
            navigation.Entry(
                "adjudicate",
                10,
                _("By note"),
                "adjudications",
                Can.MAKE_GOLD,
                frozenset({"adjudicate", "adjudicate_next"}),
            ),
            navigation.Entry(
                "adjudicate", 20, _("By majority"), "majority", Can.MAKE_GOLD, frozenset({"majority_act"})
            ),
        )
        navigation.working("adjudicate")
        navigation.extend("notes", "outcome")
        addresses.register("note.outcome", "outcome")
        offers.offer("disagreement.actions", "adjudicate/offers/disagreement.html")
        offers.offer("gold.disputed", "adjudicate/offers/gold_disputed.html")
        offers.offer("note.anonymous", "adjudicate/offers/anonymous_note.html")

        from annotations.agreement import overview_adjudication as overview

        overview.register()
