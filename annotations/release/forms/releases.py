"""Forms of a release: making one, and exporting it."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any, Final

from django import forms
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotations.core.forms import CheckField, ConsentCheckbox, LineField, RadioField, WholeField, offer
from annotations.exchange.forms.exports import ABOUT, FormatDescription, SetChoice, grouped
from annotations.models import AuditPlan, Label, LabelMapping
from annotations.release.rules.certificates.signatures import MOST_BYTES
from annotations.release.rules.certificates.statements import LONGEST
from annotations.release.rules.redaction.policy import IdentifierType
from annotations.release.services.audits.planning import Choices
from annotations.release.services.certificates.drafting import Terms
from annotations.release.services.certificates.signing import MOST_OWN_RISKS
from annotations.release.services.files import RELEASE_FORMATS
from annotations.release.services.starting import LONGEST_PURPOSE, LONGEST_RECIPIENT
from annotations.release.services.surrogates.makers import MakerChoice
from annotations.text.names import MAX_OFFSET


class PlanForm(forms.Form):
    """What a manager chooses for an audit. Shares are percentages in the form."""

    target = forms.TypedChoiceField(
        label=gettext_lazy("Target"),
        coerce=float,
        choices=[("0.5", "0.5%"), ("1", "1%"), ("2", "2%"), ("5", "5%"), ("10", "10%")],
        initial="1",
        help_text=gettext_lazy("The audit should show that at most this share of the notes contains a leak."),
    )
    confidence = forms.TypedChoiceField(
        label=gettext_lazy("Confidence"),
        coerce=float,
        choices=[("90", "90%"), ("95", "95%"), ("99", "99%")],
        initial="95",
    )
    by = forms.ChoiceField(
        label=gettext_lazy("Stratify by"),
        choices=AuditPlan.By.choices,
        required=False,
        help_text=gettext_lazy("Each stratum gets notes in proportion, and a bound of its own."),
    )
    planted = forms.TypedChoiceField(
        label=gettext_lazy("Notes with a planted leak"),
        coerce=float,
        choices=[("0", "0%"), ("5", "5%"), ("10", "10%"), ("20", "20%")],
        initial="10",
        help_text=gettext_lazy(
            "Shows an identifier of the note in place of its replacement, to measure how many leaks auditors miss. At "
            "least one note has one, unless you choose 0%."
        ),
    )
    leaks = forms.TypedChoiceField(
        label=gettext_lazy("Leaks allowed"),
        coerce=int,
        choices=[("0", gettext_lazy("None")), ("1", gettext_lazy("In one note")), ("2", gettext_lazy("In two notes"))],
        initial="0",
        help_text=gettext_lazy("Reading stops when more notes have a leak. A higher number needs more notes."),
    )

    @property
    def choices(self) -> Choices:
        data: dict[str, Any] = self.cleaned_data
        return Choices(data["by"], data["confidence"] / 100, data["target"] / 100, data["planted"] / 100, data["leaks"])


class MarkForm(forms.Form):
    """A stretch of the shown text, in code points, and the code of a label; without a label, the mark is removed.

    `note` is the position of the note that the page shows, so that an old page changes no other note.
    """

    note = WholeField(label=gettext_lazy("Note"))
    start = WholeField(label=gettext_lazy("Start"), most=MAX_OFFSET)
    end = WholeField(label=gettext_lazy("End"), most=MAX_OFFSET)
    label = forms.CharField(max_length=60, required=False)


class DecisionForm(forms.Form):
    mark = WholeField(label=gettext_lazy("Mark"))
    answer = forms.ChoiceField(choices=[(name, name) for name in ("replace", "accept", "dismiss", "undo")])


class CertificateTerms(forms.Form):
    """For what, for whom and until when a release is certified."""

    purpose = LineField(
        label=gettext_lazy("Purpose"),
        max_length=LONGEST_PURPOSE,
        help_text=gettext_lazy("The certificate states it."),
    )
    recipient = LineField(
        label=gettext_lazy("Recipient"),
        max_length=LONGEST_RECIPIENT,
        help_text=gettext_lazy("Who receives the text, or “the public”."),
    )
    expires_on = forms.DateField(
        label=gettext_lazy("Certificate valid until"),
        help_text=gettext_lazy(
            "The certificate is not valid after this day. Choose the day of the next risk assessment."
        ),
        widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d"),
    )


class SignForm(CertificateTerms):
    """What the signer states. The accepted risks are checkboxes named `risk`, whose values the service checks."""

    own_risks = forms.CharField(
        label=gettext_lazy("Further risks that you accept"),
        required=False,
        max_length=(LONGEST + 2) * MOST_OWN_RISKS,
        help_text=gettext_lazy("One per line. Don't enter personal data."),
        widget=forms.Textarea(attrs={"rows": 3}),
    )

    def terms(self) -> Terms:
        found: dict[str, Any] = self.cleaned_data
        return Terms(found["purpose"], found["recipient"], found["expires_on"])

    def risks(self) -> list[str]:
        return str(self.cleaned_data["own_risks"]).splitlines()


class VerifyForm(forms.Form):
    """A certificate, and optionally a zip with the released notes and a fingerprint to trust."""

    certificate = forms.FileField(label=gettext_lazy("Certificate"), help_text=gettext_lazy("The JSON or PDF file."))
    release = forms.FileField(
        label=gettext_lazy("Released notes"),
        required=False,
        help_text=gettext_lazy("A zip, as it was exported. It is compared, not kept."),
    )
    key = forms.CharField(
        label=gettext_lazy("Fingerprint of the issuer's key"),
        required=False,
        max_length=200,
        help_text=gettext_lazy("Only for a certificate of another instance: the fingerprint that its owner publishes."),
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )

    def clean_certificate(self) -> Any:
        file = self.cleaned_data["certificate"]
        if file.size > MOST_BYTES:
            raise forms.ValidationError(
                gettext_lazy("This file is too large for a certificate. Choose the JSON or PDF file.")
            )
        return file


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


class ReleaseForm(CertificateTerms):
    """What to release, under which policy. Sending the same `token` twice makes one release."""

    sets = forms.MultipleChoiceField(
        label=gettext_lazy("Annotations"),
        error_messages={"required": gettext_lazy("Choose the annotations that the release uses.")},
        widget=forms.CheckboxSelectMultiple,
    )
    policy = RadioField(label=gettext_lazy("Policy"), error_messages={"required": gettext_lazy("Choose a policy.")})
    maker = RadioField(
        label=gettext_lazy("Surrogates by"),
        required=False,
        error_messages={"invalid_choice": gettext_lazy("There is no model %(value)s. Choose from the list.")},
    )
    may_leave = CheckField(
        label=gettext_lazy("The notes of this project may be sent to these machines"),
        widget=ConsentCheckbox(),
    )
    searched_runs = forms.MultipleChoiceField(
        label=gettext_lazy("Runs to compare with"),
        required=False,
        help_text=gettext_lazy("The leak gate finds what these runs suggested and the release does not replace."),
        widget=forms.CheckboxSelectMultiple,
    )
    keep_names = CheckField(
        label=gettext_lazy("Keep the names of the notes"),
        help_text=gettext_lazy("Names often hold dates and numbers. Otherwise each note gets a neutral name."),
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
        for name in ("purpose", "recipient", "expires_on"):
            self.fields[name].required = False
        grouped = groupby(sets, key=lambda choice: choice.group)
        offer(self, "sets", [(group, [(choice.spec, choice.name) for choice in found]) for group, found in grouped])
        offer(self, "searched_runs", [(one.spec, one.name) for one in runs_among(sets)])
        offer(self, "policy", [(name, name) for name in policies])
        offer(self, "maker", [("", _("Rules on this machine")), *((one.value, one.title) for one in makers)])
        kinds = [("", _("Not specified: mask it")), *((str(kind), _(kind.words)) for kind in IdentifierType)]
        for label in labels:
            self.fields[kind_field(label.code)] = forms.ChoiceField(label=label.name, required=False, choices=kinds)

    def chosen(self) -> dict[str, Any]:
        """What a valid form says, as `start_chosen` takes it, but for the policy and the kinds of labels."""
        names = ("sets", "maker", "may_leave", "searched_runs", "keep_names", "purpose", "recipient", "expires_on")
        return {name: self.cleaned_data[name] for name in names}

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
    leave_out = CheckField(label=gettext_lazy("Leave out the notes with open findings"))
    token = forms.UUIDField(widget=forms.HiddenInput)

    def __init__(
        self, *args: Any, about: Mapping[str, FormatDescription], mappings: Sequence[LabelMapping], **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        offer(self, "format", grouped(about))
        offer(self, "labels", [("", _("As in the project")), *((str(one.pk), one.name) for one in mappings)])
