"""Forms for sign-in, passwords and second-factor codes, as allauth uses them."""

from typing import Any

from allauth.account.adapter import get_adapter
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
from django.utils.translation import gettext as _

from annotations.projects.rules import DIRECTORY_AWAY
from annotations.projects.services.accounts import counted_name
from annotations.projects.services.second_factor import use_up


class _Plain:
    """A form without placeholders, which would only repeat the labels. The first field has the focus."""

    fields: dict[str, Field]
    attrs: dict[str, str] = {}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for index, field in enumerate(self.fields.values()):
            field.widget.attrs.pop("placeholder", None)
            field.widget.attrs.update(self.attrs)
            if index == 0:
                field.widget.attrs["autofocus"] = True


class SignIn(_Plain, LoginForm):  # type: ignore[misc]  # its class has no types
    attrs = {"autocapitalize": "none", "spellcheck": "false"}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["password"].help_text = ""  # the template shows the link below the form

    def clean(self) -> Any:
        """Check the password. If the directory could not be asked, don't say that the password is wrong."""
        try:
            return super().clean()
        except ValidationError:
            if not getattr(context.request, DIRECTORY_AWAY, False):
                raise
            reason = _("The directory of your organization gives no usable answer. Try again in a few minutes.")
            raise ValidationError(reason, code=DIRECTORY_AWAY) from None


class PasswordAgain(_Plain, PasswordReauthenticateForm):  # type: ignore[misc]  # its class has no types
    pass


class ChangePassword(_Plain, ChangePasswordForm):  # type: ignore[misc]  # its class has no types
    def clean_oldpassword(self) -> str:
        """Check the old password as at a sign-in, so that a wrong one counts: a stranger may use the session."""
        password: str = self.cleaned_data["oldpassword"]
        if not get_adapter().reauthenticate(self.user, password):
            raise get_adapter().validation_error("enter_current_password")
        return password


class ChoosePassword(_Plain, ResetPasswordKeyForm):  # type: ignore[misc]  # its class has no types
    """The first password of an account. What else a password must not be is said where it is refused."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["password1"].help_text = _("At least 10 characters.")


class _CountedCode(_Plain):
    """A form for a second-factor code. Wrong codes count as failed sign-ins and can lock the codes of the account."""

    user: AbstractBaseUser
    authenticator: Authenticator  # The form's clean_code sets it.
    attrs = {"inputmode": "numeric", "autocomplete": "one-time-code"}

    def clean_code(self) -> str:
        request = context.request
        credentials = {"username": self.user.get_username(), "second_factor": True}
        if not AxesProxyHandler.is_allowed(request, credentials):
            request.axes_locked_out = True
            request.axes_credentials = credentials
            raise ValidationError(_("Too many wrong codes. Try again later."))
        try:
            code = self._accepted()
        except ValidationError:
            user_login_failed.send(sender=type(self), credentials=credentials, request=request)
            raise
        AxesProxyHandler.reset_attempts(username=counted_name(request, credentials))
        return code

    def _accepted(self) -> str:
        """Check the code and mark it as used in one transaction, so that a simultaneous second request is refused."""
        with transaction.atomic():
            list(Authenticator.objects.select_for_update().filter(user=self.user))
            code: str = super().clean_code()  # type: ignore[misc]  # its class has no types
            if not use_up(self.authenticator, code):
                raise get_mfa_adapter().validation_error("incorrect_code")
            return code


class Code(_CountedCode, AuthenticateForm):  # type: ignore[misc]  # its class has no types
    pass


class CodeAgain(_CountedCode, ReauthenticateForm):  # type: ignore[misc]  # its class has no types
    pass


class FirstCode(_Plain, ActivateTOTPForm):  # type: ignore[misc]  # its class has no types
    attrs = {"inputmode": "numeric"}
