from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from annotations.core.forms import WholeField
from annotations.pairs.rules.alignment import MOST_WINDOW, WINDOW, AlignmentMethod
from annotations.pairs.services.starting import PairingOrder


class PileForm(forms.Form):
    """A pile of decisions, and how to pair them."""

    file = forms.FileField(
        label=_("Decisions"),
        help_text=_("A zip of text files, or Parquet with id, file_name and text."),
        error_messages={"required": _("Choose a zip or a Parquet file.")},
    )
    method = forms.ChoiceField(
        label=_("Alignment"),
        choices=[(AlignmentMethod.DIFF, _("Sequence (diff)")), (AlignmentMethod.WINDOW, _("Window, as published"))],
        initial=AlignmentMethod.DIFF,
        help_text=_("How the texts are matched. The window is the published method, for comparison."),
    )
    window = WholeField(
        label=_("Window in tokens"),
        initial=WINDOW,
        least=1,
        most=MOST_WINDOW,
        help_text=_("Tokens on each side of a hidden part that say how sure its span is."),
    )
    threshold = forms.FloatField(
        label=_("Least similarity"),
        initial=0.95,
        min_value=0.3,
        max_value=1,
        help_text=_("The share of distinct tokens that both texts have, for a decision of average length."),
        widget=forms.NumberInput(attrs={"step": "0.01"}),
    )

    @property
    def chosen(self) -> dict[str, Any]:
        """The arguments of `start_pairing`; after validation."""
        given: dict[str, Any] = self.cleaned_data
        order = PairingOrder(given["method"], given["window"], given["threshold"])
        return {"name": given["file"].name, "content": given["file"], "order": order}
