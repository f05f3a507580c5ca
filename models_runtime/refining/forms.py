"""The forms of refinements, guidance, injected errors and judgings."""

from collections.abc import Sequence
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.template.defaultfilters import filesizeformat
from django.utils.translation import gettext_lazy as _

from annotations.core.forms import LineField, WholeField, offer, suggest
from annotations.core.services import ServiceError
from annotations.gold.rules import Split
from annotations.models import Author, AuthorKind, GoldVersion, Project
from annotations.scores.rules.judging import STANDARD, THRESHOLD, JudgedUnit
from annotations.scores.selectors import Reference, authors_with_notes
from annotations.text.names import MAX_OFFSET
from models_runtime.backends.llm.prompts import LANGUAGES
from models_runtime.backends.llm.servers import Server
from models_runtime.backends.refining.state import LONGEST, Component
from models_runtime.models import Refinement
from models_runtime.refining.jobs.by_model import MOST
from models_runtime.refining.jobs.refining import METHODS, WITH_MODEL
from models_runtime.refining.rules.injection import LEAST_RATE, LOG, MOST_RATE, Term
from models_runtime.refining.rules.rules import InjectionRule, missing
from models_runtime.refining.selectors import has_rejections, labels_for, systemic_errors
from models_runtime.refining.services.bench import rule_name
from models_runtime.refining.services.injecting import MOST_SEED, rule_of, terms_in
from models_runtime.refining.services.judging import PROMPTS, RULE_NAMES
from models_runtime.refining.services.refining import MOST_LIMIT, RefinementChoice
from models_runtime.runs.forms.models import agreed_field, models_of, preset_field

# The field beside which an error of the service is shown, by its code.
REFINEMENT_REFUSED_AT = {"empty": "run", "exists": "name", "version": "gold", "leaves": "may_leave", "params": "model"}
JUDGING_REFUSED_AT = {"version": "gold", "leaves": "may_leave"}
INJECTION_REFUSED_AT = {"exists": "name", "empty": "gold", "log": "rules"}

MOST_BYTES = 2**22
MOST_JUDGES = 9
HOTTEST = 2.0
LARGEST_THRESHOLD = 0.9999


def _number_field(least: float, most: float, wrong: Any, **more: Any) -> forms.FloatField:
    """A number within limits. Every error is the same sentence."""
    errors = dict.fromkeys(("invalid", "min_value", "max_value"), wrong)
    widget = forms.NumberInput(attrs={"step": "any"})
    return forms.FloatField(min_value=least, max_value=most, error_messages=errors, widget=widget, **more)


def _named(authors: Sequence[Author]) -> list[tuple[int, str]]:
    """Choices of authors: what is not a run has its kind beside its name."""
    return [
        (one.pk, one.name if one.kind == AuthorKind.RUN else f"{one.name} ({one.get_kind_display()})")
        for one in authors
    ]


