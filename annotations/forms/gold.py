from django import forms
from django.utils.translation import gettext_lazy as _


class FreezeForm(forms.Form):
    """Why this version is frozen now; shown with it for good."""

    reason = forms.CharField(
        label=_("Reason"),
        max_length=300,
        required=False,
        help_text=_("Shown with the version, for good. No personal data here."),
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
