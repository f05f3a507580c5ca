"""The form for an ensemble: its method, its members and their weights."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from annotations.core.forms import offer
from annotations.text.combining import Method
from models_runtime.runs.forms.names import name_field, threshold_field
from models_runtime.runs.services.ensembles import HEAVIEST, MemberChoice, Option

MOST = 50
METHODS = [
    (Method.MAJORITY, _("Majority"), _("Spans that more than half of the members found.")),
    (
        Method.WEIGHTED,
        _("Weighted vote"),
        _("Spans found by members with more than half of the weight. Default weight: the score on held-out notes."),
    ),
    (
        Method.INTERSECTION,
        _("Intersection"),
        _("Spans that all members found: few suggestions, but nearly all correct."),
    ),
    (Method.UNION, _("Union"), _("Spans that any member found: many suggestions, few misses.")),
]


@dataclass(frozen=True)
class EnsembleRow:
    """A member on the page: its checkbox and the field for its weight."""

    option: Option
    ticked: bool
    weight: forms.BoundField


class CombineForm(forms.Form):
    """Has a field `weight:MEMBER` for each offered member. Weights of members that are not chosen are ignored."""

    method = forms.ChoiceField(
        label=_("Method"),
        choices=[(key, title) for key, title, _description in METHODS],
        initial=Method.MAJORITY,
        error_messages={"required": _("Choose a method."), "invalid_choice": _("Choose one of the four methods.")},
    )
    member = forms.MultipleChoiceField(
        label=_("Members"),
        required=False,
        error_messages={"invalid_choice": _("This project has no member %(value)s. Choose from the list.")},
    )
    name = name_field()
    threshold = threshold_field()

    def __init__(self, *args: Any, options: Sequence[Option], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._options = options
        offer(self, "member", [(option.spec, option.title) for option in options])
        for option in options:
            self.fields[_weight(option.spec)] = forms.FloatField(
                label=_("Weight of %(name)s") % {"name": option.title},
                required=False,
                initial=option.weight,
                error_messages={"invalid": _("Enter a number above 0 and at most %(most)d.") % {"most": HEAVIEST}},
                widget=forms.NumberInput(
                    attrs={
                        "min": 0,
                        "max": int(HEAVIEST),
                        "step": "any",
                        "placeholder": _("weight"),
                        "aria-label": _("Weight of %(name)s") % {"name": option.title},
                    }
                ),
            )

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        ticked = cleaned.get("member", [])
        for option in self._options:
            if option.spec not in ticked:
                self.errors.pop(_weight(option.spec), None)
        if len(ticked) > MOST:
            self.add_error("member", _("Choose at most %(most)d members.") % {"most": MOST})
        return cleaned

    def rows(self) -> list[EnsembleRow]:
        ticked = self["member"].value() or []
        return [EnsembleRow(option, option.spec in ticked, self[_weight(option.spec)]) for option in self._options]

    @property
    def members(self) -> list[MemberChoice]:
        return [MemberChoice(spec, self.cleaned_data.get(_weight(spec))) for spec in self.cleaned_data["member"]]


def _weight(spec: str) -> str:
    return f"weight:{spec}"
