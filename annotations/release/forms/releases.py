"""Forms of a release: making one, and exporting it."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any, Final

from django import forms
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotations.core.forms import Agreed, offer
from annotations.exchange.forms.exports import ABOUT, FormatDescription, SetChoice, grouped
from annotations.models import Label, LabelMapping
from annotations.release.forms.policies import kind_names
from annotations.release.rules.redaction.policy import IdentifierType
from annotations.release.services.files import RELEASE_FORMATS
from annotations.release.services.surrogates.makers import MakerChoice


def about_formats() -> dict[str, FormatDescription]:
    """Title and description of each format of an export."""
    own = {
        "jsonl": FormatDescription(
            "JSON Lines", _("One line for each note: name, text, and the spans in the released text.")
        ),
        "csv": FormatDescription(
            "CSV", _("A table of the notes and a table of their spans, for spreadsheets and databases.")
        ),
    }
    return {name: own[name] if name in own else ABOUT[name] for name in RELEASE_FORMATS}


RUNS = ("run:", "refined:")
REFUSED_AT = {
    "unmapped": "policy", "policy": "policy", "set": "sets", "version": "sets", "empty": "sets", "leaves": "may_leave",
    "runs": "searched_runs", "kinds": "policy",
}  # fmt: skip
"""Codes of the errors of `start_chosen`, and the fields where they can be corrected."""


def runs_among(sets: Sequence[SetChoice]) -> list[SetChoice]:
    """The runs among annotation sets."""
    return [one for one in sets if one.spec.startswith(RUNS)]


_KIND: Final = "kind-"


def kind_field(code: str) -> str:
    """The name of the field that says the kind of a label."""
    return f"{_KIND}{code}"


def kinds_in_form(data: Mapping[str, Any]) -> dict[str, IdentifierType]:
    """The kinds of labels that a form says."""
    said = {name.removeprefix(_KIND): value for name, value in data.items() if name.startswith(_KIND)}
    return {code: IdentifierType(value) for code, value in said.items() if value in set(IdentifierType)}


class ReleaseForm(forms.Form):
    """What to release, under which policy. Sending the same `token` twice makes one release."""

    sets = forms.MultipleChoiceField(
        label=gettext_lazy("Annotations"),
        error_messages={"required": gettext_lazy("Choose the annotations that the release uses.")},
        widget=forms.CheckboxSelectMultiple,
    )
    policy = forms.ChoiceField(
        label=gettext_lazy("Policy"),
        error_messages={"required": gettext_lazy("Choose a policy.")},
        widget=forms.RadioSelect,
    )
    maker = forms.ChoiceField(
        label=gettext_lazy("Surrogates by"),
        required=False,
        error_messages={"invalid_choice": gettext_lazy("There is no model %(value)s. Choose from the list.")},
        widget=forms.RadioSelect,
    )
    may_leave = forms.BooleanField(
        label=gettext_lazy("The notes of this project may be sent to these machines"), required=False, widget=Agreed()
    )
    searched_runs = forms.MultipleChoiceField(
        label=gettext_lazy("Runs to compare with"),
        required=False,
        help_text=gettext_lazy("The leak gate finds what these runs suggested and the release does not replace."),
        widget=forms.CheckboxSelectMultiple,
    )
    keep_names = forms.BooleanField(
        label=gettext_lazy("Keep the names of the notes"),
        required=False,
        help_text=gettext_lazy("Names often hold dates and numbers. Otherwise each note gets a neutral name."),
    )
    purpose = forms.CharField(
        label=gettext_lazy("Purpose"),
        max_length=300,
        required=False,
        help_text=gettext_lazy("What the recipient may use the text for. The certificate states it."),
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    recipient = forms.CharField(
        label=gettext_lazy("Recipient"),
        max_length=200,
        required=False,
        help_text=gettext_lazy("The person or institution that gets the text."),
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    expires_on = forms.DateField(
        label=gettext_lazy("Certificate valid until"),
        required=False,
        help_text=gettext_lazy("Assess the release again by this day."),
        widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d"),
    )
    token = forms.UUIDField(widget=forms.HiddenInput)

    def __init__(
        self,
        *args: Any,
        sets: Sequence[SetChoice],
        policies: Sequence[str],
        makers: Sequence[MakerChoice],
        labels: Sequence[Label] = (),
        **kwargs: Any,
    ) -> None:
        """`labels`: those of which nobody has said the kind."""
        super().__init__(*args, **kwargs)
        grouped = groupby(sets, key=lambda choice: choice.group)
        offer(self, "sets", [(group, [(choice.spec, choice.name) for choice in found]) for group, found in grouped])
        offer(self, "searched_runs", [(one.spec, one.name) for one in runs_among(sets)])
        offer(self, "policy", [(name, name) for name in policies])
        offer(self, "maker", [("", _("Rules on this machine")), *((one.value, one.title) for one in makers)])
        kinds = [("", _("Not said: mask it")), *((str(kind), text) for kind, text in kind_names().items())]
        for label in labels:
            self.fields[kind_field(label.code)] = forms.ChoiceField(label=label.name, required=False)
            offer(self, kind_field(label.code), kinds)

    def kinds(self) -> dict[str, IdentifierType]:
        """The kinds of labels that a valid form says."""
        return kinds_in_form(self.cleaned_data)

    def clean_expires_on(self) -> Any:
        day = self.cleaned_data["expires_on"]
        if day is not None and day <= timezone.localdate():
            raise forms.ValidationError(_("The certificate must expire in the future."))
        return day


class ReleaseExportForm(forms.Form):
    """The format of an export, and a label mapping. Sending the same `token` twice starts one job."""

    format = forms.ChoiceField(label=gettext_lazy("Format"))
    labels = forms.ChoiceField(
        label=gettext_lazy("Labels"),
        required=False,
        help_text=gettext_lazy("Only in formats with spans. The text itself stays as the policy wrote it."),
    )
    leave_out = forms.BooleanField(label=gettext_lazy("Leave out the notes with open findings"), required=False)
    token = forms.UUIDField(widget=forms.HiddenInput)

    def __init__(
        self, *args: Any, about: Mapping[str, FormatDescription], mappings: Sequence[LabelMapping], **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        offer(self, "format", grouped(about))
        offer(self, "labels", [("", _("As in the project")), *((str(one.pk), one.name) for one in mappings)])
