"""Form to give a provider's group a role."""

from collections.abc import Sequence
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from annotations.models import Role
from annotations.projects.forms.members import ROLES
from annotations.projects.rules import Provider


class GroupForm(forms.Form):
    provider = forms.ChoiceField(label=_("Provider"))
    group = forms.CharField(
        label=_("Group"),
        max_length=255,
        help_text=_("Exactly as the provider writes it. For LDAP, the DN of the group."),
        widget=forms.TextInput(attrs={"autocomplete": "off", "autocapitalize": "none", "spellcheck": "false"}),
    )
    role = forms.ChoiceField(label=_("Role"), choices=ROLES, widget=forms.RadioSelect, initial=Role.ANNOTATOR)

    def __init__(self, *args: Any, providers: Sequence[Provider], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["provider"]
        assert isinstance(field, forms.ChoiceField)
        field.choices = [(one.id, one.name) for one in providers]
