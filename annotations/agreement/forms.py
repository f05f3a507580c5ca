from django import forms
from django.utils.translation import gettext_lazy as _

LONGEST = 4000


class AmendmentForm(forms.Form):
    """One rule for the guidelines; `seen_version` is the version of the guidelines that the page showed."""

    text = forms.CharField(
        label=_("The rule"),
        max_length=LONGEST,
        help_text=_("Markdown. It is added at the end of the guidelines, with its number and today's date."),
        widget=forms.Textarea(attrs={"rows": 8, "dir": "auto"}),
    )
    seen_version = forms.IntegerField(min_value=0, widget=forms.HiddenInput)