class RefineForm(forms.Form):
    """`run` is the id of an author whose annotations are refined. The service checks the rest."""

    run = WholeField(label=_("Annotations of"), widget=forms.Select())
    method = forms.ChoiceField(
        label=_("Method"),
        choices=[(one.value, one.label) for one in Refinement.Method if one in METHODS],
        initial=Refinement.Method.OFFLINE,
        help_text=_("The offline agent learns from gold and asks no language model."),
    )
    gold = WholeField(
        label=_("Gold version"),
        required=False,
        widget=forms.Select(),
        help_text=_(
            "The offline agent and the examples in questions use only its notes of other patients. "
            "Without gold, the offline agent decides by fixed rules."
        ),
    )
    model = forms.ChoiceField(
        label=_("Language model"), required=False, help_text=_("The offline agent asks no language model.")
    )
    may_leave = agreed_field()
    language = forms.ChoiceField(
        label=_("Language of the prompt"),
        choices=[("", _("the project's, or English")), *LANGUAGES.items()],
        required=False,
    )
    examples = WholeField(
        label=_("Examples in each question"),
        most=MOST,
        initial=0,
        required=False,
        help_text=_("Annotations of other patients with the right answers from the gold version."),
    )
    preset = preset_field(WITH_MODEL.values(), _("The prompt of a paper, in its language, to repeat its experiment."))
    without = forms.MultipleChoiceField(
        label=_("Components to switch off"),
        choices=[(one.value, _(one.words)) for one in Component],
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text=_("To measure what a component contributes."),
    )
    steps = WholeField(
        label=_("Maximum questions per note"),
        least=1,
        most=MOST_LIMIT,
        required=False,
        help_text=_("If empty: ten, plus four per annotation."),
    )
    tokens = WholeField(
        label=_("Maximum tokens per note"),
        least=1,
        most=MOST_LIMIT,
        required=False,
        help_text=_("Input and output together. If empty: 500,000."),
    )
    name = forms.CharField(
        label=_("Name"),
        max_length=150,
        required=False,
        help_text=_("If empty: the run's name, the method and a number."),
    )

    def __init__(
        self,
        *args: Any,
        sources: Sequence[Author],
        versions: Sequence[GoldVersion],
        servers: Sequence[Server],
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self._source_of = {one.pk: one.name for one in sources}
        suggest(self, "run", _named(sources))
        offer(self, "model", [("", _("the first in the list")), *models_of(servers)])
        newest = [("", _("The newest version; for injected errors, the one they were put into"))]
        suggest(self, "gold", [*newest, *((version.number, str(version.number)) for version in versions)])

    def clean_run(self) -> str:
        """The name of the author."""
        if self.cleaned_data["run"] not in self._source_of:
            raise ValidationError(_("Choose a run from the list."))
        return self._source_of[self.cleaned_data["run"]]

    @property
    def asked(self) -> RefinementChoice:
        """What the person chose for a language model."""
        cleaned = self.cleaned_data
        server, _space, model = cleaned["model"].partition(" ")
        numbers: dict[str, Any] = {name: cleaned[name] or 0 for name in ("examples", "steps", "tokens")}
        others = {name: cleaned[name] for name in ("language", "may_leave", "without", "preset")}
        return RefinementChoice(server, model, **numbers, **others)


class CompareForm(forms.Form):
    """Two refinements, by their ids."""

    first = WholeField(label=_("First refinement"), widget=forms.Select())
    second = WholeField(label=_("Second refinement"), widget=forms.Select())

    def __init__(self, *args: Any, rows: Sequence[Refinement], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name in ("first", "second"):
            suggest(self, name, [(row.pk, row.author.name) for row in rows])


class JudgeForm(forms.Form):
    """`judge` is “server model” from DEIDREVIEW_LLM_SERVERS. The service checks the author and the gold version."""

    author = WholeField(label=_("Annotations of"), widget=forms.Select())
    gold = WholeField(label=_("Gold version"), widget=forms.Select())
    split = forms.ChoiceField(label=_("Notes of"), required=False)
    notes = WholeField(
        label=_("Maximum number of notes"),
        least=1,
        most=MAX_OFFSET,
        required=False,
        help_text=_("A fixed sample of the version's notes. If empty, judges are asked about all notes."),
    )
    judge = forms.MultipleChoiceField(
        label=_("Judges"),
        widget=forms.CheckboxSelectMultiple,
        help_text=_(
            "Choose 1 to %(most)d judges. Three or more from different providers give the most reliable majority."
        )
        % {"most": MOST_JUDGES},
        error_messages={"required": _("Choose 1 to %(most)d judges.") % {"most": MOST_JUDGES}},
    )
    may_leave = agreed_field()
    rules = forms.ChoiceField(
        label=_("Rules"),
        choices=list(RULE_NAMES.items()),
        initial=STANDARD.key,
        help_text=_("What judges are asked, and which of their verdicts count. Both rules are explained below."),
    )
    unit = forms.ChoiceField(
        label=_("An entity is"),
        required=False,
        choices=[("", _("as the rules say")), *((one.value, _(one.words)) for one in JudgedUnit)],
    )
    temperature = _number_field(
        0,
        HOTTEST,
        _("Enter a number from 0 to %(most)g.") % {"most": HOTTEST},
        label=_("Temperature"),
        required=False,
        help_text=_("0 makes answers repeatable; higher values vary them. If empty, the rules decide."),
    )
    threshold = _number_field(
        0.5,
        LARGEST_THRESHOLD,
        _("Enter a number from 0.5 to less than 1."),
        label=_("Threshold"),
        required=False,
        initial=THRESHOLD,
        help_text=_(
            "An entity counts if more than this share of judges give the same verdict. Other entities are discarded."
        ),
    )
    language = forms.ChoiceField(
        label=_("Language of the prompt"),
        required=False,
        choices=[("", _("the project's language")), *LANGUAGES.items()],
    )
    preset = preset_field(
        PROMPTS.values(), _("The prompt of a paper, in its language. It needs the rules of the paper.")
    )

    def __init__(
        self, *args: Any, project: Project, versions: Sequence[GoldVersion], servers: Sequence[Server], **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.versions = versions
        chosen = self._chosen()
        self.initial["gold"] = chosen.number if chosen else None
        self.authors = authors_with_notes(Reference(project, chosen)) if chosen else []
        suggest(self, "author", _named([one.author for one in self.authors]))
        suggest(self, "gold", [(version.number, str(version.number)) for version in versions])
        offer(self, "split", [("", _("the whole version")), *((name, name) for name in Split)])
        if not any(version.split_seed for version in versions):
            self.fields["split"].widget = forms.HiddenInput()
        offer(self, "judge", models_of(servers))

    def clean_judge(self) -> list[str]:
        judges = list(dict.fromkeys(self.cleaned_data["judge"]))
        if len(judges) > MOST_JUDGES:
            raise ValidationError(_("Choose 1 to %(most)d judges.") % {"most": MOST_JUDGES})
        return judges

    def _chosen(self) -> GoldVersion | None:
        """The version whose authors are offered: the chosen one, by default the first."""
        try:
            wanted = self.fields["gold"].to_python(self["gold"].data if self.is_bound else self.initial.get("gold"))
        except ValidationError:
            wanted = None
        return next((one for one in self.versions if one.number == wanted), self.versions[0] if self.versions else None)


class InjectForm(forms.Form):
    """`rules` offers the rules that can make errors with the project's labels. The service checks the rest."""

    gold = WholeField(label=_("Gold version"), widget=forms.Select())
    rules = forms.MultipleChoiceField(label=_("Rules"), required=False, widget=forms.CheckboxSelectMultiple)
    vocabulary = forms.FileField(
        label=_("Vocabulary of errors (CSV)"),
        required=False,
        help_text=_("Columns: string, label. Each string is marked where gold has no span. The file is not stored."),
        widget=forms.ClearableFileInput(attrs={"accept": ".csv,text/csv"}),
    )
    rate = _number_field(
        LEAST_RATE,
        MOST_RATE,
        _("Enter a number from %(least)s to %(most)s.") % {"least": LEAST_RATE, "most": MOST_RATE},
        label=_("Errors per gold span"),
        initial=0.1,
        help_text=_("0.1 means one error for every ten gold spans."),
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
            message = _("The file has more than %(most)s. Split it.")
            raise ValidationError(message % {"most": filesizeformat(MOST_BYTES)})
        try:
            return terms_in(self.project, file.read().decode(), f"“{file.name}”")
        except UnicodeDecodeError:
            raise ValidationError(_("The file is not UTF-8. Save it as UTF-8, and choose it again.")) from None
        except ServiceError as error:
            raise ValidationError(str(error)) from error

    def clean(self) -> dict[str, Any]:
        cleaned = dict(super().clean() or self.cleaned_data)
        if "rules" in cleaned and not cleaned["rules"] and not cleaned.get("vocabulary") and not self.errors:
            self.add_error("rules", _("Choose at least one rule."))
        return cleaned


class AcceptForm(forms.Form):
    """Accepts a cluster under a name. The service checks the name."""

    key = forms.CharField(max_length=16, widget=forms.HiddenInput())
    seed = WholeField(label=_("Seed"), most=MOST_SEED, widget=forms.HiddenInput())
    name = LineField(
        label=_("Name"),
        max_length=30,
        help_text=_("A short name of the error, such as clubs-as-cities. Use a-z, 0-9 and hyphens."),
    )


class SkillForm(forms.Form):
    """A skill in Markdown. `seen_version` is the version that the user started editing from."""

    labels = forms.CharField(
        label=_("Labels"),
        max_length=4000,
        required=False,
        help_text=_("Codes of labels, separated by spaces. * stands for all labels."),
        widget=forms.TextInput(attrs={"class": "mono"}),
    )
    text = forms.CharField(
        label=_("Guidance"),
        max_length=LONGEST,
        required=False,
        strip=False,
        help_text=_(
            "Markdown: definition, right and wrong examples, edge cases. Empty: agents don't get this guidance."
        ),
        widget=forms.Textarea(attrs={"rows": 22, "class": "mono", "dir": "auto"}),
    )
    seen_version = WholeField(label=_("Version of the guidance"), widget=forms.HiddenInput())

    def clean_text(self) -> str:
        return str(self.cleaned_data["text"]).replace("\r\n", "\n")

    def clean_labels(self) -> list[str]:
        return str(self.cleaned_data["labels"]).replace(",", " ").split()
