from django.apps import AppConfig


class ApiConfig(AppConfig):
    name = "annotations.api"
    label = "api"

    def ready(self) -> None:
        from annotations.api.services.kept_answers import empty_answers
        from annotations.core import hooks, offers

        hooks.patient_erased.add(empty_answers)
        offers.offer("frame.account", "api/offers/tokens.html")
