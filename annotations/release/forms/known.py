"""Forms of known identifiers: a file of the patient master, and terms of the lists."""

from collections.abc import Sequence
from typing import Any, ClassVar

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from annotations.core.forms import RadioField, WholeField, offer
from annotations.models import Label
from annotations.release.services.known import MOST_BYTES
from annotations.release.services.surrogates.editing import MOST_TYPED

FORMATS = [
    ("csv", _("CSV: one row per patient, with a column “patient_id”")),
    ("fhir", _("FHIR: Patient resources as JSON, Bundle or NDJSON")),
]


class ContentField(forms.FileField):
    """A file that cleans to its content."""

    default_error_messages: ClassVar[dict[str, Any]] = {"required": _("Choose a file.")}

    def clean(self, data: Any, initial: Any = None) -> bytes:
        file = super().clean(data, initial)
        if file.size > MOST_BYTES:
            raise ValidationError(_("This file is larger than 20 MB. Split it into several files."))
        content: bytes = file.read()
        return content


class MasterForm(forms.Form):
    """A file of the patient master."""

    format = RadioField(label=_("Format"), choices=FORMATS, initial="csv")
    file = ContentField(label=_("File"))


class TermsForm(forms.Form):
    """Terms to add to a list, one per line. `labels` are those of the project."""

    which = RadioField(
        label=_("List"),
        choices=[("deny", _("Deny: identifies wherever it is")), ("allow", _("Allow: may stay in released text"))],
        initial="deny",
    )
    terms = forms.CharField(
        label=_("Terms"),
        max_length=200_000,
        widget=forms.Textarea(attrs={"rows": 4, "spellcheck": "false", "autocapitalize": "none"}),
        help_text=_("One per line. Case and accents don't matter."),
        error_messages={"required": _("Enter at least one term.")},
    )
    label = forms.ChoiceField(
        label=_("Label of denied terms"), required=False, help_text=_("Allowed terms need no label.")
    )

    def __init__(self, *args: Any, labels: Sequence[Label], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        offer(self, "label", [("", _("Choose a label")), *((label.code, label.name) for label in labels)])

    def labeled_terms(self) -> list[tuple[str, str]]:
        """The terms of a valid form, each with its label."""
        return [(term, self.cleaned_data["label"]) for term in self.cleaned_data["terms"].splitlines()]


class ListsFileForm(forms.Form):
    """A CSV file with terms of both lists."""

    file = ContentField(
        label=_("CSV file"),
        help_text=_("UTF-8, with columns list (allow or deny), term and label."),
        widget=forms.FileInput(attrs={"accept": ".csv,text/csv"}),
    )


# Forms of the pages of surrogates.


ACTS = ("lock", "unlock", "replace", "draw", "restore", "split")


class SearchForm(forms.Form):
    """Search for a name or a surrogate. The words are in the body of the request, never in an address."""

    text = forms.CharField(label=_("Name or surrogate"), max_length=MOST_TYPED)


class ChangeForm(forms.Form):
    """A change of one entity: what to do, and the version that the person saw."""

    act = forms.ChoiceField(choices=[(act, act) for act in ACTS])
    version = WholeField(label=_("Version"))
    text = forms.CharField(max_length=MOST_TYPED, required=False)
