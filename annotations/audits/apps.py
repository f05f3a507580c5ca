from django.apps import AppConfig
from django.utils.translation import gettext_noop as _


class AuditsConfig(AppConfig):
    name = "annotations.audits"
    label = "audits"

    def ready(self) -> None:
        from annotations.api import registry
        from annotations.audits.services.erasing import count_erased
        from annotations.core import navigation, offers
        from annotations.core.access import Can
        from annotations.core.hooks import patient_erased

        registry.register("annotations.audits.api.router")
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

        from annotations.audits import overview

        overview.register()
