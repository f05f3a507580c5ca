"""Fields that several forms have that start a run."""

from typing import TYPE_CHECKING

from django import forms
from django.utils.translation import gettext_lazy as _

from models_runtime.runs.services.renaming import LONGEST_NAME
from models_runtime.runs.services.thresholds import LEAST, MOST

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


def threshold_field(label: "_StrOrPromise" = "") -> forms.FloatField:
    """The field for the masking threshold of a run. The service checks its bounds."""
    return forms.FloatField(
        label=label or _("Masking threshold"),
        required=False,
        widget=forms.NumberInput(attrs={"min": LEAST, "max": MOST, "step": "0.001", "class": "short"}),
        help_text=_("Also suggest words whose probability of any label is above this, such as 0.05. Empty: off."),
    )
