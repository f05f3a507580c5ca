"""The name field of all forms that start a run."""

from typing import TYPE_CHECKING

from django import forms
from django.utils.translation import gettext_lazy as _

from models_runtime.runs.services.renaming import LONGEST_NAME

if TYPE_CHECKING:
    from django.utils.functional import _StrOrPromise


def name_field(help_text: "_StrOrPromise" = "") -> forms.CharField:
    """Make the field for the name of a run. If it is empty, the run is named after its backend."""
    return forms.CharField(
        label=_("Name"),
        max_length=LONGEST_NAME,
        required=False,
        help_text=help_text,
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
