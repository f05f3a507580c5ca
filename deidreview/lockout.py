"""What wrong passwords and wrong second-factor codes lock, and for how long.

django-axes writes the failures down in the database, so that all web processes share one count; what they mean is
decided here. The limits, with DEIDREVIEW_LOGIN_ATTEMPTS (5) as L and DEIDREVIEW_LOCKOUT_MINUTES (15):

* L failures for one account from one address: locked for those minutes. 4 L in 24 hours: until they are a day old.
* 20 L failures for one account in 24 hours, whatever the addresses: only browsers known from an earlier sign-in go on.
* A known browser, and the codes of an account, have counts of their own: L failures, 4 L in 24 hours.

Failures from before the account's present password don't count.
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

from annotations.models import User
from deidreview.answers import wants_json
from deidreview.known_browsers import known_as

DAY = timedelta(days=1)
# As multiples of AXES_FAILURE_LIMIT.
LIMIT_IN_A_DAY = 4
LIMIT_FROM_EVERYWHERE = 20
# Counts of their own have a space in their name, which the name of an account never has.
CODES = " (code)"
NAME_LENGTH = 150


def client_ip(request: HttpRequest) -> str:
    """Whose failures these are: the address that the outermost of our PROXIES saw, else the peer's.

    Each proxy adds the address that it saw at the end of X-Forwarded-For; what stands further left, the client wrote.
    """
    told = request.headers.get("X-Forwarded-For", "").split(",") if settings.PROXIES else []
    seen = told[-settings.PROXIES] if 0 < settings.PROXIES <= len(told) else ""
    return _network(seen) or _network(request.META.get("REMOTE_ADDR", "")) or "0.0.0.0"  # noqa: S104 - a stand-in


def _network(text: str) -> str:
    """The address, of IPv6 its /64: whoever has one address there has them all. Empty where it is none."""
    try:
        address = ipaddress.ip_address(text.strip())
    except ValueError:
        return ""
    if isinstance(address, ipaddress.IPv4Address):
        return str(address)
    if address.ipv4_mapped:
        return str(address.ipv4_mapped)
    return str(ipaddress.IPv6Address(int(address) >> 64 << 64))


# ── Under which name failures are counted ────────────────────────────────────────────────────────────────────────────


def folded(name: str) -> str:
    """One spelling for all that differ by case, white space or Unicode form, so that they share one count."""
    plain = unicodedata.normalize("NFKC", name).upper().casefold()
    return "".join(unicodedata.normalize("NFKC", plain).split())[:NAME_LENGTH]


def counted_name(request: HttpRequest, credentials: dict[str, Any] | None = None) -> str:
    """The name of the count: the account's, a known browser's, or either's codes. The same for unknown accounts."""
    name, _ = _account(request, credentials)
    return name + CODES if (credentials or {}).get("second_factor") else name


def _account(request: HttpRequest, credentials: dict[str, Any] | None) -> tuple[str, User | None]:
    """The name to count under and the account that would be entered; looked up once a request."""
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
    """What a success forgives: this address's failures, or those of a count of its own."""
    name = attempt.username if isinstance(attempt, AccessBase) else counted_name(attempt, credentials)
    return ["username"] if " " in (name or "") else [["username", "ip_address"]]


# ── What is locked, and until when ───────────────────────────────────────────────────────────────────────────────────


def locked_until(request: HttpRequest, credentials: dict[str, Any] | None = None) -> datetime | None:
    """When the lock that meets this attempt ends; None where nothing is locked."""
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
    """None for codes: whoever may set passwords must not get more codes to guess by it."""
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
        """axes asks only whether its limit is reached."""
        return settings.AXES_FAILURE_LIMIT if locked_until(request, credentials) else 0

    def remove_out_of_limit_failure_logs(self, **_: Any) -> int:
        """axes would delete the newest failures of an account that has very many, and with them their count."""
        return 0


def locked_out(
    request: HttpRequest, original: HttpResponse | None = None, credentials: dict[str, Any] | None = None
) -> HttpResponse:
    """Says how long to wait and what to do. The same for accounts that do not exist."""
    left = (locked_until(request, credentials) or timezone.now()) - timezone.now()
    minutes = max(1, ceil(left.total_seconds() / 60))
    if wants_json(request):
        response: HttpResponse = JsonResponse({"error": "locked-out", "minutes": minutes}, status=429)
    else:
        context = {"minutes": minutes, "hours": ceil(minutes / 60) if minutes > 120 else 0}
        response = render(request, "account/locked.html", context, status=429)
    response.headers["Retry-After"] = str(minutes * 60)
    return response
