"""The form that injects errors into a copy of a gold version."""

from collections.abc import Sequence
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from annotations.core.fields import WholeField
from annotations.core.offering import offer, suggest
from annotations.domain.injecting.drawing import LEAST_RATE, MOST_RATE
from annotations.domain.injecting.rules import Rule, missing
from annotations.models import GoldVersion, Project
from models_runtime.injecting.selectors import labels_for
from models_runtime.injecting.services.benching import rule_name
from models_runtime.injecting.services.starting import MOST_SEED

# The field beside which an error of the service is shown, by its code.
REFUSED_AT = {"exists": "name", "empty": "gold"}


class InjectForm(forms.Form):
    """`rules` offers the rules that can make errors with the project's labels. The service checks the rest."""

    gold = WholeField(label=_("Gold version"), widget=forms.Select())
    rules = forms.MultipleChoiceField(
        label=_("Rules"),
        widget=forms.CheckboxSelectMultiple,
        error_messages={
            "required": _("Choose at least one rule."),
            "invalid_choice": _("There is no rule %(value)s for these labels. Choose from the list."),
        },
    )
    rate = forms.FloatField(
        label=_("Errors per gold span"),
        initial=0.1,
        error_messages={
            "invalid": _("Enter a number from %(least)s to %(most)s.") % {"least": LEAST_RATE, "most": MOST_RATE}
        },
        help_text=_("0.1 puts one error for every ten gold spans into the copy."),
        widget=forms.NumberInput(attrs={"min": LEAST_RATE, "max": MOST_RATE, "step": "any"}),
    )
    seed = WholeField(
        label=_("Seed"), most=MOST_SEED, initial=7, help_text=_("The same seed and texts give the same errors.")
    )
    name = forms.CharField(
        label=_("Name"), max_length=150, required=False, help_text=_("If empty: injected-1 and so on.")
    )

    def __init__(self, *args: Any, project: Project, versions: Sequence[GoldVersion], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        lacking = missing(labels_for(project), list(Rule))
        possible = [rule for rule in Rule if rule not in lacking]
        offer(self, "rules", [(str(rule), rule_name(rule)) for rule in possible])
        self.initial["rules"] = [str(rule) for rule in possible]
        self.lacking = [rule_name(rule) for rule in lacking]
        suggest(self, "gold", [(version.number, str(version.number)) for version in versions])
