from django.apps import AppConfig
from django.utils.translation import gettext_noop as _


class InjectingConfig(AppConfig):
    name = "models_runtime.refining"
    label = "models_injecting"

    def ready(self) -> None:
        from annotations.core import navigation, offers
        from annotations.core.access import Can
        from annotations.core.api import registry
        from annotations.core.hooks import patient_erased
        from annotations.jobs.registry import JobKind, register
        from models_runtime.refining.services.injecting.systemic import forget_terms

        patient_erased.add(forget_terms)
        register(
            {
                "inject": JobKind(
                    title=_("Injection of errors"),
                    handler="models_runtime.refining.jobs.injecting.run",
                    right=Can.MANAGE,
                    result="injecting/result.html",
                ),
            }
        )
        navigation.register(
            navigation.Entry(
                "models",
                70,
                _("Injected errors"),
                "injections",
                Can.MANAGE,
                frozenset({"injection", "injected_errors", "systemic_errors"}),
            ),
        )
        offers.offer("runs.actions", "injecting/offers/runs.html", position=20)
        for module in ("injections", "systemic"):
            registry.register(f"models_runtime.refining.api.{module}.router")
