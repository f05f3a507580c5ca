from django.apps import AppConfig


class LoopConfig(AppConfig):
    name = "models_runtime.loop"
    label = "models_loop"

    def ready(self) -> None:
        from annotations.core import navigation, offers

        navigation.extend("gold", "loop")
        offers.offer("gold.actions", "loop/offers/gold.html")
        offers.offer("review.done", "loop/offers/review_done.html", position=10)
