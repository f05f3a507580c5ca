from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from annotations.core.forms import WholeField
from annotations.models import AuditPlan
from annotations.release.selectors.audits import Choices
from annotations.text.numbers import MAX_OFFSET


class PlanForm(forms.Form):
    """What a manager chooses for an audit. Shares are percentages in the form."""

    target = forms.TypedChoiceField(
        label=_("Target"),
        coerce=float,
        choices=[("0.5", "0.5%"), ("1", "1%"), ("2", "2%"), ("5", "5%"), ("10", "10%")],
        initial="1",
        help_text=_("The audit should show that at most this share of the notes contains a leak."),
    )
    confidence = forms.TypedChoiceField(
        label=_("Confidence"), coerce=float, choices=[("90", "90%"), ("95", "95%"), ("99", "99%")], initial="95"
    )
    by = forms.ChoiceField(
        label=_("Stratify by"),
        choices=AuditPlan.By.choices,
        required=False,
        help_text=_("Each stratum gets notes in proportion, and a bound of its own."),
    )
    planted = forms.TypedChoiceField(
        label=_("Notes with a planted leak"),
        coerce=float,
        choices=[("0", "0%"), ("5", "5%"), ("10", "10%"), ("20", "20%")],
        initial="10",
        help_text=_(
            "Shows an identifier of the note in place of its replacement, to measure how many leaks auditors miss. At "
            "least one note has one, unless you choose 0%."
        ),
    )
    leaks = forms.TypedChoiceField(
        label=_("Leaks allowed"),
        coerce=int,
        choices=[("0", _("None")), ("1", _("In one note")), ("2", _("In two notes"))],
        initial="0",
        help_text=_("Reading goes on until more notes with a leak are found. The sample is then larger."),
    )

    @property
    def choices(self) -> Choices:
        data: dict[str, Any] = self.cleaned_data
        return Choices(data["by"], data["confidence"] / 100, data["target"] / 100, data["planted"] / 100, data["leaks"])


class MarkForm(forms.Form):
    """A stretch of the shown text, in code points, and the code of a label."""

    note = WholeField(label=_("Note"))
    start = WholeField(label=_("Start"), most=MAX_OFFSET)
    end = WholeField(label=_("End"), most=MAX_OFFSET)
    label = forms.CharField(max_length=60)


class NoteForm(forms.Form):
    """The position of the note that the page shows, so that an old page changes no other note."""

    note = WholeField(label=_("Note"))
    mark = WholeField(label=_("Mark"), required=False)


class DecisionForm(forms.Form):
    mark = WholeField(label=_("Mark"))
    answer = forms.ChoiceField(choices=[(name, name) for name in ("replace", "accept", "dismiss", "undo")])
