"""Forms to add members, change roles and remove members."""

from collections.abc import Sequence
from typing import Any

from django import forms
from django.db.models import QuerySet
from django.utils.translation import gettext_lazy as _

from annotations.core.api.tokens import MOST_DAYS
from annotations.core.forms import LineField, RadioField, WholeField, offer, offer_rows
from annotations.models import ApiToken, Project, Role, User
from annotations.projects.rules import Provider

ROLES = [
    (Role.ANNOTATOR, _("Annotator: labels assigned notes, blind to others")),
    (Role.REVIEWER, _("Reviewer: sees everything, makes gold, exports")),
    (Role.MANAGER, _("Manager: all of this, and sets up the project")),
    (Role.VIEWER, _("Viewer: sees everything, changes nothing")),
]
ACCOUNTS = [("existing", _("Existing account")), ("new", _("New account"))]


class AddMemberForm(forms.Form):
    """Form to add a person by their exact user name, since accounts can't be searched."""

    username = forms.CharField(
        label=_("User name"),
        max_length=150,
        widget=forms.TextInput(attrs={"autocomplete": "off", "autocapitalize": "none", "spellcheck": "false"}),
    )
    account = RadioField(label=_("Account"), choices=ACCOUNTS, initial="existing")
    role = RadioField(label=_("Role"), choices=ROLES, initial=Role.ANNOTATOR)


class AddPeopleForm(AddMemberForm):
    """The same for pasted lines, one person each."""

    username = forms.CharField(
        label=_("People"),
        max_length=10_000,
        help_text=_("One per line: a name, a user name, or an e-mail address."),
        widget=forms.Textarea(attrs={"rows": 4, "autocapitalize": "none", "spellcheck": "false"}),
    )
    account = RadioField(
        label=_("Accounts"),
        choices=[("new", _("New accounts, each with a link")), ("existing", _("Existing accounts"))],
        initial="new",
    )
    field_order = ("username", "role", "account")


class RoleForm(forms.Form):
    role = forms.ChoiceField(choices=Role.choices)


class RemoveForm(forms.Form):
    """Choice of the annotator who gets the open notes, or nobody."""

    heir = forms.ModelChoiceField(
        label=_("Reassign open notes to"),
        queryset=User.objects.none(),
        required=False,
        empty_label=_("Nobody (unassign the notes)"),
        error_messages={"invalid_choice": _("This person is not an annotator of this project. Choose another.")},
    )

    def __init__(self, *args: Any, heirs: Sequence[User], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        offer_rows(self, "heir", User.objects.filter(pk__in=[heir.pk for heir in heirs]))


# Form to give a provider's group a role.


class GroupForm(forms.Form):
    provider = forms.ChoiceField(label=_("Provider"))
    group = forms.CharField(
        label=_("Group"),
        max_length=255,
        help_text=_("Exactly as the provider writes it. For LDAP, the DN of the group."),
        widget=forms.TextInput(attrs={"autocomplete": "off", "autocapitalize": "none", "spellcheck": "false"}),
    )
    role = RadioField(label=_("Role"), choices=ROLES, initial=Role.ANNOTATOR)

    def __init__(self, *args: Any, providers: Sequence[Provider], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        offer(self, "provider", [(one.id, one.name) for one in providers])


# The form for a new token.


SCOPES = [
    (ApiToken.Scope.READ, _("Read: everything that you may see")),
    (ApiToken.Scope.WRITE, _("Write: also annotate, review and export")),
    (ApiToken.Scope.MANAGE, _("Manage: also change projects, members, settings and releases")),
]


class TokenForm(forms.Form):
    name = LineField(label=_("Name"), max_length=80, help_text=_("What the token is for, such as “Nightly import”."))
    scope = RadioField(label=_("Scope"), choices=SCOPES, initial=ApiToken.Scope.READ)
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
        help_text=_("It keeps others from making a token in your session. A new password ends all tokens."),
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
