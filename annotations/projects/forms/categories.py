"""Forms to add, edit and move categories of labels."""

from collections.abc import Sequence
from typing import Any

from django import forms
from django.utils.translation import gettext as _now
from django.utils.translation import gettext_lazy as _

from annotations.core.forms import WholeField, offer
from annotations.core.labels import COLORS
from annotations.models import Category
from annotations.projects.services.categories import LONGEST_NAME, MOST_CATEGORIES


class CategoryForm(forms.Form):
    """Name and color of a category. `others` are the project's other categories, whose colors the form names."""

    name = forms.CharField(
        label=_("Name"), max_length=LONGEST_NAME, widget=forms.TextInput(attrs={"autocomplete": "off"})
    )
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
    position = WholeField(label=_("Position"), most=MOST_CATEGORIES, widget=forms.HiddenInput())
