from django.apps import AppConfig
from django.utils.translation import gettext_noop as _


class SurrogatesConfig(AppConfig):
    name = "annotations.release"
    label = "surrogates"

    def ready(self) -> None:
        from annotations.core import navigation
        from annotations.core.access import Can
        from annotations.core.api import registry
        from annotations.core.hooks import patient_erased
        from annotations.release.services.surrogates.erasing import forget_notes

        registry.register("annotations.release.api.surrogates.router")
        patient_erased.add(forget_notes)
        navigation.register(
            navigation.Entry("release", 40, _("Surrogates"), "surrogates", Can.RELEASE, frozenset({"surrogate"}))
        )
