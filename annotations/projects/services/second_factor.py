"""Second factors: the codes of authenticator apps, and which sessions showed one.

`annotations/projects/services/accounts.py` locks accounts after wrong codes.
"""

from typing import Any

from allauth.account.signals import authentication_step_completed
from allauth.core import context
from allauth.core.internal.cryptokit import compare_user_code
from allauth.mfa.models import Authenticator
from allauth.mfa.signals import authenticator_added, authenticator_removed
from allauth.mfa.totp.internal.auth import format_hotp_value, hotp_value, yield_hotp_counters_from_time
from allauth.mfa.utils import decrypt
from django.db.models.signals import pre_save
from django.dispatch import receiver
from django.http import HttpRequest

from annotations.models import User

# The codes of an authenticator app. All web processes together accept each code once (RFC 6238, section 5.2).
#
# The database stores, with the authenticator, the number of the half minute whose code was accepted last; only codes of
# later half minutes are accepted. allauth alone remembers codes in the memory of one process, and for less time than
# they are valid.


LAST_COUNTER = "last_counter"


def use_up(authenticator: Authenticator, code: str) -> bool:
    """Accept a valid code once. Return False if it was used before. allauth itself uses up recovery codes.

    The caller holds a lock on the authenticator's row.
    """
    if authenticator.type != Authenticator.Type.TOTP:
        return True
    counter = _counter(authenticator, code)
    if counter is None or counter <= authenticator.data.get(LAST_COUNTER, -1):
        return False
    authenticator.data[LAST_COUNTER] = counter
    authenticator.save(update_fields=["data"])
    return True


def _counter(authenticator: Authenticator, code: str) -> int | None:
    """Return the half minute of this code, counted from 1970; the latest one if several have the same code."""
    secret = decrypt(authenticator.data["secret"])
    for counter in reversed(list(yield_hotp_counters_from_time())):
        if compare_user_code(actual=code, expected=format_hotp_value(hotp_value(secret, counter))):
            return int(counter)
    return None


@receiver(pre_save, sender=Authenticator)
def _code_of_activation(instance: Authenticator, **_: Any) -> None:
    """Mark the code that switched two-factor sign-in on as used when the row is created."""
    request = context.request
    if instance._state.adding and instance.type == Authenticator.Type.TOTP and request is not None:
        counter = _counter(instance, request.POST.get("code", ""))
        if counter is not None:
            instance.data[LAST_COUNTER] = counter


# Which sessions showed a second factor: a code of the person's own, or the provider's where the settings count it.
#
# The session holds the id of the account that showed it, so that nothing is left for another account that signs in with
# the same browser.


_SHOWN_BY = "second_factor"


def mark_second_factor(request: HttpRequest, user: User) -> None:
    """Remember that this session showed a second factor of this account."""
    request.session[_SHOWN_BY] = user.pk


def has_second_factor(request: HttpRequest, user: User) -> bool:
    """Whether this session showed a second factor of this account."""
    return bool(request.session.get(_SHOWN_BY) == user.pk)


@receiver(authentication_step_completed)
def _code_entered(request: HttpRequest, method: str, user: User, **_: Any) -> None:
    if method == "mfa":
        mark_second_factor(request, user)


@receiver(authenticator_added)
def _app_set_up(request: HttpRequest, user: User, **_: Any) -> None:
    mark_second_factor(request, user)


@receiver(authenticator_removed)
def _app_removed(request: HttpRequest, **_: Any) -> None:
    request.session.pop(_SHOWN_BY, None)
