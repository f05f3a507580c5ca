from django.apps import AppConfig
from django.utils.translation import gettext_noop as _


class RefiningConfig(AppConfig):
    name = "models_runtime.refining"
    label = "models_refining"

    def ready(self) -> None:
        from annotations.core.access import Can
        from annotations.jobs.registry import JobKind, register

        register(
            {
                "refine": JobKind(
                    title=_("Refinement"),
                    handler="models_runtime.refining.jobs.run",
                    right=Can.MANAGE,
                    can_pause=True,
                ),
            }
        )

        from annotations.core import proposed_removals
        from models_runtime.refining.selectors import removed

        proposed_removals.register(removed)
