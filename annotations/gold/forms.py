from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from annotations.core.forms import LineField, WholeField
from annotations.gold.rules import Split
from annotations.gold.services.splitting import HOLD_OUT, SEED_LENGTH

# The seed, which names the split, of a ready-made one without a name.
READY_MADE = "ready-made"
# The field beside which an error of a ready-made split is shown, by its code.
REFUSED_AT = {"from": "lines"}


class FreezeForm(forms.Form):
    """The reason for freezing a version, shown with the version permanently."""

    reason = LineField(
        label=_("Reason"),
        max_length=300,
        required=False,
        help_text=_("Shown with the version permanently. Don't enter personal data."),
    )


class HoldOutForm(forms.Form):
    """The share of notes that the first round of the loop holds out; later rounds hold out the same notes."""

    share = WholeField(
        label=_("Hold-out, percent of the notes"),
        least=1,
        most=90,
        initial=HOLD_OUT,
        help_text=_(
            "Notes are held out by patient. Every round holds out the same notes, so that models can be compared."
        ),
    )


class SplitForm(forms.Form):
    """Seed and shares of a train/dev/test split. The service checks them."""

    seed = LineField(
        label=_("Seed"),
        max_length=SEED_LENGTH,
        initial="split-1",
        help_text=_("Any word. The same seed in a later version keeps every patient in the same split."),
    )
    train = WholeField(label=_("Train, percent"), least=1, most=100, initial=80)
    dev = WholeField(label=_("Dev, percent"), least=0, most=99, initial=10)
    test = WholeField(label=_("Test, percent"), least=0, most=99, initial=10)

    def clean(self) -> dict[str, Any]:
        found = super().clean() or {}
        shares = [share for split in Split if (share := found.get(split)) is not None]
        if len(shares) == len(Split) and sum(shares) != 100:
            raise forms.ValidationError(_("Train, dev and test must add up to 100 percent."))
        return found

    @property
    def shares(self) -> dict[str, int]:
        return {split: self.cleaned_data[split] for split in Split}


class ReadyMadeForm(forms.Form):
    """A ready-made split: one line for each note or pattern. The service checks the lines."""

    lines = forms.CharField(
        label=_("Ready-made split"),
        max_length=5_000_000,
        help_text=_("One note per line, such as case-1,dev. A pattern such as dev/* stands for all notes of a folder."),
        widget=forms.Textarea(attrs={"rows": 5, "spellcheck": "false", "autocomplete": "off"}),
    )
    seed = LineField(
        label=_("Name of the split"),
        max_length=SEED_LENGTH,
        initial=READY_MADE,
        help_text=_("Replaces the seed. The same name in a later version keeps every patient in the same split."),
    )
