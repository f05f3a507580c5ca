from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from annotations.core.forms import offer
from annotations.core.templatetags.moments import day_text
from annotations.core.tokenizers import KINDS
from annotations.exchange.forms.formats import ABOUT, grouped
from annotations.gold.services.sets import BARE, set_specs
from annotations.models import Author, AuthorKind, GoldVersion, LabelMapping, Project


@dataclass(frozen=True)
class SetChoice:
    """Annotation sets that can be exported: their spec (see `gold.services.sets`) and their name on the page."""

    spec: str
    name: str
    group: str
    is_split: bool = False


def set_choices(project: Project, *, without: Collection[str] = ()) -> list[SetChoice]:
    """Gold versions (newest first), gold, then annotation sets of authors, except authors of the kinds `without`."""
    frozen = {f"gold:{version.number}": version for version in GoldVersion.objects.filter(project=project)}
    rows = Author.objects.filter(pk__in=project.imported_authors).values_list("kind", "name")
    imported = {kind if kind in BARE else f"{kind}:{name}" for kind, name in rows}
    found = [_choice(spec, frozen.get(spec)) for spec in set_specs(project, without=without, versions=frozen.values())]
    found = [
        replace(one, name=_("%(name)s, imported") % {"name": one.name}) if one.spec in imported else one
        for one in found
    ]
    newest = {spec: -version.number for spec, version in frozen.items()}
    order = [_("Gold"), _("Annotators"), _("Models and others")]
    return sorted(found, key=lambda one: (order.index(one.group), newest.get(one.spec, 1), one.name))


def _choice(spec: str, version: GoldVersion | None) -> SetChoice:
    if version is not None:
        notes = version.note_count - version.erased_count
        name = ngettext(
            "Gold version %(number)s (%(notes)s note, %(day)s)",
            "Gold version %(number)s (%(notes)s notes, %(day)s)",
            notes,
        ) % {"number": version.number, "notes": f"{notes:,}", "day": day_text(version.created_at)}
        return SetChoice(spec, name, _("Gold"), bool(version.split_seed))
    kind, _colon, name = spec.partition(":")
    if kind == AuthorKind.GOLD:
        return SetChoice(spec, _("Current gold standard"), _("Gold"))
    if kind == AuthorKind.ANNOTATOR:
        return SetChoice(spec, name, _("Annotators"))
    return SetChoice(
        spec, f"{name or AuthorKind(kind).label} ({AuthorKind(kind).label.lower()})", _("Models and others")
    )


class ExportForm(forms.Form):
    """Choice of annotation sets and format. Sending the same `token` twice starts one job."""

    set = forms.ChoiceField(label=gettext_lazy("Annotations"))
    format = forms.ChoiceField(label=gettext_lazy("Format"))
    split = forms.ChoiceField(
        label=gettext_lazy("Splits"),
        required=False,
        choices=[
            ("", gettext_lazy("All notes together")),
            ("folders", gettext_lazy("One folder per split")),
            ("train", gettext_lazy("Only train")),
            ("dev", gettext_lazy("Only dev")),
            ("test", gettext_lazy("Only test")),
        ],
        help_text=gettext_lazy("Only for gold versions with a split. export.json always names the split of each note."),
    )
    tokenizer = forms.ChoiceField(
        label=gettext_lazy("Tokens"),
        required=False,
        help_text=gettext_lazy("For CoNLL, and for spaces around spans. A token is split where a span begins or ends."),
    )
    sentences = forms.BooleanField(
        label=gettext_lazy("Empty row after each sentence"),
        required=False,
        help_text=gettext_lazy("Only CoNLL. Otherwise an empty row follows each line of the note."),
    )
    spaced = forms.BooleanField(
        label=gettext_lazy("Insert spaces around attached spans"),
        required=False,
        help_text=gettext_lazy(
            "“GambiaHome” becomes “Gambia Home”. An offset map beside each changed text undoes this."
        ),
    )
    layer = forms.ChoiceField(
        label=gettext_lazy("Layer"),
        required=False,
        help_text=gettext_lazy(
            "For XMI, CAS JSON and WebAnno TSV: the layer of the INCEpTION project that the notes came from."
        ),
    )
    labels = forms.ChoiceField(label=gettext_lazy("Labels"), required=False)
    token = forms.UUIDField(widget=forms.HiddenInput)

    def __init__(
        self,
        *args: Any,
        sets: Sequence[SetChoice],
        mappings: Sequence[LabelMapping],
        layers: Iterable[str] = (),
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        offer(self, "layer", [("", _("Named entities")), *((layer, layer) for layer in layers)])
        groups = groupby(sets, key=lambda choice: choice.group)
        choices = [(group, [(choice.spec, choice.name) for choice in found]) for group, found in groups]
        offer(self, "set", choices)
        offer(self, "format", grouped(ABOUT))
        offer(self, "labels", [("", _("As in the project")), *((str(one.pk), one.name) for one in mappings)])
        kinds = [(name, _(kind.title)) for name, kind in KINDS.items()]
        offer(self, "tokenizer", [("", _("Words, numbers and single symbols")), *kinds])
