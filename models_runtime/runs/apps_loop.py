from django.apps import AppConfig
from django.utils.translation import gettext_noop as _


class LoopConfig(AppConfig):
    name = "models_runtime.runs"
    label = "models_loop"

    def ready(self) -> None:
        from annotations.core import navigation, offers
        from annotations.core.access import Can
        from annotations.core.api import registry

        navigation.register(
            navigation.Entry("models", 10, _("Loop"), "loop", Can.READ_NOTES, frozenset({"loop_freeze"}))
        )
        offers.offer("gold.actions", "loop/offers/gold.html", position=10)
        offers.offer("review.done", "loop/offers/review_done.html", position=10)
        offers.offer("models.actions", "loop/offers/models.html", position=10)
        registry.register("models_runtime.runs.api.loop.router")
