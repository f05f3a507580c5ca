"""The form for a run of a language model, with the consent to send notes to another machine."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.html import escape
from django.utils.translation import gettext_lazy as _

from annotations.core.access import Access
from annotations.core.forms import CheckField, ConsentCheckbox, WholeField, offer
from annotations.models import Label
from models_runtime.backends.llm import servers as llm
from models_runtime.backends.llm.prompts import LANGUAGES, presets_of
from models_runtime.core.external import ExternalModel
from models_runtime.models import Run
from models_runtime.runs.forms.runs import name_field
from models_runtime.runs.services.backends import NOTHING, ThresholdGoal
from models_runtime.runs.services.external import Choice, start_external
from models_runtime.runs.services.llm import start_llm_run

# The parameters that the service takes as they are.
OWN = (
    "strategy", "language", "omega", "overlap", "passes", "every_pass", "descriptions", "examples", "temperature",
    "tokens", "context", "preset", "template",
)  # fmt: skip


def where_of(server: llm.Server) -> str:
    """Return the server's name and the machine that receives the notes."""
    if server.folder:
        return f"{server.name}: {_('on the worker')}"
    if server.leaves_machine:
        return f"{server.name}: {_('%(host)s, another machine') % {'host': server.host}}"
    return f"{server.name}: {_('this machine')}"


def models_of(servers: Iterable[llm.Server]) -> list[tuple[str, str]]:
    """The choices “server model”, each with the machine that receives the notes."""
    return [(f"{one.name} {model}", f"{model} ({where_of(one)})") for one in servers for model in one.models]


def preset_field(tasks: Collection[str], help_text: Any) -> forms.ChoiceField:
    """The choice of a printed prompt for one of these tasks."""
    choices = [("", _("none")), *presets_of(tasks).items()]
    return forms.ChoiceField(label=_("Printed prompt"), required=False, choices=choices, help_text=help_text)


def agreed_field() -> forms.BooleanField:
    """The consent to send notes to another machine. Without it the service raises an error."""
    return CheckField(label=_("The notes of this project may be sent to these machines"), widget=ConsentCheckbox())


