"""The form of a new feed."""

from typing import Any, Final

from django import forms
from django.utils.translation import gettext_lazy as _

from annotations.core.forms import WholeField
from models_runtime.feeds.services.feeds import LONGEST, FeedOrder
from models_runtime.models import FeedPeriod

NO_COMPLETION: Final = {"autocomplete": "off", "spellcheck": "false"}

FIELDS: Final = {
    "name": "name", "exists": "name", "in": "source", "out": "target", "root": "source", "run": "run",
    "policy": "policy", "kinds": "policy", "percent": "read_percent", "period": "period",
}  # fmt: skip
"""The field of a form or a body that an error of `add_feed` is about, by its code."""


class FeedForm(forms.Form):
    """What a feed watches, how its notes are read and reviewed, and where they go."""

    name = forms.CharField(
        label=_("Name"), max_length=LONGEST, widget=forms.TextInput(attrs=NO_COMPLETION),
        help_text=_("Letters a-z, digits and hyphens. The names of its notes begin with it."),
    )  # fmt: skip
    source = forms.CharField(
        label=_("Incoming folder"), max_length=500, widget=forms.TextInput(attrs=NO_COMPLETION),
        help_text=_("Such as ward/in. Files are removed from there once they are imported."),
    )  # fmt: skip
    target = forms.CharField(
        label=_("Outgoing folder"), max_length=500, widget=forms.TextInput(attrs=NO_COMPLETION),
        help_text=_("Such as ward/out. It gets de-identified text, certificates and the list of withdrawn files."),
    )  # fmt: skip
    run = forms.CharField(
        label=_("Run"), max_length=120, widget=forms.TextInput(attrs={**NO_COMPLETION, "list": "feed-runs"}),
        help_text=_("A run, whose settings the feed uses, or a backend or trained model for a run of its own."),
    )  # fmt: skip
    policy = forms.CharField(
        label=_("Release policy"), max_length=60, help_text=_("The name of a policy, such as mask."),
        widget=forms.TextInput(attrs={**NO_COMPLETION, "list": "feed-policies"}),
    )  # fmt: skip
    read_percent = WholeField(
        label=_("Notes that people review, in percent"), least=0, most=100, initial=100,
        help_text=_("Drawn at random. The others are released with what the run suggests, after the leak gate."),
    )  # fmt: skip
    period = forms.ChoiceField(label=_("Certificate"), choices=FeedPeriod.choices, initial=FeedPeriod.DAY)

    @property
    def order(self) -> FeedOrder:
        """The feed as asked for; after validation."""
        given: dict[str, Any] = self.cleaned_data
        return FeedOrder(**given)
