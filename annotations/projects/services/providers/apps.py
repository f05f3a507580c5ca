"""allauth's view of the providers: those of the settings, never of the database, and no accounts by its own rules."""

from typing import Any

from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from django.http import HttpRequest

from annotations.projects.rules import OidcProvider
from annotations.projects.selectors.providers import configured


class Apps(DefaultSocialAccountAdapter):  # type: ignore[misc]  # its class has no types
    def list_apps(
        self, request: HttpRequest | None, provider: str | None = None, client_id: str | None = None
    ) -> list[Any]:
        from allauth.socialaccount.models import SocialApp

        return [
            SocialApp(
                provider="openid_connect",
                provider_id=one.id,
                name=one.name[:40],
                client_id=one.client_id,
                secret=one.client_secret,
                settings={"server_url": one.issuer},
            )
            for one in configured()
            if isinstance(one, OidcProvider) and provider in (None, one.id)
        ]

    def is_open_for_signup(self, request: HttpRequest, *args: Any) -> bool:
        """No: accounts are made by `signing_in`, which never takes over another one."""
        return False
