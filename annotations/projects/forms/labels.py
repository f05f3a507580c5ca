"""Forms to edit, add and merge labels."""

from collections.abc import Sequence
from typing import Any

from django import forms
from django.utils.text import format_lazy
from django.utils.translation import gettext as _now
from django.utils.translation import gettext_lazy as _

from annotations.core.forms import LineField, WholeField, offer, offer_rows
from annotations.core.labels import COLORS
from annotations.models import Category, Label, LabelSet
from annotations.projects.services.categories import LONGEST_NAME
from annotations.text.identifiers import IdentifierType
from annotations.text.labels import RESERVED_HOTKEYS

# The highest number that the column of positions takes.
MOST_POSITION = 32_767
KEYS = " ".join(sorted(RESERVED_HOTKEYS))


class _LabelForm(forms.Form):
    """Fields of both label forms. The services check names, keys and attributes."""

    name = LineField(label=_("Name"), max_length=80)
    hotkey = forms.CharField(
        label=_("Key"),
        max_length=1,
        required=False,
        help_text=format_lazy(_("One letter (a–z) or digit. Reserved by the program: {keys}"), keys=KEYS),
        widget=forms.TextInput(attrs={"autocomplete": "off", "class": "key"}),
    )
    description = forms.CharField(
        label=_("Description"),
        max_length=2000,
        required=False,
        help_text=_("What the label covers and what not. Annotators see this text."),
        widget=forms.Textarea(attrs={"rows": 3}),
    )

    attributes = forms.CharField(
        label=_("Attributes"),
        max_length=4000,
        required=False,
        help_text=_("One per line: “Family” is yes or no, “Status: current | past” is a choice."),
        widget=forms.Textarea(attrs={"rows": 3}),
    )
    identifier = forms.ChoiceField(
        label=_("Identifier type"),
        required=False,
        help_text=_("What the label identifies decides how a release replaces it. Saved policies keep their choice."),
    )
    category = forms.ModelChoiceField(
        label=_("Category"),
        queryset=Category.objects.none(),
        empty_label=None,
        help_text=_("The label has the color of its category."),
    )

    def __init__(self, *args: Any, label_set: LabelSet, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        offer_rows(self, "category", Category.objects.filter(label_set=label_set))
        offer(self, "identifier", [("", _now("Not given")), *((one.value, _now(one.words)) for one in IdentifierType)])

    def clean_description(self) -> str:
        return str(self.cleaned_data["description"]).replace("\r\n", "\n")


class EditLabelForm(_LabelForm):
    placeholder = forms.CharField(
        label=_("Placeholder"),
        max_length=60,
        help_text=_("Replaces the span in redacted text."),
        widget=forms.TextInput(attrs={"autocomplete": "off", "class": "mono"}),
    )
    seen = forms.CharField(required=False, widget=forms.HiddenInput)
    field_order = ("name", "category", "hotkey", "placeholder", "identifier", "description", "attributes")


class AddLabelForm(_LabelForm):
    field_order = ("name", "category", "hotkey", "identifier", "description", "attributes")


class MergeForm(forms.Form):
    """Choice of the label to merge into."""

    into = forms.ModelChoiceField(
        label=_("Merge into"),
        queryset=Label.objects.none(),
        empty_label=_("Choose a label"),
        error_messages={"invalid_choice": _("This label no longer exists. Choose another.")},
    )

    def __init__(self, *args: Any, source: Label, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        others = Label.objects.filter(label_set=source.label_set_id, merged_into__isnull=True).exclude(pk=source.pk)
        offer_rows(self, "into", others)


# Forms to add, edit and move categories of labels.


class CategoryForm(forms.Form):
    """Name and color of a category. `others` are the project's other categories, whose colors the form names."""

    name = LineField(label=_("Name"), max_length=LONGEST_NAME)
    hue = forms.TypedChoiceField(
        label=_("Color"),
        coerce=int,
        widget=forms.RadioSelect,
        help_text=_("All labels of the category have this color. The underline style follows from its position."),
    )
    seen = forms.CharField(required=False, widget=forms.HiddenInput)

    def __init__(self, *args: Any, others: Sequence[Category], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        offer(self, "hue", [(hue, _color(hue, others)) for hue in range(len(COLORS))])


def _color(hue: int, others: Sequence[Category]) -> str:
    names = [other.name for other in others if other.hue == hue]
    if not names:
        return str(COLORS[hue])
    return _now("%(color)s, used by %(names)s") % {"color": COLORS[hue], "names": ", ".join(names)}


def rarest_hue(others: Sequence[Category]) -> int:
    """The first of the colors that the fewest categories have."""
    used = [other.hue for other in others]
    return min(range(len(COLORS)), key=used.count)


class MoveForm(forms.Form):
    """The place of a label in its category, or of a category in the list, counted from 0."""

    position = WholeField(label=_("Position"), most=MOST_POSITION, widget=forms.HiddenInput())
