"""The form that injects errors into a copy of a gold version."""

from collections.abc import Sequence
from typing import Any

from django import forms
from django.template.defaultfilters import filesizeformat
from django.utils.translation import gettext_lazy as _

from annotations.core.errors import ServiceError
from annotations.core.forms import WholeField, offer, suggest
from annotations.models import GoldVersion, Project
from models_runtime.refining.rules.drawing import LEAST_RATE, MOST_RATE
from models_runtime.refining.rules.rules import InjectionRule, missing
from models_runtime.refining.rules.vocabulary import LOG, Term
from models_runtime.refining.selectors.injecting import has_rejections, labels_for, systemic_errors
from models_runtime.refining.services.injecting.benching import rule_name
from models_runtime.refining.services.injecting.starting import MOST_SEED, terms_in
from models_runtime.refining.services.injecting.systemic import rule_of

MOST_BYTES = 2**22

# The field beside which an error of the service is shown, by its code.
REFUSED_AT = {"exists": "name", "empty": "gold", "log": "rules"}


class InjectForm(forms.Form):
    """`rules` offers the rules that can make errors with the project's labels. The service checks the rest."""

    gold = WholeField(label=_("Gold version"), widget=forms.Select())
    rules = forms.MultipleChoiceField(
        label=_("Rules"),
        required=False,
        widget=forms.CheckboxSelectMultiple,
        error_messages={
            "invalid_choice": _("There is no rule %(value)s for these labels. Choose from the list."),
        },
    )
    vocabulary = forms.FileField(
        label=_("Vocabulary of errors (CSV)"),
        required=False,
        help_text=_("Columns: string, label. Each string is marked where gold has no span. The file is not stored."),
        widget=forms.ClearableFileInput(attrs={"accept": ".csv,text/csv"}),
    )
    rate = forms.FloatField(
        label=_("Errors per gold span"),
        initial=0.1,
        error_messages={
            "invalid": _("Enter a number from %(least)s to %(most)s.") % {"least": LEAST_RATE, "most": MOST_RATE}
        },
        help_text=_("0.1 means one error for every ten gold spans."),
        widget=forms.NumberInput(attrs={"min": LEAST_RATE, "max": MOST_RATE, "step": "any"}),
    )
    seed = WholeField(
        label=_("Seed"),
        most=MOST_SEED,
        initial=7,
        help_text=_("The same seed gives the same errors in the same notes."),
    )
    name = forms.CharField(
        label=_("Name"), max_length=150, required=False, help_text=_("If empty: injected-1 and so on.")
    )

    def __init__(self, *args: Any, project: Project, versions: Sequence[GoldVersion], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        lacking = missing(labels_for(project), list(InjectionRule))
        possible = [str(rule) for rule in InjectionRule if rule not in lacking]
        others = [*map(rule_of, systemic_errors(project)), *([LOG] if has_rejections(project) else [])]
        offer(self, "rules", [(rule, rule_name(rule)) for rule in [*possible, *others]])
        self.initial["rules"] = possible
        self.project = project
        self.lacking = [rule_name(rule) for rule in lacking]
        suggest(self, "gold", [(version.number, str(version.number)) for version in versions])

    def clean_vocabulary(self) -> list[Term]:
        """The terms of the file; none without one."""
        file = self.cleaned_data["vocabulary"]
        if not file:
            return []
        if file.size > MOST_BYTES:
            raise forms.ValidationError(
                _("The file has more than %(most)s. Split it.") % {"most": filesizeformat(MOST_BYTES)}
            )
        try:
            content = file.read().decode()
        except UnicodeDecodeError:
            raise forms.ValidationError(_("The file is not UTF-8. Save it as UTF-8, and choose it again.")) from None
        try:
            return terms_in(self.project, content, f"“{file.name}”")
        except ServiceError as error:
            raise forms.ValidationError(str(error)) from error

    def clean(self) -> dict[str, Any]:
        cleaned = dict(super().clean() or self.cleaned_data)
        if "rules" in cleaned and not cleaned["rules"] and not cleaned.get("vocabulary") and not self.errors:
            self.add_error("rules", _("Choose at least one rule."))
        return cleaned


class AcceptForm(forms.Form):
    """Accepts a cluster under a name. The service checks the name."""

    key = forms.CharField(max_length=16, widget=forms.HiddenInput())
    seed = WholeField(label=_("Seed"), most=MOST_SEED, widget=forms.HiddenInput())
    name = forms.CharField(
        label=_("Name"),
        max_length=30,
        help_text=_("A short name of the error, such as clubs-as-cities. Use a-z, 0-9 and hyphens."),
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
