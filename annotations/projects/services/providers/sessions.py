"""Sessions that began at a provider. Each has a row, and ends with it: within ALIVE_SECONDS, in every web process."""

import time
from datetime import UTC, datetime, timedelta
from typing import Any

from django.contrib.auth.signals import user_logged_in, user_logged_out
from django.db import transaction
from django.db.models import QuerySet
from django.dispatch import receiver
from django.http import HttpRequest
from django.utils import timezone

from annotations.models import ProviderAccount, ProviderSession, User
from annotations.projects.rules import SamlProvider
from annotations.projects.selectors.providers import configured
from annotations.projects.services.accounts import show
from annotations.projects.services.providers.identity import Identity

# A web process asks the database at most this often whether a session goes on (seconds).
ALIVE_SECONDS = 5.0
# While a provider can't be asked whether a person is still there, or while no relay asks it, sessions go on this long.
UNASKED = timedelta(minutes=5)
KEPT = timedelta(days=7)
_ROW, _BEGUN = "provider_session", "provider_begun"
_alive: dict[int, float] = {}
_MOST = 4096


def begin(request: HttpRequest, account: ProviderAccount, identity: Identity) -> None:
    """Remember who is about to sign in. The session begins with the sign-in, which may take a second step."""
    request.session[_BEGUN] = {
        "user": account.user_id,
        "account": account.pk,
        "sid": identity.sid[:255],
        "name_id": identity.name_id[:255],
        "until": identity.until.timestamp() if identity.until else None,
        "second_factor": identity.second_factor,
    }


@receiver(user_logged_in)
def _began(request: HttpRequest, user: User, **_: Any) -> None:
    begun = request.session.pop(_BEGUN, None)
    request.session.pop(_ROW, None)
    if begun is None or begun["user"] != user.pk:
        return
    until = datetime.fromtimestamp(begun["until"], UTC) if begun["until"] else None
    with transaction.atomic():
        # Who was deactivated a moment ago gets a session that has ended already, also if they return later.
        active = User.objects.select_for_update().values_list("is_active", flat=True).get(pk=user.pk)
        row = ProviderSession(account_id=begun["account"], sid=begun["sid"], name_id=begun["name_id"], until=until)
        if active:
            row.save()
    request.session[_ROW] = row.pk or 0
    if begun["second_factor"]:
        show(request, user)


@receiver(user_logged_out)
def _ended(request: HttpRequest | None, **_: Any) -> None:
    row = request.session.get(_ROW) if request is not None else None
    if row is not None:
        ProviderSession.objects.filter(pk=row).delete()


def has_ended(request: HttpRequest) -> bool:
    """Whether the session began at a provider and must end now."""
    row = request.session.get(_ROW)
    if row is None:
        return False
    now = time.monotonic()
    if _alive.get(row, 0.0) > now:
        return False
    if not _goes_on(row, request.user.pk):
        return True
    if len(_alive) >= _MOST:
        _alive.clear()
    _alive[row] = now + ALIVE_SECONDS
    return False


def _goes_on(row: int, user: int | None) -> bool:
    found = ProviderSession.objects.filter(pk=row, account__user=user).values_list(
        "until", "account__provider", "account__checked_at"
    )
    for until, key, checked in found:
        provider = next((one for one in configured() if one.id == key), None)
        now = timezone.now()
        fresh = isinstance(provider, SamlProvider) or (checked is not None and checked > now - UNASKED)
        return provider is not None and fresh and (until is None or until > now)
    return False


def end_sessions(rows: QuerySet[ProviderSession]) -> int:
    """End these sessions. Return how many."""
    return rows.delete()[0]


def forget_old() -> int:
    """Delete rows of sessions that nobody ended, such as those of closed browsers. Return how many."""
    return end_sessions(ProviderSession.objects.filter(began_at__lt=timezone.now() - KEPT))
