from typing import Any

from django import forms
from django.core.validators import RegexValidator
from django.utils.translation import gettext_lazy as _

from annotations.core.forms import offer
from annotations.text.labels import LabelSetDef

LANGUAGE = RegexValidator(
    r"\A[A-Za-z]{2,3}(-[A-Za-z0-9]{2,4})?\Z",
    _("Enter a language code of two or three letters, such as it, es or en, or leave the field empty."),
)


class ProjectForm(forms.Form):
    """Form for a new project."""

    name = forms.CharField(label=_("Name"), max_length=120, widget=forms.TextInput(attrs={"autocomplete": "off"}))
    label_set = forms.ChoiceField(label=_("Label set"), widget=forms.RadioSelect)
    language = forms.CharField(
        label=_("Language of the notes"),
        max_length=8,
        required=False,
        validators=[LANGUAGE],
        help_text=_("A code such as it, es or en. Leave the field empty if notes have different languages."),
        widget=forms.TextInput(attrs={"autocomplete": "off", "list": "languages", "class": "short"}),
    )

    def __init__(self, *args: Any, label_sets: dict[str, LabelSetDef], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        offer(self, "label_set", [(key, found.name) for key, found in label_sets.items()])
