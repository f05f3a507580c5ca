from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from annotations.core.forms import WholeField
from annotations.models import AuditPlan
from annotations.release.rules.certificates.signatures import MOST_BYTES
from annotations.release.rules.certificates.statements import LONGEST
from annotations.release.selectors.audits import Choices
from annotations.release.services.certificates.drafting import Terms
from annotations.release.services.certificates.signing import MOST_OWN_RISKS
from annotations.release.services.starting import LONGEST_PURPOSE, LONGEST_RECIPIENT
from annotations.text.names import MAX_OFFSET


class PlanForm(forms.Form):
    """What a manager chooses for an audit. Shares are percentages in the form."""

    target = forms.TypedChoiceField(
        label=_("Target"),
        coerce=float,
        choices=[("0.5", "0.5%"), ("1", "1%"), ("2", "2%"), ("5", "5%"), ("10", "10%")],
        initial="1",
        help_text=_("The audit should show that at most this share of the notes contains a leak."),
    )
    confidence = forms.TypedChoiceField(
        label=_("Confidence"), coerce=float, choices=[("90", "90%"), ("95", "95%"), ("99", "99%")], initial="95"
    )
    by = forms.ChoiceField(
        label=_("Stratify by"),
        choices=AuditPlan.By.choices,
        required=False,
        help_text=_("Each stratum gets notes in proportion, and a bound of its own."),
    )
    planted = forms.TypedChoiceField(
        label=_("Notes with a planted leak"),
        coerce=float,
        choices=[("0", "0%"), ("5", "5%"), ("10", "10%"), ("20", "20%")],
        initial="10",
        help_text=_(
            "Shows an identifier of the note in place of its replacement, to measure how many leaks auditors miss. At "
            "least one note has one, unless you choose 0%."
        ),
    )
    leaks = forms.TypedChoiceField(
        label=_("Leaks allowed"),
        coerce=int,
        choices=[("0", _("None")), ("1", _("In one note")), ("2", _("In two notes"))],
        initial="0",
        help_text=_("Reading goes on until more notes with a leak are found. The sample is then larger."),
    )

    @property
    def choices(self) -> Choices:
        data: dict[str, Any] = self.cleaned_data
        return Choices(data["by"], data["confidence"] / 100, data["target"] / 100, data["planted"] / 100, data["leaks"])


class MarkForm(forms.Form):
    """A stretch of the shown text, in code points, and the code of a label."""

    note = WholeField(label=_("Note"))
    start = WholeField(label=_("Start"), most=MAX_OFFSET)
    end = WholeField(label=_("End"), most=MAX_OFFSET)
    label = forms.CharField(max_length=60)


class NoteForm(forms.Form):
    """The position of the note that the page shows, so that an old page changes no other note."""

    note = WholeField(label=_("Note"))
    mark = WholeField(label=_("Mark"), required=False)


class DecisionForm(forms.Form):
    mark = WholeField(label=_("Mark"))
    answer = forms.ChoiceField(choices=[(name, name) for name in ("replace", "accept", "dismiss", "undo")])


class SignForm(forms.Form):
    """What the signer states. The accepted risks are checkboxes named `risk`, whose values the service checks."""

    purpose = forms.CharField(
        label=_("Purpose"),
        max_length=LONGEST_PURPOSE,
        help_text=_("For what the text is released. It is part of the certificate."),
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    recipient = forms.CharField(
        label=_("Recipient"),
        max_length=LONGEST_RECIPIENT,
        help_text=_("Who receives the text, or “the public”."),
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    expires_on = forms.DateField(
        label=_("Valid until"),
        help_text=_("After this day the certificate no longer verifies. Choose when the risk is to be assessed again."),
        widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d"),
    )
    own_risks = forms.CharField(
        label=_("Further risks that you accept"),
        required=False,
        max_length=(LONGEST + 2) * MOST_OWN_RISKS,
        help_text=_("One per line. Don't enter personal data."),
        widget=forms.Textarea(attrs={"rows": 3}),
    )

    def terms(self) -> Terms:
        found: dict[str, Any] = self.cleaned_data
        return Terms(found["purpose"], found["recipient"], found["expires_on"])

    def risks(self) -> list[str]:
        return str(self.cleaned_data["own_risks"]).splitlines()


class VerifyForm(forms.Form):
    """A certificate, and optionally a zip with the released notes and a fingerprint to trust."""

    certificate = forms.FileField(label=_("Certificate"), help_text=_("The JSON or PDF file."))
    release = forms.FileField(
        label=_("Released notes"), required=False, help_text=_("A zip, as it was exported. It is compared, not kept.")
    )
    key = forms.CharField(
        label=_("Fingerprint of the issuer's key"),
        required=False,
        max_length=200,
        help_text=_("Only for a certificate of another instance: the fingerprint that its owner publishes."),
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )

    def clean_certificate(self) -> Any:
        file = self.cleaned_data["certificate"]
        if file.size > MOST_BYTES:
            raise forms.ValidationError(_("This file is too large for a certificate. Choose the JSON or PDF file."))
        return file
