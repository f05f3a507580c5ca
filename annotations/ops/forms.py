from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.core.files.uploadedfile import UploadedFile
from django.utils.translation import gettext_lazy as _

from annotations.core.services import ServiceError
from annotations.exchange.services.sources import NoteRow, parse_note_rows
from annotations.ops.selectors.webhooks import KINDS
from annotations.ops.services.webhooks.webhooks import LONGEST


class ArchiveForm(forms.Form):
    """A project archive, and the short name of the project that it becomes."""

    archive = forms.FileField(
        label=_("Project archive"), help_text=_("The .zip that another project's settings or export_archive wrote.")
    )
    slug = forms.SlugField(
        label=_("Short name"),
        required=False,
        max_length=60,
        help_text=_("Part of the project's addresses. Empty: the short name that is written in the archive."),
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )


# What is typed exactly as it stands elsewhere.
EXACT = {"autocomplete": "off", "autocapitalize": "none", "spellcheck": "false"}
# Forms for erasing a patient's notes, for setting patient ids, and for deleting a project.


CSV_BYTES = 20 * 1024 * 1024


class PatientForm(forms.Form):
    """Choose a patient. Sent by POST only, so that the id appears in no address and no log."""

    patient_id = forms.CharField(
        label=_("Patient ID"),
        max_length=80,
        help_text=_("Exactly as imported with the notes. The ID is not stored in addresses, logs or events."),
        widget=forms.TextInput(attrs=EXACT),
    )


class EraseForm(forms.Form):
    """Confirm an erasure by typing the patient id again."""

    patient_id = forms.CharField(max_length=80, widget=forms.HiddenInput)
    again = forms.CharField(label=_("Repeat the patient ID"), max_length=80, widget=forms.TextInput(attrs=EXACT))

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        if "again" in cleaned and cleaned["again"] != cleaned.get("patient_id"):
            self.add_error("again", _("This is not the patient ID of the preview. Nothing was erased."))
        return cleaned


class PatientsFileForm(forms.Form):
    """Upload a CSV file about notes. The cleaned value maps note names to patient id, type and site."""

    file = forms.FileField(
        label=_("CSV file"),
        help_text=_("UTF-8, with the column name, and patient_id, type or site. Empty cells are ignored."),
        widget=forms.FileInput(attrs={"accept": ".csv,text/csv"}),
    )

    def clean_file(self) -> dict[str, NoteRow]:
        file: UploadedFile[Any] = self.cleaned_data["file"]
        if (file.size or 0) > CSV_BYTES:
            raise ValidationError(_("This file is larger than 20 MB. Split the file. Nothing was changed."))
        try:
            return parse_note_rows(file.read(), str(_("The file")))
        except ServiceError as error:
            raise ValidationError(str(error)) from error


class DeleteProjectForm(forms.Form):
    """Confirm a deletion by typing the project's name."""

    name = forms.CharField(
        label=_("Name of the project"),
        max_length=120,
        strip=False,
        help_text=_("Exactly as above, with the same capital letters."),
        widget=forms.TextInput(attrs=EXACT),
    )


# The form of a webhook: its address, and the events that it wants.


class WebhookForm(forms.Form):
    """`url` is checked against the list of hosts by the service."""

    url = forms.CharField(
        label=_("Address"),
        max_length=LONGEST,
        widget=forms.URLInput(attrs={"autocomplete": "off", "spellcheck": "false", "placeholder": "https://"}),
        help_text=_("The URL that receives the messages. Its host must be on the list of this instance."),
        error_messages={"required": _("Enter the address.")},
    )
    kinds = forms.MultipleChoiceField(
        label=_("Events"),
        choices=list(KINDS.items()),
        widget=forms.CheckboxSelectMultiple,
        error_messages={
            "required": _("Choose at least one event."),
            "invalid_choice": _("There is no event %(value)s. Choose from the list."),
        },
    )
