"""The forms of refinements: start one, and choose two to compare."""

from collections.abc import Sequence
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from annotations.core.forms import WholeField, offer, suggest
from annotations.models import Author, AuthorKind, GoldVersion
from models_runtime.backends.llm.prompts import LANGUAGES, presets_of
from models_runtime.backends.llm.servers import Server
from models_runtime.backends.refining.state import Component
from models_runtime.models import Refinement
from models_runtime.refining.jobs.examples import MOST
from models_runtime.refining.jobs.methods import METHODS, WITH_MODEL
from models_runtime.refining.services.asking import MOST_LIMIT, Asked
from models_runtime.runs.forms.llm import agreed_field, where_of

# The field beside which an error of the service is shown, by its code.
REFUSED_AT = {"empty": "run", "exists": "name", "version": "gold", "leaves": "may_leave", "params": "model"}

COMPONENTS = {
    Component.TODO: _("To-do list"),
    Component.VALIDATORS: _("Validators"),
    Component.CONTEXT: _("Context of an annotation, instead of the whole note"),
    Component.SKILLS: _("Guidance for groups of labels"),
    Component.MEMORY: _("Memory of earlier decisions"),
    Component.FINAL_VALIDATION: _("Final validation"),
}


class RefineForm(forms.Form):
    """`run` is the id of an author whose annotations are refined. The service checks the rest."""

    run = WholeField(label=_("Annotations of"), widget=forms.Select())
    method = forms.ChoiceField(
        label=_("Method"),
        choices=[(one.value, one.label) for one in Refinement.Method if one in METHODS],
        initial=Refinement.Method.OFFLINE,
        error_messages={"invalid_choice": _("There is no method %(value)s. Choose from the list.")},
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
        label=_("Language model"),
        required=False,
        error_messages={"invalid_choice": _("There is no model %(value)s. Choose from the list.")},
        help_text=_("The offline agent asks no language model."),
    )
    may_leave = agreed_field()
    language = forms.ChoiceField(
        label=_("Language of the prompt"),
        choices=[("", _("the project's, or English")), *LANGUAGES.items()],
        required=False,
        error_messages={"invalid_choice": _("There is no language %(value)s. Choose from the list.")},
    )
    examples = WholeField(
        label=_("Examples in each question"),
        most=MOST,
        initial=0,
        required=False,
        help_text=_("Annotations of other patients with the right answers from the gold version."),
    )
    preset = forms.ChoiceField(
        label=_("Printed prompt"),
        required=False,
        choices=[("", _("none")), *presets_of(WITH_MODEL.values()).items()],
        error_messages={"invalid_choice": _("There is no printed prompt %(value)s. Choose from the list.")},
        help_text=_("The prompt of a paper, in its language, to repeat its experiment."),
    )
    without = forms.MultipleChoiceField(
        label=_("Components to switch off"),
        choices=list(COMPONENTS.items()),
        required=False,
        widget=forms.CheckboxSelectMultiple,
        error_messages={"invalid_choice": _("There is no component %(value)s. Choose from the list.")},
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
        suggest(self, "run", [(author.pk, _name(author)) for author in sources])
        models = [(f"{one.name} {model}", f"{model} ({where_of(one)})") for one in servers for model in one.models]
        offer(self, "model", [("", _("the first in the list")), *models])
        newest = [("", _("the newest; for injected errors, the version of the copy"))]
        suggest(self, "gold", [*newest, *((version.number, str(version.number)) for version in versions)])

    @property
    def asked(self) -> Asked:
        """What the person chose for a language model."""
        cleaned = self.cleaned_data
        server, _space, model = cleaned["model"].partition(" ")
        return Asked(
            server=server,
            model=model,
            language=cleaned["language"],
            examples=cleaned["examples"] or 0,
            may_leave=cleaned["may_leave"],
            without=tuple(cleaned["without"]),
            steps=cleaned["steps"] or 0,
            tokens=cleaned["tokens"] or 0,
            preset=cleaned["preset"],
        )


class CompareForm(forms.Form):
    """Two refinements, by their ids."""

    first = WholeField(label=_("First refinement"), widget=forms.Select())
    second = WholeField(label=_("Second refinement"), widget=forms.Select())

    def __init__(self, *args: Any, rows: Sequence[Refinement], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name in ("first", "second"):
            suggest(self, name, [(row.pk, row.author.name) for row in rows])


def _name(author: Author) -> str:
    return author.name if author.kind == AuthorKind.RUN else f"{author.name} ({author.get_kind_display()})"
