"""Passwords and sign-in: known browsers, locks after failures, one-time links, and what allauth and axes ask for.

django-axes records wrong passwords and wrong second-factor codes in the database, so that all web processes share one
count; this module decides what they lock. The limits, with DEIDREVIEW_LOGIN_ATTEMPTS (5) as L and
DEIDREVIEW_LOCKOUT_MINUTES (15) as M:

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

from allauth.account.adapter import DefaultAccountAdapter
from allauth.account.auth_backends import AuthenticationBackend
from allauth.account.internal.userkit import get_user_by_username
from axes.handlers.database import AxesDatabaseHandler
from axes.helpers import get_cool_off
from axes.models import AccessAttempt, AccessBase, AccessFailureLog
from django.conf import settings
from django.contrib.auth.tokens import PasswordResetTokenGenerator
from django.core import signing
from django.db.models import Max, QuerySet, Sum
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.crypto import constant_time_compare, get_random_string, salted_hmac

from annotations.core.access import may_make_link
from annotations.core.addresses import address
from annotations.models import Assignment, AssignmentState, Membership, Role, User

# A cookie that recognizes a browser in which a person has signed in before.
#
# The cookie alone gives no access. Failed sign-ins from a known browser are counted for that browser alone, so that
# nobody can lock a colleague out with wrong passwords from another place. A new password makes all browsers of the
# account unknown.


SALT = "deidreview.known-browsers"
BROWSER_DAYS = 180
# People who share a browser. Beyond this number, the person who signed in longest ago is forgotten.
PEOPLE_PER_BROWSER = 8


def known_as(request: HttpRequest, user: User) -> str | None:
    """Return the browser's name for this account, or None if this person has not signed in with the browser."""
    name, proof = _entries(request).get(str(user.pk), ("", ""))
    return name if name and constant_time_compare(proof, _proof(user, name)) else None


def remember(request: HttpRequest, response: HttpResponse, user: User) -> None:
    """Set the cookie that makes this browser known for this account."""
    name = known_as(request, user) or get_random_string(8)
    others = [(pk, entry) for pk, entry in _entries(request).items() if pk != str(user.pk)]
    entries = dict([*others, (str(user.pk), (name, _proof(user, name)))][-PEOPLE_PER_BROWSER:])
    response.set_cookie(
        settings.KNOWN_BROWSER_COOKIE_NAME,
        signing.dumps(entries, salt=SALT),
        max_age=BROWSER_DAYS * 24 * 3600,
        secure=settings.HTTPS,
        httponly=True,
        samesite="Lax",
    )


def _entries(request: HttpRequest) -> dict[str, tuple[str, str]]:
    try:
        read: Any = signing.loads(
            request.COOKIES.get(settings.KNOWN_BROWSER_COOKIE_NAME, ""), salt=SALT, max_age=BROWSER_DAYS * 24 * 3600
        )
    except signing.BadSignature:
        return {}
    return {pk: (name, proof) for pk, (name, proof) in read.items()}


def _proof(user: User, name: str) -> str:
    return salted_hmac(SALT, f"{user.pk}:{name}:{user.get_session_auth_hash()}", algorithm="sha256").hexdigest()[:32]


DAY = timedelta(days=1)
# As multiples of AXES_FAILURE_LIMIT.
LIMIT_IN_A_DAY = 4
LIMIT_FROM_EVERYWHERE = 20
# Names of separate counts contain a space, which a user name never does.
CODES_SUFFIX = " (code)"
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
    return name + CODES_SUFFIX if (credentials or {}).get("second_factor") else name


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


class LockoutHandler(AxesDatabaseHandler):  # type: ignore[misc]  # its class has no types
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
    from annotations.core.requests import wants_json  # Commands and workers do without what it loads.

    left = (locked_until(request, credentials) or timezone.now()) - timezone.now()
    minutes = max(1, ceil(left.total_seconds() / 60))
    if wants_json(request):
        response: HttpResponse = JsonResponse({"error": "locked-out", "minutes": minutes}, status=429)
    else:
        context = {"minutes": minutes, "hours": ceil(minutes / 60) if minutes > 120 else 0}
        response = render(request, "account/locked.html", context, status=429)
    response.headers["Retry-After"] = str(minutes * 60)
    return response


