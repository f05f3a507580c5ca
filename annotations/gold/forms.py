from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from annotations.domain.splits import Side
from annotations.gold.services.rounds import HOLD_OUT
from annotations.gold.services.splitting import SEED_LENGTH


class FreezeForm(forms.Form):
    """Why this version is frozen now; shown with it for good."""

    reason = forms.CharField(
        label=_("Reason"),
        max_length=300,
        required=False,
        help_text=_("Shown with the version, for good. No personal data here."),
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )


class HoldOutForm(forms.Form):
    """How much the first round of the loop holds out; later rounds hold out the same notes."""

    share = forms.IntegerField(
        label=_("Hold out, percent of the notes"),
        min_value=1,
        max_value=90,
        initial=HOLD_OUT,
        help_text=_("By patient, and the same notes in every round, so that all models are scored alike."),
    )

    def clean_share(self) -> int:
        return int(self.cleaned_data["share"])


class SplitForm(forms.Form):
    """Seed and shares of a train/dev/test split; what they may be is the service's to say."""

    seed = forms.CharField(
        label=_("Seed"),
        max_length=SEED_LENGTH,
        initial="split-1",
        help_text=_("Any word. The same seed in a later version keeps every patient on their side."),
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    train = forms.IntegerField(label=_("Train, percent"), min_value=1, max_value=100, initial=80)
    dev = forms.IntegerField(label=_("Dev, percent"), min_value=0, max_value=99, initial=10)
    test = forms.IntegerField(label=_("Test, percent"), min_value=0, max_value=99, initial=10)

    def clean(self) -> dict[str, Any]:
        found = super().clean() or {}
        shares = [share for side in Side if (share := found.get(side)) is not None]
        if len(shares) == len(Side) and sum(shares) != 100:
            raise forms.ValidationError(_("Train, dev and test must make 100 percent together."))
        return found

    @property
    def shares(self) -> dict[str, int]:
        return {side: self.cleaned_data[side] for side in Side}
