from django.apps import AppConfig
from django.utils.translation import gettext_noop as _


class AgreementConfig(AppConfig):
    name = "annotations.agreement"

    def ready(self) -> None:
        from annotations.core import addresses, navigation, offers
        from annotations.core.access import Can
        from annotations.core.hooks import disagreements_shown
        from annotations.jobs.registry import JobKind, register

        def vote(title: str, handler: str, result: str) -> JobKind:
            handler = f"annotations.agreement.services.majority.{handler}"
            return JobKind(title, handler, Can.MAKE_GOLD, result=result, can_pause=True)

        register(
            {
                "agreement": JobKind(
                    _("Agreement"),
                    "annotations.agreement.services.figures.run",
                    Can.READ_NOTES,
                    result="agreement/result.html",
                ),
                "comparison": JobKind(
                    _("Comparison of annotators"),
                    "annotations.agreement.services.comparing.run",
                    Can.READ_NOTES,
                    result="agreement/result.html",
                ),
                "majority": vote(_("Majority vote"), "run_vote", "agreement/adjudicate/majority_result.html"),
                "majority_undo": vote(
                    _("Undo of a majority vote"), "undo_vote", "agreement/adjudicate/majority_undo_result.html"
                ),
            }
        )
        disagreements_shown.add("annotations.agreement.services.comparing.compare_few")
        entry, disagreements = navigation.Entry, frozenset({"disagreement_talk", "disagreement_sentences"})
        navigation.add_group(navigation.NavigationGroup("agreement", _("Agreement"), 40))
        left = "annotations.agreement.selectors.adjudications.notes_left"
        navigation.add_group(navigation.NavigationGroup("adjudicate", _("Adjudicate"), 50, counter=left))
        navigation.register(
            entry("agreement", 10, _("Figures"), "agreement", Can.READ_NOTES),
            entry("agreement", 20, _("Disagreements"), "disagreements", Can.READ_NOTES, disagreements),
            entry("guidelines", 20, _("Amendments"), "amendments", Can.SEE_PROJECT, frozenset({"amend"})),
            entry(
                "adjudicate", 10, _("By note"), "adjudications", Can.MAKE_GOLD,
                frozenset({"adjudicate", "adjudicate_next"}),
            ),
            entry("adjudicate", 20, _("By majority"), "majority", Can.MAKE_GOLD, frozenset({"majority_act"})),
        )  # fmt: skip
        navigation.fill_window("adjudicate")
        navigation.extend("notes", "outcome")
        addresses.register("note.outcome", "outcome")
        offers.offer("guidelines.actions", "agreement/offers/guidelines.html")
        offers.offer("gold.disputed", "agreement/adjudicate/offers/gold_disputed.html")
        offers.offer("note.anonymous", "agreement/adjudicate/offers/anonymous_note.html")
