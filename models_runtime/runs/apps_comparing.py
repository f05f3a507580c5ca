from django.apps import AppConfig
from django.utils.translation import gettext_noop as _


class ComparingConfig(AppConfig):
    name = "models_runtime.runs"
    label = "models_comparing"

    def ready(self) -> None:
        from annotations.core.access import Can
        from annotations.core.api import registry
        from annotations.jobs.registry import JobKind, register

        register(
            {
                "compare": JobKind(
                    title=_("Comparison"),
                    handler="models_runtime.runs.jobs.comparing.run",
                    right=Can.READ_NOTES,
                    result="comparing/result.html",
                ),
            }
        )
        from annotations.core import navigation, offers

        navigation.register(
            navigation.Entry(
                "models", 50, _("Compare"), "runs_compare", Can.READ_NOTES, frozenset({"compare_spans", "strategies"})
            ),
        )
        offers.offer("scores.actions", "comparing/offers/scores.html", position=10)
        offers.offer("runs.actions", "comparing/offers/runs.html")
        registry.register("models_runtime.runs.api.comparing.router")
