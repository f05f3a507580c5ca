"""A code of an authenticator app is accepted once (RFC 6238, section 5.2), whichever web process it comes to.

The number of the half minute whose code was accepted last stays with the authenticator in the database; only codes of
later half minutes are accepted. allauth remembers codes in the memory of one process, and for less than they last.
"""

from typing import Any

from allauth.core import context
from allauth.core.internal.cryptokit import compare_user_code
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal.auth import format_hotp_value, hotp_value, yield_hotp_counters_from_time
from allauth.mfa.utils import decrypt
from django.db.models.signals import pre_save
from django.dispatch import receiver

LAST = "last_counter"


def use_up(authenticator: Authenticator, code: str) -> bool:
    """Whether this valid code is accepted now; never again afterwards. Recovery codes are used up by allauth.

    The caller holds a lock on the authenticator's row.
    """
    if authenticator.type != Authenticator.Type.TOTP:
        return True
    counter = _counter(authenticator, code)
    if counter is None or counter <= authenticator.data.get(LAST, -1):
        return False
    authenticator.data[LAST] = counter
    authenticator.save(update_fields=["data"])
    return True


def _counter(authenticator: Authenticator, code: str) -> int | None:
    """The half minute that this is the code of, counted from 1970; the latest one where several have the same."""
    secret = decrypt(authenticator.data["secret"])
    for counter in reversed(list(yield_hotp_counters_from_time())):
        if compare_user_code(actual=code, expected=format_hotp_value(hotp_value(secret, counter))):
            return int(counter)
    return None


@receiver(pre_save, sender=Authenticator)
def _code_of_activation(instance: Authenticator, **_: Any) -> None:
    """The code that switched two-factor sign-in on is used too, from the moment at which the row is there."""
    request = context.request
    if instance._state.adding and instance.type == Authenticator.Type.TOTP and request is not None:
        counter = _counter(instance, request.POST.get("code", ""))
        if counter is not None:
            instance.data[LAST] = counter
