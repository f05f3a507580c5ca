"""How people get accounts: managers and administrators create them; there is no sign-up.

`services.lockout` counts failures, for passwords and for second-factor codes alike. allauth's own limit on failed
sign-ins is off: it would answer first and hide the lock.
"""

from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from django.http import HttpRequest, HttpResponse

from annotations.models import User
from annotations.projects.services.accounts.known_browsers import remember
from annotations.projects.services.accounts.lockout import client_ip


class ClosedSignup(DefaultAccountAdapter):  # type: ignore[misc]  # its class has no types
    def is_open_for_signup(self, request: HttpRequest) -> bool:
        return False

    def get_client_ip(self, request: HttpRequest) -> str:
        return client_ip(request)

    def post_login(self, request: HttpRequest, user: User, **details: Any) -> HttpResponse:
        response: HttpResponse = super().post_login(request, user, **details)
        remember(request, response, user)
        return response
