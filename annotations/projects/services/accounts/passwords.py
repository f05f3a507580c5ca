"""Passwords of deidreview's own, where the settings leave them to some accounts only."""

from typing import Any

from allauth.account.auth_backends import AuthenticationBackend
from django.conf import settings
from django.http import HttpRequest

from annotations.models import User


class NamedAccountsOnly(AuthenticationBackend):  # type: ignore[misc]  # its class has no types
    """Accepts passwords of the accounts that DEIDREVIEW_PASSWORD_ACCOUNTS names, and of no other account.

    The password is checked in any case, so that the time says nothing about the list.
    """

    def authenticate(self, request: HttpRequest | None, **credentials: Any) -> User | None:
        return self._if_named(super().authenticate(request, **credentials))

    def get_user(self, user_id: int) -> User | None:
        """Return the account of a session, so that a session ends if its account is no longer named."""
        return self._if_named(super().get_user(user_id))

    @staticmethod
    def _if_named(user: User | None) -> User | None:
        return user if user is not None and user.username in (settings.PASSWORD_ACCOUNTS or ()) else None
