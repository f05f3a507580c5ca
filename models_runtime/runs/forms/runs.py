"""The forms that start a run of a backend or model, and that merge several runs for review."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from django import forms
from django.utils.translation import gettext_lazy as _

from annotations.core.access import Access
from annotations.core.forms import CheckField, LineField, WholeField, WholesField, offer
from annotations.models import Author
from annotations.text.combining import Method
from models_runtime.models import Run
from models_runtime.runs.services.backends import LEAST, MOST, ThresholdGoal
from models_runtime.runs.services.ensembles import HEAVIEST, MemberChoice, Option, review_together, start_ensemble
from models_runtime.runs.services.ensembles import MOST as MOST_MERGED
from models_runtime.runs.services.runs import LONGEST_NAME, start_run

# Fields that several forms have that start a run.


if TYPE_CHECKING:
    from django.utils.functional import _StrOrPromise


def name_field(help_text: "_StrOrPromise" = "") -> forms.CharField:
    """Make the field for the name of a run. If it is empty, the run is named after its backend."""
    return LineField(label=_("Name"), max_length=LONGEST_NAME, required=False, help_text=help_text)


def _share_field(label: "_StrOrPromise", help_text: "_StrOrPromise", step: str = "any") -> forms.FloatField:
    """A share between LEAST and MOST. The service checks its bounds."""
    widget = forms.NumberInput(attrs={"min": LEAST, "max": MOST, "step": step, "class": "short"})
    return forms.FloatField(label=label, required=False, widget=widget, help_text=help_text)


def threshold_field(label: "_StrOrPromise" = "") -> forms.FloatField:
    """The field for the masking threshold of a run."""
    about = _("Also suggest words whose probability of any label is above this, such as 0.05. Empty: off.")
    return _share_field(label or _("Masking threshold"), about, "0.001")


# The field beside which an error of the service is shown, by its code.
REFUSED_AT = {
    "labels": "backend",
    "members": "backend",
    "llm": "backend",
    "pipeline": "backend",
    "known": "backend",
    "exists": "name",
    "threshold": "threshold",
}


class RunForm(forms.Form):
    """`backend` is a backend's key or `model:ID`. The service checks whether it exists."""

    backend = forms.CharField(label=_("Backend"), max_length=200, error_messages={"required": _("Choose a backend.")})
    name = name_field(_("If empty, the run is named after the backend."))
    left = CheckField(label=_("Only notes that are not gold yet"))
    threshold = threshold_field(_("Threshold"))
    recall = _share_field(
        _("Or: recall to reach"), _("Share of identifying characters that are found on held-out notes, such as 0.99.")
    )
    precision = _share_field(
        _("Or: precision to reach"), _("Share of suggested characters that are gold on held-out notes, such as 0.985.")
    )

    def start(self, access: Access, key: str) -> Run:
        """Start the run that a valid form asks for. Raises ServiceError."""
        data = self.cleaned_data
        wanted = ThresholdGoal(data["threshold"], data["recall"], data["precision"])
        chosen = {name: data[name] for name in ("backend", "name", "left")}
        return start_run(project=access.project, actor=access.user, key=key, wanted=wanted, **chosen)


class MergeForm(forms.Form):
    """The authors of the chosen runs. The service checks their number."""

    run = WholesField(required=False)

    def start(self, access: Access, key: str) -> Run:
        """Merge the runs of the project among those that a form asks for. Raises ServiceError."""
        wanted = self.cleaned_data["run"][: MOST_MERGED + 1] if self.is_valid() else []
        rows = Author.objects.filter(project=access.project, kind__in=Author.MODELS, pk__in=wanted)
        names = list(rows.order_by("pk").values_list("name", flat=True))
        return review_together(project=access.project, runs=names, actor=access.user, key=key)


# The form for a comparison: authors, gold version and split.


# The field beside which an error of the service is shown, by its code.
COMPARISON_REFUSED_AT = {"number": "a", "author": "a", "notes": "a", "version": "gold", "language": "language"}


class StrategiesForm(forms.Form):
    """`gold` is the number of a version. The view checks the choices."""

    gold = WholeField(label=_("Gold"), required=False)
    language = forms.CharField(label=_("Language"), max_length=8, required=False)
    split = forms.CharField(label=_("Notes of"), max_length=10, required=False)


class CompareForm(StrategiesForm):
    """`gold` may also be 0, for the current gold; `a` are ids of authors. The service checks them."""

    a = WholesField(label=_("Annotation sets"), required=False)


# The form for an ensemble: its method, its members and their weights.


MOST_MEMBERS = 50
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


class CombineForm(forms.Form):
    """Has a field `weight:MEMBER` for each offered member. Weights of members that are not chosen are ignored."""

    method = forms.ChoiceField(
        label=_("Method"),
        choices=[(key, title) for key, title, _description in METHODS],
        initial=Method.MAJORITY,
        error_messages={"required": _("Choose a method.")},
    )
    member = forms.MultipleChoiceField(label=_("Members"), required=False)
    name = name_field()
    threshold = threshold_field()

    def __init__(self, *args: Any, options: Sequence[Option], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._options = options
        offer(self, "member", [(option.spec, option.title) for option in options])
        limits = {"min": 0, "max": int(HEAVIEST), "step": "any", "placeholder": _("weight")}
        for option in options:
            title = _("Weight of %(name)s") % {"name": option.title}
            self.fields[_weight(option.spec)] = forms.FloatField(
                label=title,
                required=False,
                initial=option.weight and round(option.weight, 2),
                error_messages={"invalid": _("Enter a number above 0 and at most %(most)d.") % {"most": HEAVIEST}},
                widget=forms.NumberInput(attrs=limits | {"aria-label": title}),
            )

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        ticked = cleaned.get("member", [])
        for option in self._options:
            if option.spec not in ticked:
                self.errors.pop(_weight(option.spec), None)
        if len(ticked) > MOST_MEMBERS:
            self.add_error("member", _("Choose at most %(most)d members.") % {"most": MOST_MEMBERS})
        return cleaned

    def rows(self) -> list[tuple[Option, bool, forms.BoundField]]:
        """Each member, whether its checkbox is ticked, and the field for its weight."""
        ticked = self["member"].value() or []
        return [(option, option.spec in ticked, self[_weight(option.spec)]) for option in self._options]

    def start(self, access: Access, key: str) -> Run:
        """Start the ensemble that a valid form asks for. Raises ServiceError."""
        data = self.cleaned_data
        members = [MemberChoice(spec, data.get(_weight(spec))) for spec in data["member"]]
        return start_ensemble(
            project=access.project, members=members, method=data["method"], name=data["name"],
            wanted=ThresholdGoal(data["threshold"]), actor=access.user, key=key,
        )  # fmt: skip


def _weight(spec: str) -> str:
    return f"weight:{spec}"
