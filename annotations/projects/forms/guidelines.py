from django import forms
from django.utils.translation import gettext_lazy as _

LENGTH = 200_000


class GuidelinesForm(forms.Form):
    """The guidelines in Markdown; `seen_version` is the version they were begun from."""

    text = forms.CharField(
        label=_("Guidelines"),
        max_length=LENGTH,
        required=False,
        strip=False,
        help_text=_("Markdown: # heading, - list, **bold**, | tables |, [link](https://…). No HTML."),
        widget=forms.Textarea(attrs={"rows": 22, "class": "mono", "dir": "auto"}),
    )
    seen_version = forms.IntegerField(min_value=0, widget=forms.HiddenInput)

    def clean_text(self) -> str:
        return str(self.cleaned_data["text"]).replace("\r\n", "\n")
