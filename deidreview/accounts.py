"""How people come in: a manager or an administrator makes accounts; nobody signs up by themselves.

django-axes counts failures in the database, for passwords and for second-factor codes alike, so that all web
processes share one count. allauth's own limit on failed sign-ins is off: it would answer first and hide the lock-out.
"""

from contextlib import suppress
from datetime import timedelta
from ipaddress import ip_address
from math import ceil
from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from allauth.account.auth_backends import AuthenticationBackend
from allauth.account.forms import ChangePasswordForm, LoginForm, ResetPasswordKeyForm
from allauth.account.forms import ReauthenticateForm as PasswordReauthenticateForm
from allauth.core import context
from allauth.mfa.base.forms import AuthenticateForm, ReauthenticateForm
from allauth.mfa.totp.forms import ActivateTOTPForm
from axes.handlers.proxy import AxesProxyHandler
from axes.helpers import get_client_username, get_cool_off
from axes.models import AccessAttempt, AccessBase
from django.conf import settings
from django.contrib.auth.models import AbstractBaseUser
from django.contrib.auth.signals import user_login_failed
from django.core.exceptions import ValidationError
from django.forms import Field
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _

from annotations.models import User
from annotations.models.prepared import PreparedRead, columns_of, object_of
from deidreview.answers import wants_json

# Failed codes are counted under a name that no account can have (usernames hold no spaces).
CODE_SUFFIX = " (code)"


_PERSON_COLUMNS = columns_of(User, without=["last_login", "date_joined"])
_PERSON = PreparedRead(lambda pk: User.objects.filter(pk=pk).values_list(*_PERSON_COLUMNS), int)


class Backend(AuthenticationBackend):  # type: ignore[misc]  # its class has no types
    """allauth's, with a prepared read of who is signed in: every request needs it."""

    def get_user(self, user_id: int) -> User | None:
        row = _PERSON.first(user_id)
        if row is None:
            return None
        user = object_of(User, _PERSON_COLUMNS, row)
        return user if self.user_can_authenticate(user) else None


class ClosedSignup(DefaultAccountAdapter):  # type: ignore[misc]  # its class has no types
    def is_open_for_signup(self, request: HttpRequest) -> bool:
        return False

    def get_client_ip(self, request: HttpRequest) -> str:
        return client_ip(request)

    def set_password(self, user: AbstractBaseUser, password: str) -> None:
        """A new password, by whatever way, ends a lock-out."""
        super().set_password(user, password)
        AxesProxyHandler.reset_attempts(username=user.get_username())


class _Plain:
    """Labels stand above the fields, where placeholders would only repeat them; the first field has the focus."""

    fields: dict[str, Field]
    attrs: dict[str, str] = {}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for place, field in enumerate(self.fields.values()):
            field.widget.attrs.pop("placeholder", None)
            field.widget.attrs.update(self.attrs)
            if place == 0:
                field.widget.attrs["autofocus"] = True


class SignIn(_Plain, LoginForm):  # type: ignore[misc]  # its class has no types
    attrs = {"autocapitalize": "none", "spellcheck": "false"}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["password"].help_text = ""  # the link stands below the form


class PasswordAgain(_Plain, PasswordReauthenticateForm):  # type: ignore[misc]  # its class has no types
    pass


class ChangePassword(_Plain, ChangePasswordForm):  # type: ignore[misc]  # its class has no types
    pass


class ChoosePassword(_Plain, ResetPasswordKeyForm):  # type: ignore[misc]  # its class has no types
    pass


class _CountedCode(_Plain):
    """A wrong second-factor code counts as a failed sign-in; enough of them lock the codes of that account."""

    user: AbstractBaseUser
    attrs = {"inputmode": "numeric", "autocomplete": "one-time-code"}

    def clean_code(self) -> str:
        request = context.request
        credentials = {"username": self.user.get_username() + CODE_SUFFIX}
        if not AxesProxyHandler.is_allowed(request, credentials):
            request.axes_locked_out = True
            request.axes_credentials = credentials
            raise ValidationError(_("locked out"))
        try:
            code: str = super().clean_code()  # type: ignore[misc]  # its class has no types
        except ValidationError:
            user_login_failed.send(sender=type(self), credentials=credentials, request=request)
            raise
        AxesProxyHandler.reset_attempts(username=credentials["username"])
        return code


class Code(_CountedCode, AuthenticateForm):  # type: ignore[misc]  # its class has no types
    pass


class CodeAgain(_CountedCode, ReauthenticateForm):  # type: ignore[misc]  # its class has no types
    pass


class FirstCode(_Plain, ActivateTOTPForm):  # type: ignore[misc]  # its class has no types
    attrs = {"inputmode": "numeric"}


def client_ip(request: HttpRequest) -> str:
    """The peer's address; behind our own proxy (HTTPS) the one that the proxy appended, which nobody can forge."""
    forwarded = request.headers.get("X-Forwarded-For", "") if settings.HTTPS else ""
    for address in (forwarded.rpartition(",")[2].strip(), request.META.get("REMOTE_ADDR")):
        with suppress(ValueError):
            return str(ip_address(address or ""))
    return "0.0.0.0"  # noqa: S104 - a stand-in


def username_for_axes(request: HttpRequest, credentials: dict[str, Any] | None = None) -> str:
    """The account that is tried: in the credentials, else in the form, whose field allauth calls `login`."""
    if credentials and credentials.get("username"):
        return str(credentials["username"])
    return str(request.POST.get("login") or request.POST.get("username") or "")


def lockout_parameters(attempt: HttpRequest | AccessBase, credentials: dict[str, Any] | None = None) -> list[Any]:
    """Passwords: account and address together, so that a stranger can't lock a colleague out from elsewhere.

    Codes: the account alone. Whoever gets there has the password, and must not go on from another address.
    """
    name = attempt.username if isinstance(attempt, AccessBase) else get_client_username(attempt, credentials)
    return ["username"] if (name or "").endswith(CODE_SUFFIX) else [["username", "ip_address"]]


def minutes_left(username: str, address: str) -> int:
    """How long the lock-out still lasts, in minutes, rounded up."""
    attempts = AccessAttempt.objects.filter(username=username)
    if not username.endswith(CODE_SUFFIX):
        attempts = attempts.filter(ip_address=address)
    latest = attempts.order_by("-attempt_time").values_list("attempt_time", flat=True).first()
    until = (latest or timezone.now()) + (get_cool_off() or timedelta(0))
    return max(1, ceil((until - timezone.now()).total_seconds() / 60))


def locked_out(
    request: HttpRequest, original: HttpResponse | None = None, credentials: dict[str, Any] | None = None
) -> HttpResponse:
    """Says how long to wait and what to do. The same for accounts that do not exist."""
    minutes = minutes_left(get_client_username(request, credentials) or "", client_ip(request))
    if wants_json(request):
        response: HttpResponse = JsonResponse({"error": "locked-out", "minutes": minutes}, status=429)
    else:
        response = render(request, "account/locked.html", {"minutes": minutes}, status=429)
    response.headers["Retry-After"] = str(minutes * 60)
    return response
