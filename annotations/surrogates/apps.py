from django.apps import AppConfig
from django.utils.translation import gettext_noop as _


class SurrogatesConfig(AppConfig):
    name = "annotations.surrogates"
    label = "surrogates"

    def ready(self) -> None:
        from annotations.api import registry
        from annotations.core import navigation
        from annotations.core.access import Can
        from annotations.core.hooks import patient_erased
        from annotations.surrogates.services.erasing import forget_notes

        registry.register("annotations.surrogates.api.router")
        patient_erased.add(forget_notes)
        navigation.register(
            navigation.Entry("release", 40, _("Surrogates"), "surrogates", Can.RELEASE, frozenset({"surrogate"}))
        )
