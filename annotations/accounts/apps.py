from django.apps import AppConfig
from django.utils.translation import gettext_noop as _


class AccountsConfig(AppConfig):
    name = "annotations.accounts"
    label = "accounts"

    def ready(self) -> None:
        # Its receivers are connected.
        import annotations.accounts.services.second_factor  # noqa: F401
        from annotations.accounts.services.old_failures import forget_failures
        from annotations.api import registry
        from annotations.core import navigation, offers
        from annotations.core.access import Can
        from annotations.jobs import hooks

        registry.register("annotations.accounts.api.router")
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

        from annotations.accounts import overview

        overview.register()
