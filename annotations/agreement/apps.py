from django.apps import AppConfig
from django.utils.translation import gettext_noop as _


class AgreementConfig(AppConfig):
    name = "annotations.agreement"
    label = "agreement"

    def ready(self) -> None:
        from annotations.core.access import Can
        from annotations.core.api import registry
        from annotations.jobs.registry import JobKind, register

        for module in ("figures", "disagreements", "amendments"):
            registry.register(f"annotations.agreement.api.{module}.router")
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

        from annotations.agreement.services.comparing import bring_up_to_date
        from annotations.core.hooks import disagreements_shown

        disagreements_shown.add(bring_up_to_date)

        from annotations.core import navigation, offers

        navigation.add_group(navigation.Group("agreement", _("Agreement"), 40))
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

        from annotations.agreement import overview

        overview.register()
