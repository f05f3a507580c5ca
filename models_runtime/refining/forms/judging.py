"""The form for a judging: author, gold version, judges and options."""

from collections.abc import Sequence
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from annotations.core.forms import WholeField, offer, suggest
from annotations.gold.rules import Split
from annotations.models import Author, AuthorKind, GoldVersion, Project
from annotations.scores.rules.judging import STANDARD, THRESHOLD
from annotations.scores.selectors import Reference, authors_with_notes
from annotations.text.names import MAX_OFFSET
from models_runtime.backends.llm.prompts import LANGUAGES, presets_of
from models_runtime.backends.llm.servers import Server
from models_runtime.refining.services.judging.asking import MOST_JUDGES
from models_runtime.refining.services.judging.rules import HOTTEST, PROMPTS, RULE_NAMES, UNIT_NAMES
from models_runtime.runs.forms.llm import agreed_field, where_of

# The field beside which an error of the service is shown, by its code.
REFUSED_AT = {"version": "gold", "judges": "judge", "leaves": "may_leave", "number": "notes"}


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
        error_messages={
            "required": _("Choose 1 to %(most)d judges.") % {"most": MOST_JUDGES},
            "invalid_choice": _("There is no judge %(value)s. Choose from the list."),
        },
    )
    may_leave = agreed_field()
    rules = forms.ChoiceField(
        label=_("Rules"),
        choices=list(RULE_NAMES.items()),
        initial=STANDARD.key,
        error_messages={"invalid_choice": _("There are no rules %(value)s. Choose from the list.")},
        help_text=_("What judges are asked, and which of their verdicts count. Both rules are explained below."),
    )
    unit = forms.ChoiceField(
        label=_("An entity is"),
        required=False,
        choices=[("", _("as the rules say")), *UNIT_NAMES.items()],
        error_messages={"invalid_choice": _("There is no entity unit %(value)s. Choose from the list.")},
    )
    temperature = forms.FloatField(
        label=_("Temperature"),
        required=False,
        error_messages={"invalid": _("Enter a number from 0 to %(most)g.") % {"most": HOTTEST}},
        help_text=_("0 makes answers repeatable; higher values vary them. If empty, the rules decide."),
        widget=forms.NumberInput(attrs={"min": 0, "max": HOTTEST, "step": 0.1}),
    )
    threshold = forms.FloatField(
        label=_("Threshold"),
        required=False,
        initial=THRESHOLD,
        error_messages={"invalid": _("Enter a number from 0.5 to less than 1.")},
        help_text=_(
            "An entity counts if more than this share of judges give the same verdict. Other entities are discarded."
        ),
        widget=forms.NumberInput(attrs={"min": 0.5, "max": 0.99, "step": 0.01}),
    )
    language = forms.ChoiceField(
        label=_("Language of the prompt"),
        required=False,
        choices=[("", _("the project's language")), *LANGUAGES.items()],
        error_messages={"invalid_choice": _("There is no prompt in %(value)s. Choose from the list.")},
    )
    preset = forms.ChoiceField(
        label=_("Printed prompt"),
        required=False,
        choices=[("", _("none")), *presets_of(PROMPTS.values()).items()],
        error_messages={"invalid_choice": _("There is no printed prompt %(value)s. Choose from the list.")},
        help_text=_("The prompt of a paper, in its language. It needs the rules of the paper."),
    )

    def __init__(
        self, *args: Any, project: Project, versions: Sequence[GoldVersion], servers: Sequence[Server], **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.versions = versions
        chosen = self._chosen()
        self.initial["gold"] = chosen.number if chosen else None
        self.authors = authors_with_notes(Reference(project, chosen)) if chosen else []
        suggest(self, "author", [(one.author.pk, _name(one.author)) for one in self.authors])
        suggest(self, "gold", [(version.number, str(version.number)) for version in versions])
        offer(self, "split", [("", _("the whole version")), *((name, name) for name in Split)])
        if not any(version.split_seed for version in versions):
            self.fields["split"].widget = forms.HiddenInput()
        offer(
            self,
            "judge",
            [
                (f"{server.name} {model}", f"{model} ({where_of(server)})")
                for server in servers
                for model in server.models
            ],
        )

    def _chosen(self) -> GoldVersion | None:
        """The version whose authors are offered: the chosen one, by default the first."""
        try:
            wanted = self.fields["gold"].to_python(self["gold"].data if self.is_bound else self.initial.get("gold"))
        except ValidationError:
            wanted = None
        return next((one for one in self.versions if one.number == wanted), self.versions[0] if self.versions else None)


def _name(author: Author) -> str:
    return author.name if author.kind == AuthorKind.RUN else f"{author.name} ({author.get_kind_display()})"
