"""Form to search the notes of a project."""

from dataclasses import asdict
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from annotations.core.access import Access, Can
from annotations.core.forms import CheckField, offer
from annotations.core.labels import labels_of
from annotations.notes.selectors.searching import Options, Where
from annotations.notes.services.searching import LONGEST


class SearchForm(forms.Form):
    """Search text and options. Sent only by POST, since the search text is often a name."""

    text = forms.CharField(
        label=_("Search for"),
        max_length=LONGEST,
        widget=forms.TextInput(
            attrs={"autocomplete": "off", "autocapitalize": "none", "spellcheck": "false", "dir": "auto"}
        ),
    )
    word = CheckField(label=_("Whole words only"))
    case = CheckField(label=_("Match case"))
    loose = CheckField(label=_("Ignore accents"), help_text=_("“jose” then also finds “José” and “JOSÉ”."))
    where = forms.ChoiceField(label=_("Search in"), required=False)
    label = forms.TypedChoiceField(label=_("Label"), required=False, coerce=int, empty_value=None)
    annotation_set = forms.ChoiceField(label=_("Annotations"), required=False)

    def __init__(self, *args: Any, access: Access, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        offer(self, "where", [
            ("all", _("Everywhere")),
            ("unlabeled", _("Only unmarked text")),
            ("label", _("Only spans with a label"))
        ])  # fmt: skip
        names = [(label["id"], label["name"]) for label in labels_of(access.project.pk)]
        offer(self, "label", [("", _("Choose a label")), *names])
        offer(self, "annotation_set", [("own", _("My own")), ("gold", _("Gold"))])
        if not access.can(Can.READ_NOTES):
            del self.fields["annotation_set"]

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        if cleaned.get("where") == "label" and not cleaned.get("label"):
            raise ValidationError({"label": _("Choose the label to search in.")})
        return cleaned

    @property
    def options(self) -> Options:
        data = self.cleaned_data
        where: Where = data["where"] or "all"
        return Options(
            case=data["case"],
            accents=not data["loose"],
            word=data["word"],
            where=where,
            label=data["label"] if where == "label" else None,
            annotation_set=data.get("annotation_set") or "own",
        )


def initial_of(text: str, options: Options) -> dict[str, Any]:
    """Initial values of the form for an earlier search."""
    return asdict(options) | {"text": text, "loose": not options.accents, "label": options.label or ""}
