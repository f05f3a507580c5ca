"""Settings of a project, and handing out notes by hand."""

from collections.abc import Sequence
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.utils.translation import gettext_lazy as _

from annotations.core.offering import offer_rows
from annotations.models import Author, Project, User
from annotations.models.project import PlantedShare, SecondReview
from annotations.projects.forms.projects import LANGUAGE

MOST_READERS = 20


class RunField(forms.ModelChoiceField):  # type: ignore[type-arg]  # no generic when it runs
    def label_from_instance(self, obj: Author) -> str:
        return _("The spans of %(run)s") % {"run": obj.name}


class SettingsForm(forms.Form):
    """`runs` are the authors that annotators can begin from."""

    name = forms.CharField(label=_("Name"), max_length=120, widget=forms.TextInput(attrs={"autocomplete": "off"}))
    language = forms.CharField(
        label=_("Language of the notes"),
        max_length=8,
        required=False,
        validators=[LANGUAGE],
        help_text=_("For notes whose import names none, such as it, es or en."),
        widget=forms.TextInput(attrs={"autocomplete": "off", "list": "languages", "class": "short"}),
    )
    distribution = forms.ChoiceField(
        label=_("Who reads which note"), choices=Project.Distribution.choices, widget=forms.RadioSelect
    )
    readers_per_note = forms.IntegerField(
        label=_("Annotators per note"),
        min_value=1,
        max_value=MOST_READERS,
        help_text=_("The ones with the fewest open notes get it."),
        widget=forms.NumberInput(attrs={"class": "short"}),
    )

    seed_from = RunField(
        label=_("What annotators begin with"),
        queryset=Author.objects.none(),
        required=False,
        empty_label=_("The bare text: they read blind (recommended)"),
        help_text=_(
            "Correcting a model's spans is quicker, but people tend to leave what they are shown. So agreement leaves "
            "such readings out, for good. It holds for notes that an annotator opens for the first time and that the "
            "run has read."
        ),
        error_messages={"invalid_choice": _("That is no run of this project with finished notes (any more).")},
    )
    unanimous_passes = forms.BooleanField(
        label=_("What all annotators of a note said alike needs no adjudicator"), required=False
    )
    anonymous_adjudication = forms.BooleanField(
        label=_("Adjudicators don't see who said what"),
        required=False,
        help_text=_("Nor do viewers. Single annotators' readings, scores and exports are for managers alone then."),
    )
    show_outcome = forms.BooleanField(
        label=_("Annotators see what became of their spans once a note is adjudicated"), required=False
    )

    second_review = forms.ChoiceField(
        label=_("Who reviews a note's proposals"),
        choices=SecondReview.choices,
        widget=forms.RadioSelect,
        help_text=_(
            "With two, a note is gold once both have closed it. The second is never somebody who decided in the first "
            "review, in bulk or one by one. Where a blind second differs from the first, they then see both and settle "
            "it. A change here holds for notes that are closed from now on; notes that wait for a second keep waiting."
        ),
    )

    planted_share = forms.TypedChoiceField(
        label=_("Measure what reading misses"),
        choices=PlantedShare.choices,
        coerce=int,
        widget=forms.RadioSelect,
        help_text=_(
            "One or two known identifiers are left out of the proposals of some notes: words that people accepted with "
            "that label elsewhere, or that most runs propose alike. Whoever closes the note then sees them; what is "
            "not marked must be accepted or rejected before the note can close. Everybody who reviews is told that "
            "this is on. A change here holds for notes that nobody has opened for review yet."
        ),
    )

    def __init__(self, *args: Any, runs: QuerySet[Author], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        offer_rows(self, "seed_from", runs)

    def clean_language(self) -> str:
        return str(self.cleaned_data["language"]).lower()


class AssignForm(forms.Form):
    """Notes for one annotator, by name."""

    reader = forms.ModelChoiceField(
        label=_("Annotator"),
        queryset=User.objects.none(),
        empty_label=_("Choose an annotator"),
        error_messages={"invalid_choice": _("That person is no annotator of this project (any more).")},
    )
    names = forms.CharField(
        label=_("Names of the notes"),
        help_text=_("One per line."),
        widget=forms.Textarea(attrs={"rows": 8, "class": "mono", "spellcheck": "false"}),
    )

    def __init__(self, *args: Any, readers: Sequence[User], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        offer_rows(self, "reader", User.objects.filter(pk__in=[reader.pk for reader in readers]))

    def clean_names(self) -> list[str]:
        lines = (line.strip() for line in str(self.cleaned_data["names"]).splitlines())
        names = list(dict.fromkeys(line for line in lines if line))
        if not names:
            raise ValidationError(_("Name at least one note."))
        return names
