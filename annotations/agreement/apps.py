from django.apps import AppConfig
from django.utils.translation import gettext_noop as _


class AgreementConfig(AppConfig):
    name = "annotations.agreement"
    label = "agreement"

    def ready(self) -> None:
        from annotations.core.access import Can
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

        from annotations.core import navigation

        navigation.register(
            navigation.Entry(
                80, _("Agreement"), "agreement", Can.READ_NOTES, frozenset({"disagreements", "disagreement_talk"})
            ),
        )
        navigation.extend("guidelines", "amendments", "amend")

        from annotations.agreement import overview

        overview.register()
