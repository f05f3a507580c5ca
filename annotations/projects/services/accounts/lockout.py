"""Locks after wrong passwords and wrong second-factor codes.

django-axes records failures in the database, so that all web processes share one count; this module decides what they
lock. The limits, with DEIDREVIEW_LOGIN_ATTEMPTS (5) as L and DEIDREVIEW_LOCKOUT_MINUTES (15) as M:

* L failures for an account from one address lock it for that address for M minutes; 4 L in 24 hours lock it until they
  are a day old.
* 20 L failures for an account in 24 hours, from all addresses together, lock it for all browsers except known ones.
* A known browser, and the codes of an account, have their own counts: L failures, and 4 L in 24 hours.

Failures from before the account's current password don't count.
"""

import ipaddress
import unicodedata
from datetime import datetime, timedelta
from math import ceil
from typing import Any

from allauth.account.internal.userkit import get_user_by_username
from axes.handlers.database import AxesDatabaseHandler
from axes.helpers import get_cool_off
from axes.models import AccessAttempt, AccessBase, AccessFailureLog
from django.conf import settings
from django.db.models import Max, QuerySet, Sum
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.utils import timezone

from annotations.core.requests import wants_json
from annotations.models import User
from annotations.projects.services.accounts.known_browsers import known_as

DAY = timedelta(days=1)
# As multiples of AXES_FAILURE_LIMIT.
LIMIT_IN_A_DAY = 4
LIMIT_FROM_EVERYWHERE = 20
# Names of separate counts contain a space, which a user name never does.
CODES = " (code)"
NAME_LENGTH = 150


def client_ip(request: HttpRequest) -> str:
    """Return the client's address as the outermost of the deployment's PROXIES saw it, otherwise the peer's address.

    Each proxy appends the address that it saw to X-Forwarded-For; the client wrote everything further left.
    """
    return _network(forwarded(request)) or _network(request.META.get("REMOTE_ADDR", "")) or "0.0.0.0"  # noqa: S104 - a stand-in


def forwarded(request: HttpRequest) -> str:
    """Return the client's address as the outermost of the deployment's PROXIES wrote it, unchecked; otherwise empty."""
    chain = request.headers.get("X-Forwarded-For", "").split(",") if settings.PROXIES else []
    return chain[-settings.PROXIES] if 0 < settings.PROXIES <= len(chain) else ""


def _network(text: str) -> str:
    """Return the address, or the /64 network of an IPv6 address, since its owner has all of them. Empty if invalid."""
    try:
        address = ipaddress.ip_address(text.strip())
    except ValueError:
        return ""
    if isinstance(address, ipaddress.IPv4Address):
        return str(address)
    if address.ipv4_mapped:
        return str(address.ipv4_mapped)
    return str(ipaddress.IPv6Address(int(address) >> 64 << 64))


# ── The name under which failures are counted ────────────────────────────────────────────────────────────────────────


def folded(name: str) -> str:
    """Return one spelling for names that differ only by case, white space or Unicode form; they share one count."""
    plain = unicodedata.normalize("NFKC", name).upper().casefold()
    return "".join(unicodedata.normalize("NFKC", plain).split())[:NAME_LENGTH]


def counted_name(request: HttpRequest, credentials: dict[str, Any] | None = None) -> str:
    """Return the name of the count: of the account, a known browser, or their codes. Also for unknown accounts."""
    name, _ = _account(request, credentials)
    return name + CODES if (credentials or {}).get("second_factor") else name


def _account(request: HttpRequest, credentials: dict[str, Any] | None) -> tuple[str, User | None]:
    """Return the name to count under and the account, looked up once per request."""
    # In the form, allauth calls the field `login`.
    typed = str((credentials or {}).get("username") or request.POST.get("login") or request.POST.get("username") or "")
    found: dict[str, tuple[str, User | None]] = request.__dict__.setdefault("_counted_accounts", {})
    if typed not in found:
        user = get_user_by_username(typed.strip()) if "\0" not in typed else None
        name = folded(user.get_username() if user else typed)
        browser = known_as(request, user) if isinstance(user, User) else None
        found[typed] = (f"{name} (browser {browser})" if browser else name, user)
    return found[typed]


