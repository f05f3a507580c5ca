from django import forms
from django.utils.translation import gettext_lazy as _

from annotations.core.forms import WholeField

LENGTH = 200_000


class GuidelinesForm(forms.Form):
    """Guidelines in Markdown. `seen_version` is the version that the user started editing from."""

    text = forms.CharField(
        label=_("Guidelines"),
        max_length=LENGTH,
        required=False,
        strip=False,
        help_text=_("Markdown: # heading, - list, **bold**, | table |, [link](https://…). No HTML."),
        widget=forms.Textarea(attrs={"rows": 22, "class": "mono", "dir": "auto"}),
    )
    seen_version = WholeField(label=_("Version of the guidelines"), widget=forms.HiddenInput())

    def clean_text(self) -> str:
        return str(self.cleaned_data["text"]).replace("\r\n", "\n")
