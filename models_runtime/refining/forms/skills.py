from django import forms
from django.utils.translation import gettext_lazy as _

from annotations.core.forms import WholeField
from models_runtime.backends.refining.state import LONGEST


class SkillForm(forms.Form):
    """A skill in Markdown. `seen_version` is the version that the user started editing from."""

    labels = forms.CharField(
        label=_("Labels"),
        max_length=4000,
        required=False,
        help_text=_("Codes of labels, separated by blanks. * stands for all labels."),
        widget=forms.TextInput(attrs={"class": "mono"}),
    )
    text = forms.CharField(
        label=_("Guidance"),
        max_length=LONGEST,
        required=False,
        strip=False,
        help_text=_(
            "Markdown: definition, right and wrong examples, edge cases. Empty: agents don't get this guidance."
        ),
        widget=forms.Textarea(attrs={"rows": 22, "class": "mono", "dir": "auto"}),
    )
    seen_version = WholeField(label=_("Version of the guidance"), widget=forms.HiddenInput())

    def clean_text(self) -> str:
        return str(self.cleaned_data["text"]).replace("\r\n", "\n")

    def clean_labels(self) -> list[str]:
        return str(self.cleaned_data["labels"]).replace(",", " ").split()