# One-time links for a new password.


class _MakerTokens(PasswordResetTokenGenerator):
    """Django's tokens, which are also invalid once the account's rights have changed.

    Django's tokens are invalid after their use, after a sign-in, and after a time. The maker of the link had the right
    to make one for the account as it was then, and may not have it for the account as it is now.
    """

    key_salt = "deidreview.tokens.LinkTokens"

    def __init__(self, maker: str) -> None:
        super().__init__()
        self._maker = maker

    def _make_hash_value(self, user: User, timestamp: int) -> str:
        rights = Membership.objects.filter(user=user.pk, active=True).order_by("project_id")
        held = ",".join(f"{project}:{role}" for project, role in rights.values_list("project_id", "role"))
        staff = f"{user.is_staff}{user.is_superuser}{user.is_active}"
        return f"{super()._make_hash_value(user, timestamp)}{held}{staff}|{self._maker}"


class LinkTokens:
    """Tokens that name their maker: `MAKER-TOKEN`. The maker must still have the right when the link is used.

    Maker 0 stands for the server's command line.
    """

    def make_token(self, user: User, maker: User | None = None) -> str:
        by = str(maker.pk if maker else 0)
        return f"{by}-{_MakerTokens(by).make_token(user)}"

    def check_token(self, user: Any, token: str | None) -> bool:
        by, _, signed = (token or "").partition("-")
        if not isinstance(user, User) or not _MakerTokens(by).check_token(user, signed):
            return False
        if by == "0":
            return True
        maker = User.objects.filter(pk=int(by)).first()
        return maker is not None and may_make_link(maker, user)


# How people get accounts: managers and administrators create them; there is no sign-up.
#
# The locks above count failures, for passwords and for second-factor codes alike. allauth's own limit on failed
# sign-ins is off: it would answer first and hide the lock.


class AccountAdapter(DefaultAccountAdapter):  # type: ignore[misc]  # its class has no types
    def is_open_for_signup(self, request: HttpRequest) -> bool:
        return False

    def get_client_ip(self, request: HttpRequest) -> str:
        return client_ip(request)

    def get_login_redirect_url(self, request: HttpRequest) -> str:
        """Lead an annotator of one project, who has notes to do, to the next one; everybody else to their projects."""
        members = Membership.objects.filter(user=request.user.pk, active=True, project__archived_at=None)
        slugs = list(members.values_list("project__slug", "role")[:2])
        open_notes = Assignment.objects.filter(user=request.user.pk, state=AssignmentState.OPEN)
        if len(slugs) == 1 and slugs[0][1] == Role.ANNOTATOR and open_notes.filter(project__slug=slugs[0][0]).exists():
            return address("project.next", slugs[0][0])
        return str(super().get_login_redirect_url(request))

    def post_login(self, request: HttpRequest, user: User, **details: Any) -> HttpResponse:
        response: HttpResponse = super().post_login(request, user, **details)
        remember(request, response, user)
        return response


# Passwords of deidreview's own, where the settings leave them to some accounts only.


class NamedAccountBackend(AuthenticationBackend):  # type: ignore[misc]  # its class has no types
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


# Deletion of failed sign-ins after a week.
#
# Locks need one day of them, and anybody can cause any number. Also, people sometimes type their password into the
# field for the user name.


FAILURES_KEPT = timedelta(days=7)
# Rows deleted in one transaction. SQLite allows one writer at a time, and others wait for it.
DELETED_AT_ONCE = 5000


def forget_failures() -> int:
    """Delete the failures that are older than FAILURES_KEPT. Return how many."""
    rows = AccessFailureLog.objects.order_by("pk")
    # The time has no index, but rows are in the order of time, so this reads only the old rows and one more.
    kept = rows.filter(attempt_time__gte=timezone.now() - FAILURES_KEPT).values_list("pk", flat=True).first()
    old = rows if kept is None else rows.filter(pk__lt=kept)
    count = 0
    while found := list(old.values_list("pk", flat=True)[:DELETED_AT_ONCE]):
        count += AccessFailureLog.objects.filter(pk__in=found).delete()[0]
    return count
