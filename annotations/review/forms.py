"""The form that plans a bulk act: runs, rule, and whether to accept or to reject."""

from collections.abc import Sequence
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from annotations.core.access import Access
from annotations.core.forms import RadioField, WholeField, offer
from annotations.core.labels import labels_of
from annotations.models import Author, BulkAct
from annotations.review.selectors.bulk_rules import BulkRule, Kind

SOURCE_LENGTH = 80


class BulkForm(forms.Form):
    """Select suggestions by a minimum confidence, or by the agreement of several runs."""

    runs = forms.TypedMultipleChoiceField(label=_("Runs"), coerce=int, widget=forms.CheckboxSelectMultiple)
    kind = RadioField(
        label=_("Suggestions"),
        choices=[
            ("threshold", _("Minimum confidence")),
            ("agreed", _("Agreement of several runs (same bounds and label)")),
        ],
        initial="threshold",
    )
    least = forms.FloatField(
        label=_("Minimum confidence in percent"), min_value=0, max_value=100, required=False, initial=90
    )
    agree = WholeField(label=_("Minimum number of agreeing runs"), least=2, required=False, initial=2)
    label = forms.TypedChoiceField(label=_("Label"), required=False, coerce=int, empty_value=None)
    source = forms.CharField(
        label=_("Source"),
        max_length=SOURCE_LENGTH,
        required=False,
        help_text=_("Name of the rule or model that made the suggestion. Leave empty for any source."),
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )
    act = forms.ChoiceField(label=_("Action"), choices=BulkAct.Act.choices, initial=BulkAct.Act.ACCEPT)

    def __init__(self, *args: Any, access: Access, runs: Sequence[Author], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._merged = {run.pk: len(run.merged_from) for run in runs if run.merged_from is not None}
        offer(self, "runs", [(run.pk, self._name(run)) for run in runs])
        names = [(label["id"], label["name"]) for label in labels_of(access.project.pk)]
        offer(self, "label", [("", _("Any label")), *names])

    def _name(self, run: Author) -> str:
        if run.pk not in self._merged:
            return run.name
        return _("%(name)s (a merged list of %(n)d runs)") % {"name": run.name, "n": self._merged[run.pk]}

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        if cleaned.get("kind") == "threshold" and cleaned.get("least") is None and "least" not in self.errors:
            raise ValidationError({"least": _("Enter a minimum confidence.")})
        if cleaned.get("kind") == "agreed" and "runs" in cleaned:
            self._check_agreeing(cleaned["runs"], cleaned.get("agree") or 2)
        return cleaned

    def _check_agreeing(self, runs: Sequence[int], wanted: int) -> None:
        merged = [self._merged[run] for run in runs if run in self._merged]
        if merged and len(merged) < len(runs):
            message = _(
                "Choose either merged lists or single runs, not both. "
                "A merged list already contains the suggestions of its runs."
            )
            raise ValidationError({"runs": message})
        if (max(merged) if merged else len(runs)) < wanted:
            raise ValidationError({"runs": _("Choose at least as many runs as must agree.")})

    @property
    def rule(self) -> BulkRule:
        data = self.cleaned_data
        if data["kind"] == "agreed":
            kind: Kind = "merged" if set(data["runs"]) <= set(self._merged) else "agreed"
            return BulkRule(kind, sorted(data["runs"]), label=data["label"], agree=data["agree"] or 2)
        source, least = data["source"].strip() or None, data["least"] / 100
        return BulkRule("threshold", sorted(data["runs"]), label=data["label"], source=source, least=least)
