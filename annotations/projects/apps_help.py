from django.apps import AppConfig


class HelpConfig(AppConfig):
    name = "annotations.projects"
    label = "help"

    def ready(self) -> None:
        from annotations.core import offers

        offers.offer("frame.account", "help/offers/link.html")
