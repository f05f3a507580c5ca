"""The form for a run of a language model, with the consent to send notes to another machine."""

from collections.abc import Sequence
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from annotations.core.forms import Agreed, WholeField, offer
from models_runtime.backends.llm.prompts import LANGUAGES, presets_of
from models_runtime.backends.llm.servers import (
    LEAST_OMEGA,
    MOST_OMEGA,
    MOST_PASSES,
    MOST_PROMPT,
    MOST_TOKENS,
    OMEGA,
    PASSES,
    STRATEGIES,
    Server,
    most_overlap,
    temperature_of,
)
from models_runtime.runs.forms.names import name_field

# The parameters that the service takes as they are.
OWN = (
    "strategy", "language", "omega", "overlap", "passes", "every_pass", "descriptions", "examples", "temperature",
    "tokens", "preset", "template",
)  # fmt: skip
NO_SUCH_MODEL = _("There is no model %(value)s. Choose from the list.")


def where_of(server: Server) -> str:
    """Return the server's name and the machine that receives the notes."""
    if server.folder:
        return f"{server.name}: {_('on the worker')}"
    if server.leaves_machine:
        return f"{server.name}: {_('%(host)s, another machine') % {'host': server.host}}"
    return f"{server.name}: {_('this machine')}"


def agreed_field() -> forms.BooleanField:
    """The consent to send notes to another machine. Without it the service raises an error."""
    return forms.BooleanField(
        label=_("The notes of this project may be sent to these machines"), required=False, widget=Agreed()
    )


class LlmForm(forms.Form):
    """`model` is “server model” from the list in DEIDREVIEW_LLM_SERVERS."""

    model = forms.ChoiceField(
        label=_("Model"), error_messages={"required": _("Choose a model."), "invalid_choice": NO_SUCH_MODEL}
    )
    may_leave = agreed_field()
    strategy = forms.ChoiceField(
        label=_("Strategy"),
        choices=list(STRATEGIES.items()),
        initial="extract",
        error_messages={"invalid_choice": _("There is no strategy %(value)s. Choose from the list.")},
    )
    language = forms.ChoiceField(
        label=_("Language of the prompt"),
        choices=list(LANGUAGES.items()),
        initial="en",
        help_text=_("The language of the notes usually works best."),
        error_messages={"invalid_choice": _("There is no language %(value)s. Choose from the list.")},
    )
    omega = WholeField(
        label=_("Words per chunk"),
        least=LEAST_OMEGA,
        most=MOST_OMEGA,
        initial=OMEGA,
        required=False,
        help_text=_("To extract, notes are split into chunks at sentence ends. Models miss more in long chunks."),
    )
    overlap = WholeField(
        label=_("Words shared by chunks"),
        most=most_overlap(MOST_OMEGA),
        initial=0,
        required=False,
        help_text=_("At most half of a chunk. An identifier that the end of a chunk cuts is whole in the next one."),
    )
    passes = WholeField(
        label=_("Passes"),
        least=1,
        most=MOST_PASSES,
        initial=PASSES,
        required=False,
        help_text=_("From the second pass on, spans already found are masked, so that the model can find others."),
    )
    every_pass = forms.BooleanField(
        label=_("Continue after a pass that finds nothing"),
        required=False,
        help_text=_("Otherwise such a pass is the last one. At temperature 0, the next one rarely finds more."),
    )
    descriptions = forms.BooleanField(
        label=_("Descriptions of labels in the prompt"),
        required=False,
        initial=True,
        help_text=_("They tell the model what belongs to each label."),
    )
    examples = forms.BooleanField(
        label=_("Examples in the prompt"),
        required=False,
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
        most=MOST_TOKENS,
        required=False,
        help_text=_("If this is empty, as many as the note needs. Answers that are cut off count as failed."),
    )
    preset = forms.ChoiceField(
        label=_("Printed prompt"),
        required=False,
        choices=[("", _("none")), *presets_of(STRATEGIES).items()],
        error_messages={"invalid_choice": _("There is no printed prompt %(value)s. Choose from the list.")},
        help_text=_(
            "The prompt of a paper, to repeat its experiment. Strategy and language are then those of the paper."
        ),
    )
    template = forms.CharField(
        label=_("Your own prompt"),
        required=False,
        max_length=MOST_PROMPT,
        help_text=_("If this is empty, the built-in prompt is used. $labels stands for the labels of a question."),
        widget=forms.Textarea(attrs={"rows": 6}),
    )
    name = name_field()

    def __init__(self, *args: Any, servers: Sequence[Server], language: str = "", **kwargs: Any) -> None:
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
            temperature_of(value)
        except ValueError as error:
            raise forms.ValidationError(str(error), code="invalid") from error
        return value

    def clean(self) -> dict[str, Any]:
        """Check the overlap here, so that the error is beside its field."""
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        most = most_overlap(cleaned.get("omega") or OMEGA)
        if (cleaned.get("overlap") or 0) > most:
            message = _("Chunks of this size can share at most %(most)s words.") % {"most": most}
            self.add_error("overlap", forms.ValidationError(message, code="invalid"))
        return cleaned

    @property
    def given(self) -> dict[str, str | int | bool | None]:
        """The parameters for the service, which checks them against the list of servers."""
        server, _space, model = self.cleaned_data["model"].partition(" ")
        params = {name: self.cleaned_data[name] for name in OWN}
        return {"server": server, "model": model} | params
