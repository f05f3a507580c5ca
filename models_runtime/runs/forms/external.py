"""The form that maps the labels of an external model to project labels."""

from collections.abc import Mapping, Sequence
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from annotations.models import Label
from models_runtime.runs.forms.llm import agreed_field
from models_runtime.runs.forms.names import name_field
from models_runtime.runs.services.external import Choice

UNDECIDED = "?"


class _Decision(forms.Select):
    """A select that treats a missing value as undecided; only an empty value means that the label is ignored."""

    def value_from_datadict(self, data: Mapping[str, Any], files: Any, name: str) -> Any:
        return data.get(name, UNDECIDED)


class _LabelField(forms.ChoiceField):
    widget = _Decision

    def clean(self, value: Any) -> Any:
        if value == UNDECIDED:
            raise ValidationError(_("Choose a label of this project, or “Nothing”."), code="undecided")
        return super().clean(value)


class ExternalForm(forms.Form):
    """Has a field `label:LABEL` for each label of the model. Its value is a project label, or empty to ignore it.

    `may_leave` is the consent to send notes to another machine, which only models on other machines need.
    """

    may_leave = agreed_field()
    name = name_field()

    def __init__(self, *args: Any, choices: Sequence[Choice], labels: Sequence[Label], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._labels = [choice.label for choice in choices]
        codes = [("", str(_("Nothing (ignore this label)"))), *((row.code, row.name) for row in labels)]
        undecided = [(UNDECIDED, str(_("Choose")))]
        for choice in choices:
            self.fields[_name(choice.label)] = _LabelField(
                label=choice.label,
                required=False,
                choices=codes if choice.ours is not None else undecided + codes,
                initial=UNDECIDED if choice.ours is None else choice.ours,
                error_messages={"invalid_choice": _("This project has no label %(value)s. Choose from the list.")},
            )
        self.order_fields([*(_name(label) for label in self._labels), "name"])

    def rows(self) -> list[forms.BoundField]:
        return [self[_name(label)] for label in self._labels]

    @property
    def decided(self) -> dict[str, str]:
        return {label: self.cleaned_data[_name(label)] for label in self._labels}


def _name(label: str) -> str:
    return f"label:{label}"
