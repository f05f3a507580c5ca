from django.apps import AppConfig
from django.utils.translation import gettext_noop as _


class AgreementConfig(AppConfig):
    name = "annotations.agreement"
    label = "agreement"

    def ready(self) -> None:
        from annotations.agreement.selectors.adjudication.counts import notes_left
        from annotations.agreement.services.comparing import bring_up_to_date
        from annotations.core import addresses, navigation, offers
        from annotations.core.access import Can
        from annotations.core.hooks import disagreements_shown
        from annotations.jobs.registry import JobKind, register

        register(
            {
                "agreement": JobKind(
                    title=_("Agreement"),
                    handler="annotations.agreement.jobs.run",
                    right=Can.READ_NOTES,
                    result="agreement/result.html",
                ),
            }
        )
        disagreements_shown.add(bring_up_to_date)
        navigation.add_group(navigation.NavigationGroup("agreement", _("Agreement"), 40))
        navigation.register(
            navigation.Entry("agreement", 10, _("Figures"), "agreement", Can.READ_NOTES),
            navigation.Entry(
                "agreement",
                20,
                _("Disagreements"),
                "disagreements",
                Can.READ_NOTES,
                frozenset({"disagreement_talk", "disagreement_sentences"}),
            ),
            navigation.Entry("guidelines", 20, _("Amendments"), "amendments", Can.SEE_PROJECT, frozenset({"amend"})),
        )
        offers.offer("guidelines.actions", "agreement/offers/guidelines.html")
        register(
            {
                "majority": JobKind(
                    title=_("Majority vote"),
                    handler="annotations.agreement.jobs.run_vote",
                    right=Can.MAKE_GOLD,
                    result="agreement/adjudicate/majority_result.html",
                    can_pause=True,
                ),
                "majority_undo": JobKind(
                    title=_("Undo of a majority vote"),
                    handler="annotations.agreement.jobs.undo_vote",
                    right=Can.MAKE_GOLD,
                    result="agreement/adjudicate/majority_undo_result.html",
                    can_pause=True,
                ),
            }
        )
        navigation.add_group(navigation.NavigationGroup("adjudicate", _("Adjudicate"), 50, counter=notes_left))
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
        offers.offer("gold.disputed", "agreement/adjudicate/offers/gold_disputed.html")
        offers.offer("note.anonymous", "agreement/adjudicate/offers/anonymous_note.html")
