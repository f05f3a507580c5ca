"""The form for a new token."""

from typing import Any

from django import forms
from django.db.models import QuerySet
from django.utils.translation import gettext_lazy as _

from annotations.core.api.tokens import MOST_DAYS
from annotations.core.forms import WholeField, offer_rows
from annotations.models import ApiToken, Project, User

SCOPES = [
    (ApiToken.Scope.READ, _("Read: everything that you may see")),
    (ApiToken.Scope.WRITE, _("Write: also annotate, review and export")),
    (ApiToken.Scope.MANAGE, _("Manage: also change projects, members, settings and releases")),
]


class TokenForm(forms.Form):
    name = forms.CharField(
        label=_("Name"),
        max_length=80,
        help_text=_("What the token is for, such as “Nightly import”."),
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    scope = forms.ChoiceField(label=_("Scope"), choices=SCOPES, widget=forms.RadioSelect, initial=ApiToken.Scope.READ)
    project = forms.ModelChoiceField(
        label=_("Project"),
        queryset=Project.objects.none(),
        required=False,
        empty_label=_("All my projects"),
        help_text=_("A token for one project can't reach any other."),
    )
    days = WholeField(
        label=_("Days until the token expires"),
        least=1,
        most=MOST_DAYS,
        initial=90,
        widget=forms.NumberInput(attrs={"class": "short", "inputmode": "numeric"}),
    )

    password = forms.CharField(
        label=_("Your password"),
        strip=False,
        help_text=_("So that nobody else makes a token in your session. A new password ends all tokens."),
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}),
    )

    def __init__(self, *args: Any, user: User, projects: "QuerySet[Project]", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        offer_rows(self, "project", projects)
        self._user = user
        if not user.has_usable_password():  # A provider signs this person in.
            del self.fields["password"]

    def clean_password(self) -> str:
        password: str = self.cleaned_data["password"]
        if not self._user.check_password(password):
            raise forms.ValidationError(_("This is not your password."))
        return password