def lockout_parameters(attempt: HttpRequest | AccessBase, credentials: dict[str, Any] | None = None) -> list[Any]:
    """Say which failures a success resets: those of this address, or those of a separate count."""
    name = attempt.username if isinstance(attempt, AccessBase) else counted_name(attempt, credentials)
    return ["username"] if " " in (name or "") else [["username", "ip_address"]]


# ── Locks and their end ──────────────────────────────────────────────────────────────────────────────────────────────


def locked_until(request: HttpRequest, credentials: dict[str, Any] | None = None) -> datetime | None:
    """Return when the lock on this attempt ends, or None if there is no lock."""
    name = counted_name(request, credentials)
    now = timezone.now()
    since = _password_set_at(request, credentials) or now - DAY
    attempts = AccessAttempt.objects.filter(username=name)
    failures = AccessFailureLog.objects.filter(username=name, attempt_time__gt=max(since, now - DAY))
    ends = []
    if " " not in name:
        ends.append(_end_of_day(failures, LIMIT_FROM_EVERYWHERE))
        address = client_ip(request)
        attempts, failures = attempts.filter(ip_address=address), failures.filter(ip_address=address)
    ends.append(_end_of_day(failures, LIMIT_IN_A_DAY))
    ends.append(_end_of_cool_off(attempts, now, since))
    return max((end for end in ends if end), default=None)


def _password_set_at(request: HttpRequest, credentials: dict[str, Any] | None) -> datetime | None:
    """Return None for codes: somebody who can set a new password must not get more guesses at codes that way."""
    if (credentials or {}).get("second_factor"):
        return None
    _, user = _account(request, credentials)
    return user.password_set_at if user else None


def _end_of_day(failures: QuerySet[AccessFailureLog], times: int) -> datetime | None:
    limit = times * settings.AXES_FAILURE_LIMIT
    at = failures.order_by("-attempt_time").values_list("attempt_time", flat=True)[limit - 1 : limit]
    return next((time + DAY for time in at), None)


def _end_of_cool_off(attempts: QuerySet[AccessAttempt], now: datetime, since: datetime) -> datetime | None:
    cool_off = get_cool_off() or timedelta(0)
    found = attempts.filter(attempt_time__gt=max(since, now - cool_off)).aggregate(
        count=Sum("failures_since_start"), last=Max("attempt_time")
    )
    return found["last"] + cool_off if (found["count"] or 0) >= settings.AXES_FAILURE_LIMIT else None


class Handler(AxesDatabaseHandler):  # type: ignore[misc]  # its class has no types
    def get_failures(self, request: HttpRequest, credentials: dict[str, Any] | None = None) -> int:
        """Return the limit or 0: axes only checks whether its limit is reached."""
        return settings.AXES_FAILURE_LIMIT if locked_until(request, credentials) else 0

    def remove_out_of_limit_failure_logs(self, **_: Any) -> int:
        """Keep all failures: axes would delete the newest ones of an account with very many, and lose their count."""
        return 0


def locked_out(
    request: HttpRequest, original: HttpResponse | None = None, credentials: dict[str, Any] | None = None
) -> HttpResponse:
    """Answer a locked attempt with the waiting time and advice. The same for accounts that do not exist."""
    left = (locked_until(request, credentials) or timezone.now()) - timezone.now()
    minutes = max(1, ceil(left.total_seconds() / 60))
    if wants_json(request):
        response: HttpResponse = JsonResponse({"error": "locked-out", "minutes": minutes}, status=429)
    else:
        context = {"minutes": minutes, "hours": ceil(minutes / 60) if minutes > 120 else 0}
        response = render(request, "account/locked.html", context, status=429)
    response.headers["Retry-After"] = str(minutes * 60)
    return response
