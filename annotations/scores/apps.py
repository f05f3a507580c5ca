from django.apps import AppConfig
from django.utils.translation import gettext_noop as _


class ScoresConfig(AppConfig):
    name = "annotations.scores"

    def ready(self) -> None:
        from annotations.core.access import Can
        from annotations.jobs.registry import JobKind, register

        register(
            {
                "score": JobKind(
                    _("Score"),
                    "annotations.scores.services.scoring.run_score",
                    Can.READ_NOTES,
                    result="scores/result.html",
                )
            }
        )

        from annotations.core import navigation, offers

        navigation.register(
            navigation.Entry("gold", 30, _("Scores"), "scores", Can.READ_NOTES, frozenset({"score", "score_errors"}))
        )
        offers.offer("gold_version.actions", "scores/offers/gold_version.html", position=10)
