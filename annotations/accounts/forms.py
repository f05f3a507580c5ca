"""People: adding one, changing a role, taking one out."""

from collections.abc import Sequence
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from annotations.core.offering import offer_rows
from annotations.models import Role, User

ROLES = [
    (Role.ANNOTATOR, _("Annotator: labels the notes given to them, blind to others")),
    (Role.REVIEWER, _("Reviewer: reads everything, makes gold, exports")),
    (Role.MANAGER, _("Manager: all of this, and sets the project up")),
    (Role.VIEWER, _("Viewer: reads everything, changes nothing")),
]
ACCOUNTS = [
    ("existing", _("They have an account")),
    ("new", _("Make an account for them")),
]


class AddMemberForm(forms.Form):
    """A person by their exact user name: accounts can't be searched."""

    username = forms.CharField(
        label=_("User name"),
        max_length=150,
        widget=forms.TextInput(attrs={"autocomplete": "off", "autocapitalize": "none", "spellcheck": "false"}),
    )
    account = forms.ChoiceField(label=_("Account"), choices=ACCOUNTS, widget=forms.RadioSelect, initial="existing")
    role = forms.ChoiceField(label=_("Role"), choices=ROLES, widget=forms.RadioSelect, initial=Role.ANNOTATOR)


class RoleForm(forms.Form):
    role = forms.ChoiceField(choices=Role.choices)


class RemoveForm(forms.Form):
    """Who takes the open notes over; nobody is a choice."""

    heir = forms.ModelChoiceField(
        label=_("Hand the open notes over to"),
        queryset=User.objects.none(),
        required=False,
        empty_label=_("Nobody: they are released"),
        error_messages={"invalid_choice": _("That person is no annotator of this project (any more).")},
    )

    def __init__(self, *args: Any, heirs: Sequence[User], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        offer_rows(self, "heir", User.objects.filter(pk__in=[heir.pk for heir in heirs]))
