"""Settings of a project, and handing out notes by hand."""

from collections.abc import Sequence
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from annotations.forms.projects import LANGUAGE
from annotations.models import Project, User

MOST_READERS = 20


class SettingsForm(forms.Form):
    name = forms.CharField(label=_("Name"), max_length=120, widget=forms.TextInput(attrs={"autocomplete": "off"}))
    language = forms.CharField(
        label=_("Language of the notes"),
        max_length=8,
        required=False,
        validators=[LANGUAGE],
        help_text=_("For notes whose import names none, such as it, es or en."),
        widget=forms.TextInput(attrs={"autocomplete": "off", "list": "languages", "class": "short"}),
    )
    distribution = forms.ChoiceField(
        label=_("Who reads which note"), choices=Project.Distribution.choices, widget=forms.RadioSelect
    )
    readers_per_note = forms.IntegerField(
        label=_("Annotators per note"),
        min_value=1,
        max_value=MOST_READERS,
        help_text=_("The ones with the fewest open notes get it."),
        widget=forms.NumberInput(attrs={"class": "short"}),
    )

    def clean_language(self) -> str:
        return str(self.cleaned_data["language"]).lower()


class AssignForm(forms.Form):
    """Notes for one annotator, by name."""

    reader = forms.ModelChoiceField(
        label=_("Annotator"),
        queryset=User.objects.none(),
        empty_label=_("Choose an annotator"),
        error_messages={"invalid_choice": _("That person is no annotator of this project (any more).")},
    )
    names = forms.CharField(
        label=_("Names of the notes"),
        help_text=_("One per line."),
        widget=forms.Textarea(attrs={"rows": 8, "class": "mono", "spellcheck": "false"}),
    )

    def __init__(self, *args: Any, readers: Sequence[User], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["reader"].queryset = User.objects.filter(pk__in=[reader.pk for reader in readers])  # type: ignore[attr-defined]

    def clean_names(self) -> list[str]:
        lines = (line.strip() for line in str(self.cleaned_data["names"]).splitlines())
        names = list(dict.fromkeys(line for line in lines if line))
        if not names:
            raise ValidationError(_("Name at least one note."))
        return names
