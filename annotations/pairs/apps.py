from django.apps import AppConfig
from django.utils.translation import gettext_noop as _


class PairsConfig(AppConfig):
    name = "annotations.pairs"

    def ready(self) -> None:
        from annotations.core import navigation, offers
        from annotations.core.access import Can
        from annotations.core.hooks import patient_erased
        from annotations.jobs.registry import JobKind, register

        register(
            {
                "pairs": JobKind(
                    title=_("Pair decisions"),
                    handler="annotations.pairs.jobs.run",
                    right=Can.MANAGE,
                    unit=_("texts"),
                    undo="annotations.pairs.jobs.undo",
                    can_pause=True,
                    # A canceled or failed job deletes its pile.
                    can_retry=False,
                    result="pairs/result.html",
                )
            }
        )
        patient_erased.add("annotations.pairs.services.erasing.erase_published")
        navigation.extend("import", "pairs")
        offers.offer("import.actions", "pairs/offers/import.html")
