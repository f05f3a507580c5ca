"""Forms for the settings of a project and for assigning notes by name."""

from collections.abc import Sequence
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.core.validators import RegexValidator
from django.db.models import QuerySet
from django.utils.translation import gettext_lazy as _

from annotations.core.forms import CheckField, LineField, RadioField, WholeField, offer, offer_rows
from annotations.models import Author, Project, User
from annotations.models.project import PlantedShare, SecondReview
from annotations.text.labels import LabelSetDef

LANGUAGE = RegexValidator(
    r"\A[A-Za-z]{2,3}(-[A-Za-z0-9]{2,4})?\Z",
    _("Enter a language code of two or three letters, such as it, es or en, or leave the field empty."),
)


def language_field(help_text: Any = "") -> forms.CharField:
    return forms.CharField(
        label=_("Language of the notes"),
        max_length=8,
        required=False,
        validators=[LANGUAGE],
        help_text=help_text,
        widget=forms.TextInput(attrs={"autocomplete": "off", "list": "languages", "class": "short"}),
    )


class ProjectForm(forms.Form):
    """Form for a new project."""

    name = LineField(label=_("Name"), max_length=120)
    label_set = RadioField(label=_("Label set"))
    own_labels = forms.CharField(
        label=_("Your labels"),
        max_length=20_000,
        required=False,
        help_text=_("One per line, with what it identifies: “Case number = id”, “Judge = staff”, “Date”."),
        widget=forms.Textarea(attrs={"rows": 5, "spellcheck": "false"}),
    )
    language = language_field(
        _("A code such as it, es or en. Leave the field empty if notes have different languages.")
    )

    def __init__(self, *args: Any, label_sets: dict[str, LabelSetDef], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        offer(self, "label_set", [(key, found.name) for key, found in label_sets.items()])


MOST_ANNOTATORS = 20
MOST_DAYS = 365
MOST_NOTES = 1_000_000


class RunField(forms.ModelChoiceField):  # type: ignore[type-arg]  # not generic at run time
    def label_from_instance(self, obj: Author) -> str:
        return _("Spans of %(run)s") % {"run": obj.name}


class SettingsForm(forms.Form):
    """Settings of a project. `runs` are the model runs that annotators can start from."""

    name = LineField(label=_("Name"), max_length=120)
    language = language_field(_("For notes imported without a language. A code such as it, es or en."))
    second_factor = CheckField(
        label=_("Require two-factor sign-in"),
        help_text=_("Members see nothing of the project until they have set it up. This also applies to you."),
    )
    mcp_clients = CheckField(
        label=_("Let MCP clients read notes"),
        help_text=_(
            "Programs with a manager's token refine suggestions. "
            "They may send text of notes to a language model elsewhere."
        ),
    )
    distribution = RadioField(label=_("Assignment of notes"), choices=Project.Distribution.choices)
    annotators_per_note = WholeField(
        label=_("Annotators per note"),
        least=1,
        most=MOST_ANNOTATORS,
        help_text=_("New notes go to the annotators with the fewest open notes."),
        widget=forms.NumberInput(attrs={"class": "short"}),
    )
    notes_per_annotator = WholeField(
        label=_("Notes per annotator, at most"),
        least=1,
        most=MOST_NOTES,
        required=False,
        help_text=_("Empty: no limit. Notes that you assign by name count, but are never refused."),
        widget=forms.NumberInput(attrs={"class": "short"}),
    )
    idle_days = WholeField(
        label=_("Release notes after idle days"),
        least=1,
        most=MOST_DAYS,
        required=False,
        help_text=_("Empty: never. Open notes of an idle annotator go to others. Annotations are kept."),
        widget=forms.NumberInput(attrs={"class": "short"}),
    )

    seed_from = RunField(
        label=_("Annotators start from"),
        queryset=Author.objects.none(),
        required=False,
        empty_label=_("The text without spans, blind (recommended)"),
        help_text=_("Annotations that start from a model's spans are faster, but never count in agreement."),
        error_messages={"invalid_choice": _("This run no longer exists or has no finished notes. Choose another.")},
    )
    candidates = CheckField(
        label=_("Show candidates to annotators"),
        help_text=_(
            "Annotators see what the rules find, and look at it before they submit. "
            "Such annotations are not blind and never count in agreement."
        ),
    )
    unanimous_passes = CheckField(label=_("Accept unanimous annotations without adjudication"))
    anonymous_adjudication = CheckField(
        label=_("Hide annotators' names from adjudicators"),
        help_text=_(
            "Viewers see no names either. Only managers see the annotations, scores and exports of single annotators."
        ),
    )
    show_outcome = CheckField(label=_("Show annotators the outcome for their spans after adjudication"))

    second_review = RadioField(
        label=_("Second review"),
        choices=SecondReview.choices,
        help_text=_(
            "With a second reviewer, a note becomes gold after both finish. Applies to notes finished from now on."
        ),
    )

    planted_share = forms.TypedChoiceField(
        label=_("Planted leaks"),
        choices=PlantedShare.choices,
        coerce=int,
        widget=forms.RadioSelect,
        help_text=_(
            "Hides some known identifiers from new suggestions, to measure how many reviewers miss. "
            "All reviewers are told."
        ),
    )

    runs_decide = CheckField(
        label=_("Let model runs decide about free text of records"),
        help_text=_(
            "Records are released once a run has read their notes, without a reviewer. Certificates name it as a risk."
        ),
    )

    def __init__(self, *args: Any, runs: QuerySet[Author], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        offer_rows(self, "seed_from", runs)

    def clean_language(self) -> str:
        return str(self.cleaned_data["language"]).lower()


def settings_of(project: Project) -> dict[str, Any]:
    """Return the settings of a project by the fields of SettingsForm. `seed_from` is the id of a run, or None."""
    return {field: getattr(project, field) for field in SettingsForm.base_fields} | {"seed_from": project.seed_from_id}


class AssignForm(forms.Form):
    """Form to assign notes to one annotator by name."""

    annotator = forms.ModelChoiceField(
        label=_("Annotator"),
        queryset=User.objects.none(),
        empty_label=_("Choose an annotator"),
        error_messages={"invalid_choice": _("This person is not an annotator of this project. Choose another.")},
    )
    names = forms.CharField(
        label=_("Names of the notes"),
        help_text=_("One per line."),
        widget=forms.Textarea(attrs={"rows": 8, "class": "mono", "spellcheck": "false"}),
    )

    def __init__(self, *args: Any, annotators: Sequence[User], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        offer_rows(self, "annotator", User.objects.filter(pk__in=[person.pk for person in annotators]))

    def clean_names(self) -> list[str]:
        lines = (line.strip() for line in str(self.cleaned_data["names"]).splitlines())
        names = list(dict.fromkeys(line for line in lines if line))
        if not names:
            raise ValidationError(_("Enter the name of at least one note."))
        return names


LENGTH = 200_000


class GuidelinesForm(forms.Form):
    """Guidelines in Markdown. `seen_version` is the version that the user started editing from."""

    text = forms.CharField(
        label=_("Guidelines"),
        max_length=LENGTH,
        required=False,
        strip=False,
        help_text=_("Markdown: # heading, - list, **bold**, | table |, [link](https://…). No HTML."),
        widget=forms.Textarea(attrs={"rows": 22, "class": "mono", "dir": "auto"}),
    )
    seen_version = WholeField(label=_("Version of the guidelines"), widget=forms.HiddenInput())

    def clean_text(self) -> str:
        return str(self.cleaned_data["text"]).replace("\r\n", "\n")
