"""Patients: whose notes are erased, and whose note a note is."""

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.core.files.uploadedfile import UploadedFile
from django.utils.translation import gettext_lazy as _

from annotations.core.errors import ServiceError
from annotations.transfer.services.sources import parse_patients

CSV_BYTES = 20 * 1024 * 1024


class PatientForm(forms.Form):
    """Which patient. Sent by POST alone, so that the id stands in no address and no log."""

    patient_id = forms.CharField(
        label=_("Patient id"),
        max_length=80,
        help_text=_("Exactly as it came with the notes. It is not kept in any address, log or event."),
        widget=forms.TextInput(attrs={"autocomplete": "off", "autocapitalize": "none", "spellcheck": "false"}),
    )


class EraseForm(forms.Form):
    """The same id, typed once more."""

    patient_id = forms.CharField(max_length=80, widget=forms.HiddenInput)
    again = forms.CharField(
        label=_("Type the patient id once more"),
        max_length=80,
        widget=forms.TextInput(attrs={"autocomplete": "off", "autocapitalize": "none", "spellcheck": "false"}),
    )

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        if "again" in cleaned and cleaned["again"] != cleaned.get("patient_id"):
            self.add_error("again", _("This is not the id that you looked at. Nothing was erased."))
        return cleaned


class PatientsFileForm(forms.Form):
    """A CSV with the columns name and patient_id; cleans to ids by note name."""

    file = forms.FileField(
        label=_("CSV file"),
        help_text=_("Columns name and patient_id, in UTF-8. A row without an id changes nothing."),
        widget=forms.FileInput(attrs={"accept": ".csv,text/csv"}),
    )

    def clean_file(self) -> dict[str, str]:
        file: UploadedFile[Any] = self.cleaned_data["file"]
        if (file.size or 0) > CSV_BYTES:
            raise ValidationError(_("This file has more than 20 MB. Split it. Nothing was changed."))
        try:
            return parse_patients(file.read(), str(_("The file")))
        except ServiceError as error:
            raise ValidationError(f"{error}.") from error
