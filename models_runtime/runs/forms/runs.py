"""The forms that start a run of a backend or model, and that merge several runs for review."""

from django import forms
from django.utils.translation import gettext_lazy as _

from annotations.core.forms import WholesField
from models_runtime.runs.forms.names import name_field, threshold_field
from models_runtime.runs.services.thresholds import LEAST, MOST, ThresholdGoal

# The field beside which an error of the service is shown, by its code.
REFUSED_AT = {
    "labels": "backend",
    "members": "backend",
    "llm": "backend",
    "pipeline": "backend",
    "known": "backend",
    "exists": "name",
    "threshold": "threshold",
}


class RunForm(forms.Form):
    """`backend` is a backend's key or `model:ID`. The service checks whether it exists."""

    backend = forms.CharField(label=_("Backend"), max_length=200, error_messages={"required": _("Choose a backend.")})
    name = name_field(_("If empty, the run is named after the backend."))
    left = forms.BooleanField(label=_("Only notes that are not gold yet"), required=False)
    threshold = threshold_field(_("Threshold"))
    recall = forms.FloatField(
        label=_("Or: recall to reach"),
        required=False,
        widget=forms.NumberInput(attrs={"min": LEAST, "max": MOST, "step": "any", "class": "short"}),
        help_text=_("Share of identifying characters that are found on held-out notes, such as 0.99."),
    )
    precision = forms.FloatField(
        label=_("Or: precision to reach"),
        required=False,
        widget=forms.NumberInput(attrs={"min": LEAST, "max": MOST, "step": "any", "class": "short"}),
        help_text=_("Share of suggested characters that are gold on held-out notes, such as 0.985."),
    )

    @property
    def wanted(self) -> ThresholdGoal:
        """The masking threshold that a valid form asks for."""
        data = self.cleaned_data
        return ThresholdGoal(data["threshold"], data["recall"], data["precision"])


class MergeForm(forms.Form):
    """The authors of the chosen runs. The service checks their number."""

    run = WholesField(required=False)