class LlmForm(forms.Form):
    """`model` is “server model” from the list in DEIDREVIEW_LLM_SERVERS."""

    model = forms.ChoiceField(label=_("Model"), error_messages={"required": _("Choose a model.")})
    may_leave = agreed_field()
    strategy = forms.ChoiceField(label=_("Strategy"), choices=list(llm.STRATEGIES.items()), initial="extract")
    language = forms.ChoiceField(
        label=_("Language of the prompt"),
        choices=list(LANGUAGES.items()),
        initial="en",
        help_text=_("The language of the notes usually works best."),
    )
    omega = WholeField(
        label=_("Words per chunk"),
        least=llm.LEAST_OMEGA,
        most=llm.MOST_OMEGA,
        initial=llm.OMEGA,
        required=False,
        help_text=_("To extract, notes are split into chunks at sentence ends. Models miss more in long chunks."),
    )
    overlap = WholeField(
        label=_("Words shared by chunks"),
        most=llm.most_overlap(llm.MOST_OMEGA),
        initial=0,
        required=False,
        help_text=_("At most half of a chunk. An identifier that the end of a chunk cuts is whole in the next one."),
    )
    passes = WholeField(
        label=_("Passes"),
        least=1,
        most=llm.MOST_PASSES,
        initial=llm.PASSES,
        required=False,
        help_text=_("From the second pass on, spans already found are masked, so that the model can find others."),
    )
    every_pass = CheckField(
        label=_("Continue after a pass that finds nothing"),
        help_text=_("Otherwise such a pass is the last one. At temperature 0, the next one rarely finds more."),
    )
    descriptions = CheckField(
        label=_("Descriptions of labels in the prompt"),
        initial=True,
        help_text=_("They tell the model what belongs to each label."),
    )
    examples = CheckField(
        label=_("Examples in the prompt"),
        help_text=_("Two invented notes with the right answers, in the language of the prompt."),
    )
    temperature = forms.CharField(
        label=_("Temperature"),
        initial="0",
        required=False,
        help_text=_("From 0 to 2. At 0, the same note gets the same answer."),
        widget=forms.TextInput(attrs={"inputmode": "decimal", "autocomplete": "off"}),
    )
    tokens = WholeField(
        label=_("Most tokens in an answer"),
        most=llm.MOST_TOKENS,
        required=False,
        help_text=_("If this is empty, as many as the note needs. Answers that are cut off count as failed."),
    )
    context = WholeField(
        label=_("Context of the model in tokens"),
        most=llm.MOST_CONTEXT,
        required=False,
        help_text=_("To extract, short notes that fit into it together share one request. Empty: one request each."),
    )
    preset = preset_field(
        llm.STRATEGIES,
        _("The prompt of a paper, to repeat its experiment. Strategy and language are then those of the paper."),
    )
    template = forms.CharField(
        label=_("Your own prompt"),
        required=False,
        max_length=llm.MOST_PROMPT,
        help_text=_("If this is empty, the built-in prompt is used. $labels stands for the labels of a question."),
        widget=forms.Textarea(attrs={"rows": 6}),
    )
    name = name_field()

    def __init__(self, *args: Any, servers: Sequence[llm.Server], language: str = "", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if language in LANGUAGES:
            self.fields["language"].initial = language
        groups = [
            (where_of(server), [(f"{server.name} {model}", model) for model in server.models]) for server in servers
        ]
        offer(self, "model", groups)

    def clean_temperature(self) -> str:
        """Check the number here, so that the error is beside its field."""
        value: str = self.cleaned_data["temperature"]
        try:
            llm.temperature_of(value)
        except ValueError as error:
            raise forms.ValidationError(str(error), code="invalid") from error
        return value

    def clean(self) -> dict[str, Any]:
        """Check the overlap here, so that the error is beside its field."""
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        most = llm.most_overlap(cleaned.get("omega") or llm.OMEGA)
        if (cleaned.get("overlap") or 0) > most:
            message = _("Chunks of this size can share at most %(most)s words.") % {"most": most}
            self.add_error("overlap", forms.ValidationError(message, code="invalid"))
        return cleaned

    def start(self, access: Access, key: str) -> Run:
        """Start the run that a valid form asks for. Raises ServiceError."""
        server, _space, model = self.cleaned_data["model"].partition(" ")
        given = {"server": server, "model": model} | {name: self.cleaned_data[name] for name in OWN}
        chosen = {name: self.cleaned_data[name] for name in ("name", "may_leave")}
        return start_llm_run(project=access.project, given=given, actor=access.user, key=key, **chosen)


# The form that maps the labels of an external model to project labels.


UNDECIDED = "?"
# Characters in the prompts of one label.
MOST_WRITTEN = 1000


class _Decision(forms.Select):
    """A select that treats a missing value as undecided; only an empty value means that the label is ignored."""

    def value_from_datadict(self, data: Mapping[str, Any], files: Any, name: str) -> Any:
        return data.get(name, UNDECIDED)


class _DecisionField(forms.ChoiceField):
    """The code of a project's label for a choice, empty for none, or UNDECIDED, which is an error if it is `needed`."""

    def __init__(self, choice: Choice, offered: Sequence[tuple[str, str]], *, needed: bool) -> None:
        initial, self.needed = UNDECIDED if choice.ours is None else choice.ours, needed
        super().__init__(label=choice.label, required=False, choices=offered, initial=initial, widget=_Decision)

    def clean(self, value: Any) -> Any:
        if self.needed and value == UNDECIDED:
            raise ValidationError(_("Choose a label of this project, or “Nothing”."), code="undecided")
        return super().clean(value)


class _ExternalForm(forms.Form):
    """What the forms of external models share. `may_leave` is the consent to send notes to another machine."""

    may_leave = agreed_field()
    name = name_field()

    @property
    def decided(self) -> dict[str, str]:
        """The label of the project for each label or prompt of the model."""
        raise NotImplementedError

    def start(
        self, access: Access, model: ExternalModel, key: str, labels: Mapping[str, str] | None = None,
        wanted: ThresholdGoal = NOTHING,
    ) -> Run:  # fmt: skip
        """Start the run that a valid form asks for, with further `labels`. Raises ServiceError."""
        return start_external(
            project=access.project, backend=model.backend, model=model.name, labels=self.decided | dict(labels or {}),
            wanted=wanted, name=self.cleaned_data["name"], may_leave=self.cleaned_data["may_leave"],
            actor=access.user, key=key,
        )  # fmt: skip


class ExternalForm(_ExternalForm):
    """Has a field `label:LABEL` for each label of the model. Its value is a project label, or empty to ignore it."""

    def __init__(self, *args: Any, choices: Sequence[Choice], labels: Sequence[Label], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._labels = [choice.label for choice in choices]
        codes = [("", str(_("Nothing (ignore this label)"))), *((row.code, row.name) for row in labels)]
        undecided = [(UNDECIDED, str(_("Choose")))]
        for choice in choices:
            offered = codes if choice.ours is not None else undecided + codes
            self.fields[_name(choice.label)] = _DecisionField(choice, offered, needed=True)
        self.order_fields([*(_name(label) for label in self._labels), "name"])

    def rows(self) -> list[forms.BoundField]:
        return [self[_name(label)] for label in self._labels]

    @property
    def decided(self) -> dict[str, str]:
        return {label: self.cleaned_data[_name(label)] for label in self._labels}


class ZeroShotForm(_ExternalForm):
    """Has a field `prompts:CODE` for each label of the project: prompts with semicolons between them, or empty."""

    def __init__(self, *args: Any, choices: Sequence[Choice], labels: Sequence[Label], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._codes = [label.code for label in labels]
        for label in labels:
            asked = [choice.label for choice in choices if choice.ours == label.code]
            self.fields[_prompts(label.code)] = forms.CharField(
                label=label.name,
                required=False,
                max_length=MOST_WRITTEN,
                initial="; ".join(asked),
                help_text=escape(label.description[:200]),
            )
        self.order_fields([*map(_prompts, self._codes), "name"])

    def rows(self) -> list[forms.BoundField]:
        return [self[_prompts(code)] for code in self._codes]

    def clean(self) -> dict[str, Any]:
        """Refuse a prompt that stands for two labels."""
        seen: dict[str, str] = {}
        for code in self._codes:
            for prompt in self._written(code):
                if seen.setdefault(prompt, code) != code:
                    self.add_error(
                        _prompts(code), _("Another label has the prompt “%(prompt)s”, too.") % {"prompt": prompt}
                    )
        return self.cleaned_data

    def _written(self, code: str) -> list[str]:
        parts = self.cleaned_data.get(_prompts(code), "").split(";")
        return [prompt for part in parts if (prompt := " ".join(part.split()))]

    @property
    def decided(self) -> dict[str, str]:
        return {prompt: code for code in self._codes for prompt in self._written(code)}


def _prompts(code: str) -> str:
    return f"prompts:{code}"


def _name(label: str) -> str:
    return f"label:{label}"


# The form that chooses labels for the placeholders of rewritten notes that are not a label's.


MOST = 200


class PlaceholderForm(forms.Form):
    """Has a field for each placeholder: a label's code, empty to drop its spans, or UNDECIDED to decide later.

    So is a placeholder whose field was not sent, for example because it was decided meanwhile.
    """

    def __init__(self, *args: Any, choices: Sequence[Choice], labels: Sequence[Label], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._words = [choice.label for choice in choices[:MOST]]
        offered = [
            (UNDECIDED, str(_("Decide later"))),
            *((row.code, row.name) for row in labels),
            ("", str(_("Nothing (drop these spans)"))),
        ]
        for choice in choices[:MOST]:
            self.fields[f"placeholder:{choice.label}"] = _DecisionField(choice, offered, needed=False)

    def rows(self) -> list[forms.BoundField]:
        return [self[f"placeholder:{word}"] for word in self._words]

    @property
    def decided(self) -> dict[str, str]:
        """Label codes, or empty strings, by placeholder."""
        found = {word: self.cleaned_data[f"placeholder:{word}"] for word in self._words}
        return {word: code for word, code in found.items() if code != UNDECIDED}
