from django.apps import AppConfig
from django.utils.translation import gettext_noop as _


class AuditsConfig(AppConfig):
    name = "annotations.release"
    label = "audits"

    def ready(self) -> None:
        from annotations.core import navigation, offers
        from annotations.core.access import Can
        from annotations.core.api import registry
        from annotations.core.hooks import patient_erased
        from annotations.release.services.audits.erasing import count_erased

        registry.register("annotations.release.api.audits.router")
        patient_erased.add(count_erased)
        navigation.register(
            navigation.Entry(
                "release",
                30,
                _("Audits"),
                "audits",
                Can.AUDIT_RELEASES,
                frozenset({"release_audit", "audit_read", "audit_leaks"}),
            )
        )
        offers.offer("release.sections", "audits/offers/release.html", position=10)

        from annotations.release import overview_audits as overview

        overview.register()
