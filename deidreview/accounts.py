"""How people come in: a manager or an administrator makes accounts; nobody signs up by themselves.

Failures are counted by deidreview.lockout, for passwords and for second-factor codes alike. allauth's own limit on
failed sign-ins is off: it would answer first and hide the lock-out.
"""

from typing import Any

from allauth.account.adapter import DefaultAccountAdapter, get_adapter
from allauth.account.auth_backends import AuthenticationBackend
from allauth.account.forms import ChangePasswordForm, LoginForm, ResetPasswordKeyForm
from allauth.account.forms import ReauthenticateForm as PasswordReauthenticateForm
from allauth.core import context
from allauth.mfa.adapter import get_adapter as get_mfa_adapter
from allauth.mfa.base.forms import AuthenticateForm, ReauthenticateForm
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.forms import ActivateTOTPForm
from axes.handlers.proxy import AxesProxyHandler
from django.contrib.auth.models import AbstractBaseUser
from django.contrib.auth.signals import user_login_failed
from django.core.exceptions import ValidationError
from django.db import transaction
from django.forms import Field
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from annotations.models import User
from annotations.models.prepared import PreparedRead, columns_of, object_of
from deidreview import used_codes
from deidreview.known_browsers import remember
from deidreview.lockout import client_ip, counted_name

_PERSON_COLUMNS = columns_of(User, without=["last_login", "date_joined", "created_in", "password_set_at"])
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

    def post_login(self, request: HttpRequest, user: User, **details: Any) -> HttpResponse:
        response: HttpResponse = super().post_login(request, user, **details)
        remember(request, response, user)
        return response


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
    def clean_oldpassword(self) -> str:
        """Asked for as at a sign-in, so that a wrong one counts: the session may be in a stranger's hands."""
        password: str = self.cleaned_data["oldpassword"]
        if not get_adapter().reauthenticate(self.user, password):
            raise get_adapter().validation_error("enter_current_password")
        return password


class ChoosePassword(_Plain, ResetPasswordKeyForm):  # type: ignore[misc]  # its class has no types
    pass


class _CountedCode(_Plain):
    """A wrong second-factor code counts as a failed sign-in; enough of them lock the codes of that account."""

    user: AbstractBaseUser
    authenticator: Authenticator  # set by the form's clean_code
    attrs = {"inputmode": "numeric", "autocomplete": "one-time-code"}

    def clean_code(self) -> str:
        request = context.request
        credentials = {"username": self.user.get_username(), "second_factor": True}
        if not AxesProxyHandler.is_allowed(request, credentials):
            request.axes_locked_out = True
            request.axes_credentials = credentials
            raise ValidationError(_("locked out"))
        try:
            code = self._accepted()
        except ValidationError:
            user_login_failed.send(sender=type(self), credentials=credentials, request=request)
            raise
        AxesProxyHandler.reset_attempts(username=counted_name(request, credentials))
        return code

    def _accepted(self) -> str:
        """The code, used up in the same transaction: of two requests at once with one code, the second is refused."""
        with transaction.atomic():
            list(Authenticator.objects.select_for_update().filter(user=self.user))
            code: str = super().clean_code()  # type: ignore[misc]  # its class has no types
            if not used_codes.use_up(self.authenticator, code):
                raise get_mfa_adapter().validation_error("incorrect_code")
            return code


class Code(_CountedCode, AuthenticateForm):  # type: ignore[misc]  # its class has no types
    pass


class CodeAgain(_CountedCode, ReauthenticateForm):  # type: ignore[misc]  # its class has no types
    pass


class FirstCode(_Plain, ActivateTOTPForm):  # type: ignore[misc]  # its class has no types
    attrs = {"inputmode": "numeric"}
