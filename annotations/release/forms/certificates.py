from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from annotations.release.rules.certificates.risks import LONGEST
from annotations.release.rules.certificates.signatures import MOST_BYTES
from annotations.release.services.certificates.drafting import Terms
from annotations.release.services.certificates.signing import LONGEST_PURPOSE, LONGEST_RECIPIENT, MOST_OWN_RISKS


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
