from django.apps import AppConfig


class ApiConfig(AppConfig):
    name = "annotations.core.api"
    label = "api"

    def ready(self) -> None:
        from annotations.core import hooks, offers
        from annotations.core.api.kept_answers import empty_answers

        hooks.patient_erased.add(empty_answers)
        offers.offer("frame.account", "api/offers/tokens.html")
