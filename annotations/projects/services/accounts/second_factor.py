"""Which sessions showed a second factor: a code of the person's own, or the provider's where the settings count it.

The session holds the id of the account that showed it, so that nothing is left for another account that signs in with
the same browser.
"""

from typing import Any

from allauth.account.signals import authentication_step_completed
from allauth.mfa.signals import authenticator_added, authenticator_removed
from django.dispatch import receiver
from django.http import HttpRequest

from annotations.models import User

_SHOWN_BY = "second_factor"


def show(request: HttpRequest, user: User) -> None:
    """Remember that this session showed a second factor of this account."""
    request.session[_SHOWN_BY] = user.pk


def shown(request: HttpRequest, user: User) -> bool:
    """Whether this session showed a second factor of this account."""
    return bool(request.session.get(_SHOWN_BY) == user.pk)


@receiver(authentication_step_completed)
def _code_entered(request: HttpRequest, method: str, user: User, **_: Any) -> None:
    if method == "mfa":
        show(request, user)


@receiver(authenticator_added)
def _app_set_up(request: HttpRequest, user: User, **_: Any) -> None:
    show(request, user)


@receiver(authenticator_removed)
def _app_removed(request: HttpRequest, **_: Any) -> None:
    request.session.pop(_SHOWN_BY, None)
