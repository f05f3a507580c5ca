from django.apps import AppConfig
from django.conf import settings


class ProvidersConfig(AppConfig):
    name = "annotations.projects"
    label = "providers"

    def ready(self) -> None:
        from annotations.core import navigation, offers
        from annotations.jobs import hooks
        from annotations.projects.services.providers import checking, once, sessions

        navigation.extend("people", "groups", "group_remove")
        offers.offer("sign_in.providers", "providers/offers/buttons.html")
        offers.offer("people.actions", "providers/offers/groups.html")
        hooks.TIDIERS.extend([once.forget_used, sessions.forget_old])
        if settings.SIGN_IN:
            hooks.STEPS.append(checking.step)
