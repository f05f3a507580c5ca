"""The form that maps the labels of an external model to project labels."""

from collections.abc import Mapping, Sequence
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.html import escape
from django.utils.translation import gettext_lazy as _

from annotations.models import Label
from models_runtime.runs.forms.llm import agreed_field
from models_runtime.runs.forms.names import name_field
from models_runtime.runs.services.external import Choice

UNDECIDED = "?"
# Characters in the prompts of one label.
MOST_WRITTEN = 1000


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


class ZeroShotForm(forms.Form):
    """Has a field `prompts:CODE` for each label of the project: prompts with semicolons between them, or empty."""

    may_leave = agreed_field()
    name = name_field()

    def __init__(self, *args: Any, choices: Sequence[Choice], labels: Sequence[Label], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._codes = [label.code for label in labels]
        for label in labels:
            asked = [choice.label for choice in choices if choice.ours == label.code]
            self.fields[_prompts(label.code)] = forms.CharField(
                label=label.name,
                required=False,
                max_length=MOST_WRITTEN,
                initial="; ".join(asked),
                help_text=escape(label.description[:200]),
            )
        self.order_fields([*map(_prompts, self._codes), "name"])

    def rows(self) -> list[forms.BoundField]:
        return [self[_prompts(code)] for code in self._codes]

    def clean(self) -> dict[str, Any]:
        """Refuse a prompt that stands for two labels."""
        seen: dict[str, str] = {}
        for code in self._codes:
            for prompt in self._written(code):
                if seen.setdefault(prompt, code) != code:
                    self.add_error(
                        _prompts(code), _("Another label has the prompt “%(prompt)s”, too.") % {"prompt": prompt}
                    )
        return self.cleaned_data

    def _written(self, code: str) -> list[str]:
        parts = self.cleaned_data.get(_prompts(code), "").split(";")
        return [prompt for part in parts if (prompt := " ".join(part.split()))]

    @property
    def decided(self) -> dict[str, str]:
        return {prompt: code for code in self._codes for prompt in self._written(code)}


def _prompts(code: str) -> str:
    return f"prompts:{code}"


def _name(label: str) -> str:
    return f"label:{label}"
