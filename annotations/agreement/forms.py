from django import forms
from django.utils.translation import gettext_lazy as _

from annotations.core.forms import WholeField

LONGEST = 4000


class AmendmentForm(forms.Form):
    """One rule for the guidelines; `seen_version` is the version of the guidelines that the page showed."""

    text = forms.CharField(
        label=_("Rule"),
        max_length=LONGEST,
        help_text=_("Markdown. The rule is added at the end of the guidelines, with a number and today's date."),
        widget=forms.Textarea(attrs={"rows": 8, "dir": "auto"}),
    )
    seen_version = WholeField(label=_("Version of the guidelines"), widget=forms.HiddenInput())
