"""Forms to add members, change roles and remove members."""

from collections.abc import Sequence
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from annotations.core.forms import offer_rows
from annotations.models import Role, User

ROLES = [
    (Role.ANNOTATOR, _("Annotator: labels assigned notes, blind to others")),
    (Role.REVIEWER, _("Reviewer: sees everything, makes gold, exports")),
    (Role.MANAGER, _("Manager: all of this, and sets up the project")),
    (Role.VIEWER, _("Viewer: sees everything, changes nothing")),
]
ACCOUNTS = [
    ("existing", _("Existing account")),
    ("new", _("New account")),
]


class AddMemberForm(forms.Form):
    """Form to add a person by their exact user name, since accounts can't be searched."""

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
