from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from django import forms
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotations.core.offering import offer
from annotations.gold.services.sets import set_specs
from annotations.models import Author, GoldVersion, Project


@dataclass(frozen=True)
class SetChoice:
    """Something that can be exported: its spec (gold.services.sets) and what people call it."""

    spec: str
    name: str
    group: str
    is_split: bool = False


def set_choices(project: Project, *, without: Collection[str] = ()) -> list[SetChoice]:
    """Gold and its versions first (the newest on top), then readings; none by authors of the kinds `without`."""
    frozen = {f"gold:{version.number}": version for version in GoldVersion.objects.filter(project=project)}
    found = [_choice(spec, frozen.get(spec)) for spec in set_specs(project, without=without)]
    newest = {spec: -version.number for spec, version in frozen.items()}
    order = [_("Gold"), _("People"), _("Models and others")]
    return sorted(found, key=lambda one: (order.index(one.group), newest.get(one.spec, 1), one.name))


def _choice(spec: str, version: GoldVersion | None) -> SetChoice:
    if version is not None:
        name = _("Gold version %(number)s (%(n)s notes, %(day)s)") % {
            "number": version.number,
            "n": f"{version.note_count - version.erased_count:,}",
            "day": timezone.localtime(version.created_at).strftime("%Y-%m-%d"),
        }
        return SetChoice(spec, name, _("Gold"), bool(version.split_seed))
    kind, _colon, name = spec.partition(":")
    if kind == Author.Kind.GOLD:
        return SetChoice(spec, _("Gold as it stands now"), _("Gold"))
    if kind == Author.Kind.ANNOTATOR:
        return SetChoice(spec, name, _("People"))
    return SetChoice(
        spec, f"{name or Author.Kind(kind).label} ({Author.Kind(kind).label.lower()})", _("Models and others")
    )


class ExportForm(forms.Form):
    """What to export and as what. `token` marks the form, so that sending it twice is one job."""

    set = forms.ChoiceField(label=gettext_lazy("Which spans"))
    format = forms.ChoiceField(label=gettext_lazy("Format"), widget=forms.RadioSelect)
    split = forms.ChoiceField(
        label=gettext_lazy("Train, dev and test"),
        required=False,
        choices=[
            ("", gettext_lazy("All notes together")),
            ("folders", gettext_lazy("A folder for each side")),
            ("train", gettext_lazy("Only train")),
            ("dev", gettext_lazy("Only dev")),
            ("test", gettext_lazy("Only test")),
        ],
        help_text=gettext_lazy("Of gold versions that are split. export.json names each note's side in any case."),
    )
    token = forms.UUIDField(widget=forms.HiddenInput)

    def __init__(self, *args: Any, sets: Sequence[SetChoice], formats: Sequence[str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        grouped = groupby(sets, key=lambda choice: choice.group)
        choices = [(group, [(choice.spec, choice.name) for choice in found]) for group, found in grouped]
        offer(self, "set", choices)
        offer(self, "format", [(name, name) for name in formats])
