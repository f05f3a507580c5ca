from django.apps import AppConfig
from django.utils.translation import gettext_noop as _


class JudgingConfig(AppConfig):
    name = "models_runtime.refining"
    label = "models_judging"

    def ready(self) -> None:
        from annotations.core.access import Can
        from annotations.core.api import registry
        from annotations.jobs.registry import JobKind, register

        register(
            {
                "judge": JobKind(
                    title=_("Judges"),
                    handler="models_runtime.refining.jobs.judging.run",
                    right=Can.MANAGE,
                    result="judging/result.html",
                    unit=_("answers"),
                    queue="llm",
                    redo="models_runtime.refining.jobs.judging.ready_again",
                    can_pause=True,
                ),
            }
        )

        from annotations.core import navigation, offers

        navigation.register(
            navigation.Entry(
                "gold",
                40,
                _("Judges"),
                "judgings",
                Can.READ_NOTES,
                frozenset({"judge", "judging", "judging_entities"}),
            ),
        )
        offers.offer("scores.actions", "judging/offers/scores.html", position=20)
        offers.offer("score.actions", "judging/offers/score.html")
        registry.register("models_runtime.refining.api.judging.router")
