"""Forms to add a label mapping, and to choose how it writes each label."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from django import forms
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from annotations.core.forms import offer
from annotations.exchange.selectors.label_mappings import MappingRow
from annotations.exchange.services.label_mappings import LONGEST_CODE
from annotations.text.labels import LabelSetDef


class NameForm(forms.Form):
    name = forms.CharField(label=_("Name"), max_length=80, widget=forms.TextInput(attrs={"autocomplete": "off"}))


class NewMappingForm(NameForm):
    """Name and target of a new mapping."""

    target = forms.ChoiceField(
        label=_("Labels to write"),
        required=False,
        help_text=_("The next page suggests a label of this set for each label of the project."),
    )

    def __init__(self, *args: Any, sets: Mapping[str, LabelSetDef], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        free = ("", gettext("Any codes, as the recipient needs them"))
        offer(self, "target", [*((key, one.name) for key, one in sets.items()), free])


class MappingForm(NameForm):
    """The name, and for each label the written code, or that its spans are left out. Suggestions are preselected."""

    seen = forms.CharField(required=False, widget=forms.HiddenInput)

    def __init__(self, *args: Any, lines: Sequence[MappingRow], target: LabelSetDef | None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.lines = lines
        for line in lines:
            words = {"label": line.label.name}
            code = line.suggestion if line.code is None else line.code
            name = gettext("Written code of %(label)s") % words
            field: forms.Field
            if target:
                groups = [
                    (group.name, [(label.code, _choice(label.code, label.name)) for label in group.labels])
                    for group in target.categories
                ]
                field = forms.ChoiceField(choices=[("", gettext("Not chosen")), *groups])
            else:
                field = forms.CharField(
                    max_length=LONGEST_CODE,
                    widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false", "class": "mono"}),
                )
            field.required, field.label, field.initial = False, name, code
            field.widget.attrs["aria-label"] = name
            leave_out = forms.BooleanField(
                required=False,
                initial=line.code == "",
                label=gettext("Leave out the spans of %(label)s") % words,
            )
            leave_out.widget.attrs["aria-label"] = leave_out.label
            self.fields[f"code-{line.label.pk}"] = field
            self.fields[f"out-{line.label.pk}"] = leave_out

    def rows(self) -> Iterator[tuple[MappingRow, forms.BoundField, forms.BoundField]]:
        for line in self.lines:
            yield line, self[f"code-{line.label.pk}"], self[f"out-{line.label.pk}"]

    def codes(self) -> dict[int, str]:
        """The written code by label id; empty for a label that is left out. Labels without a choice are missing."""
        found = {}
        for line in self.lines:
            code = self.cleaned_data[f"code-{line.label.pk}"].strip()
            if self.cleaned_data[f"out-{line.label.pk}"]:
                found[line.label.pk] = ""
            elif code:
                found[line.label.pk] = code
        return found


def _choice(code: str, name: str) -> str:
    return code if code == name else f"{name} ({code})"
