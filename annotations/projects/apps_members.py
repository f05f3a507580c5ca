from django.apps import AppConfig
from django.utils.translation import gettext_noop as _


class AccountsConfig(AppConfig):
    name = "annotations.projects"
    label = "accounts"

    def ready(self) -> None:
        # Its receivers are connected.
        import annotations.projects.services.accounts.second_factor  # noqa: F401
        from annotations.core import navigation, offers
        from annotations.core.access import Can
        from annotations.core.api import registry
        from annotations.jobs import hooks
        from annotations.projects.services.accounts.old_failures import forget_failures

        registry.register("annotations.projects.api.members.router")
        navigation.register(
            navigation.Entry(
                "project", 20, _("People"), "people", Can.MANAGE, frozenset({"member_remove", "member_link"})
            ),
        )
        navigation.add_group(navigation.Group("account", _("Account"), 10, navigation.Area.ACCOUNT))
        hooks.TIDIERS.append(forget_failures)
        offers.offer("frame.password", "accounts/offers/password.html")
        offers.offer("projects.closed", "accounts/offers/second_factor.html")
        offers.offer("settings.too_few", "accounts/offers/people.html")
        offers.offer("settings.no_annotators", "accounts/offers/add_annotator.html")

        from annotations.projects import overview_members as overview

        overview.register()
