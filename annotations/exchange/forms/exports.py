from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, NamedTuple

from django import forms
from django.utils.functional import Promise
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from annotations.core.forms import CheckField, LineField, offer
from annotations.core.templatetags.moments import day_text
from annotations.core.tokenizers import KINDS
from annotations.exchange.selectors import MappingRow
from annotations.exchange.services.label_mappings import LONGEST_CODE
from annotations.formats import FORMATS
from annotations.formats.documents.base import DOCUMENTS
from annotations.gold.services.splitting import BARE, set_specs
from annotations.models import Author, AuthorKind, GoldVersion, LabelMapping, Project
from annotations.text.labels import LabelSetDef

# Formats in words: their titles and what they hold, for pages that offer them.


Words = str | Promise


class FormatDescription(NamedTuple):
    """A format's title, and a sentence or two about its files."""

    title: Words
    text: Words


_ABOUT: dict[str, tuple[Words, Words]] = {
    "brat": (
        "brat",
        _("One .txt and one .ann file per note, with annotation.conf and visual.conf. Holds overlapping spans."),
    ),
    "conll": (
        _("CoNLL with offsets"),
        _("One token per line with offsets and BIO tag, next to the text file. Holds one of overlapping spans."),
    ),
    "conll2003": ("CoNLL-2003", _("A token and its IOB2 tag per line, next to the text file.")),
    "iob1": ("CoNLL, IOB1", _("As CoNLL-2003, with IOB1 tags: B- only between touching spans of one label.")),
    "bioes": ("CoNLL, BIOES", _("As CoNLL-2003, with tags for the last and for the only token of a span.")),
    "i2b2": (_("i2b2 2014, MEDDOCAN"), _("One XML file per note, with the text and its tags.")),
    "doccano": ("doccano", _("JSON Lines for sequence labeling, all notes in one file.")),
    "label-studio": ("Label Studio", _("JSON tasks with annotations and predictions, all notes in one file.")),
    "prodigy": ("Prodigy", _("JSON Lines with text, tokens and spans, all notes in one file.")),
    "webanno-tsv": ("WebAnno TSV 3.3", _("One .tsv file per note, as INCEpTION reads and writes it.")),
    "xmi": ("UIMA CAS XMI", _("One .xmi file per note with its type system, as INCEpTION reads and writes it.")),
    "cas-json": ("UIMA CAS JSON", _("One .json file per note, as INCEpTION reads and writes it.")),
    "bioc": ("BioC XML", _("A collection of all notes in one file.")),
    "bioc-json": ("BioC JSON", _("A collection of all notes in one file.")),
    "docbin": ("spaCy DocBin", _("All notes in one .spacy file, for training with spaCy.")),
    "hf": ("Hugging Face datasets", _("A folder with Parquet files, for load_dataset: tokens and tags.")),
    "gate": ("GATE XML", _("One XML file per note, with nodes and annotations.")),
    "web-annotation": ("Web Annotation", _("W3C JSON-LD, with positions and quotes.")),
    "csv": (_("CSV of spans"), _("A table of the spans of all notes, next to their text files.")),
    "xlsx": (_("Excel table of spans"), _("A table of the spans of all notes, next to their text files.")),
    "inline": (_("Inline XML"), _("One XML file per note: the text with tags around its spans.")),
    "text": (_("Plain text"), _("One .txt file per note, without spans.")),
}

ABOUT = {name: FormatDescription(*_ABOUT[name]) for name in FORMATS}
"""Every format by name."""
INPUT_ABOUT = ABOUT | {
    "pubtator": FormatDescription("PubTator", _("Titles and abstracts with annotations, all notes in one file.")),
    "pubannotation": FormatDescription(
        "PubAnnotation", _("JSON with texts and denotations, as TextAE writes it, too.")
    ),
    DOCUMENTS: FormatDescription(
        _("Documents"), _("PDF, DOCX, DOC, RTF, ODT, HTML, e-mail, HL7, FHIR, OMOP, text in any encoding. No spans.")
    ),
}
"""Every format of imports by name."""

_GROUPS: list[tuple[Words, set[str]]] = [
    (_("Text and tables"), {"text", DOCUMENTS, "jsonl", "csv", "xlsx", "inline"}),
    (
        _("Annotation tools"),
        {"brat", "i2b2", "doccano", "label-studio", "prodigy", "webanno-tsv", "xmi", "cas-json", "gate"},
    ),
    (_("Training models"), {"conll", "conll2003", "iob1", "bioes", "docbin", "hf"}),
    (_("Exchange"), {"bioc", "bioc-json", "pubtator", "pubannotation", "web-annotation"}),
]


def grouped(about: Mapping[str, FormatDescription]) -> list[tuple[str, list[tuple[str, Words]]]]:
    """Choices of formats for a form field, in groups."""
    groups = []
    for group, names in _GROUPS:
        choices = [(name, one.title) for name, one in about.items() if name in names]
        if choices:
            groups.append((str(group), choices))
    return groups


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
        replace(one, name=gettext("%(name)s, imported") % {"name": one.name}) if one.spec in imported else one
        for one in found
    ]
    newest = {spec: -version.number for spec, version in frozen.items()}
    order = [gettext("Gold"), gettext("Annotators"), gettext("Models and others")]
    return sorted(found, key=lambda one: (order.index(one.group), newest.get(one.spec, 1), one.name))


def _choice(spec: str, version: GoldVersion | None) -> SetChoice:
    if version is not None:
        notes = version.note_count - version.erased_count
        name = ngettext(
            "Gold version %(number)s (%(notes)s note, %(day)s)",
            "Gold version %(number)s (%(notes)s notes, %(day)s)",
            notes,
        ) % {"number": version.number, "notes": f"{notes:,}", "day": day_text(version.created_at)}
        return SetChoice(spec, name, gettext("Gold"), bool(version.split_seed))
    kind, _colon, name = spec.partition(":")
    if kind == AuthorKind.GOLD:
        return SetChoice(spec, gettext("Current gold standard"), gettext("Gold"))
    if kind == AuthorKind.ANNOTATOR:
        return SetChoice(spec, name, gettext("Annotators"))
    return SetChoice(
        spec, f"{name or AuthorKind(kind).label} ({AuthorKind(kind).label.lower()})", gettext("Models and others")
    )


class ExportForm(forms.Form):
    """Choice of annotation sets and format. Sending the same `token` twice starts one job."""

    set = forms.ChoiceField(label=_("Annotations"))
    format = forms.ChoiceField(label=_("Format"))
    split = forms.ChoiceField(
        label=_("Splits"),
        required=False,
        choices=[
            ("", _("All notes together")),
            ("folders", _("One folder per split")),
            ("train", _("Only train")),
            ("dev", _("Only dev")),
            ("test", _("Only test")),
        ],
        help_text=_("Only for gold versions with a split. export.json always names the split of each note."),
    )
    tokenizer = forms.ChoiceField(
        label=_("Tokens"),
        required=False,
        help_text=_("For CoNLL, and for spaces around spans. A token is split where a span begins or ends."),
    )
    sentences = CheckField(
        label=_("Empty row after each sentence"),
        help_text=_("Only CoNLL. Otherwise an empty row follows each line of the note."),
    )
    spaced = CheckField(
        label=_("Insert spaces around attached spans"),
        help_text=_("“GambiaHome” becomes “Gambia Home”. An offset map beside each changed text undoes this."),
    )
    layer = forms.ChoiceField(
        label=_("Layer"),
        required=False,
        help_text=_("For XMI, CAS JSON and WebAnno TSV: the layer of the INCEpTION project that the notes came from."),
    )
    labels = forms.ChoiceField(label=_("Labels"), required=False)
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
        offer(self, "layer", [("", gettext("Named entities")), *((layer, layer) for layer in layers)])
        groups = groupby(sets, key=lambda choice: choice.group)
        choices = [(group, [(choice.spec, choice.name) for choice in found]) for group, found in groups]
        offer(self, "set", choices)
        offer(self, "format", grouped(ABOUT))
        offer(self, "labels", [("", gettext("As in the project")), *((str(one.pk), one.name) for one in mappings)])
        kinds = [(name, gettext(kind.title)) for name, kind in KINDS.items()]
        offer(self, "tokenizer", [("", gettext("Words, numbers and single symbols")), *kinds])


# Forms to add a label mapping, and to choose how it writes each label.


class NameForm(forms.Form):
    name = LineField(label=_("Name"), max_length=80)


class NewMappingForm(NameForm):
    """Name and target of a new mapping."""

    target = forms.ChoiceField(
        label=_("Labels to write"),
        required=False,
        help_text=_("The next page suggests a label of this set for each label of the project."),
    )

    def __init__(self, *args: Any, sets: Mapping[str, LabelSetDef], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        free = ("", gettext("Any codes, as the recipient needs them"))
        offer(self, "target", [*((key, one.name) for key, one in sets.items()), free])


class MappingForm(NameForm):
    """The name, and for each label the written code, or that its spans are left out. Suggestions are preselected."""

    seen = forms.CharField(required=False, widget=forms.HiddenInput)

    def __init__(self, *args: Any, lines: Sequence[MappingRow], target: LabelSetDef | None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.lines = lines
        for line in lines:
            words = {"label": line.label.name}
            code = line.suggestion if line.code is None else line.code
            name = gettext("Written code of %(label)s") % words
            field: forms.Field
            if target:
                groups = [
                    (group.name, [(label.code, _code_choice(label.code, label.name)) for label in group.labels])
                    for group in target.categories
                ]
                field = forms.ChoiceField(choices=[("", gettext("Not chosen")), *groups])
            else:
                field = forms.CharField(
                    max_length=LONGEST_CODE,
                    widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false", "class": "mono"}),
                )
            field.required, field.label, field.initial = False, name, code
            field.widget.attrs["aria-label"] = name
            leave_out = CheckField(initial=line.code == "", label=gettext("Leave out the spans of %(label)s") % words)
            leave_out.widget.attrs["aria-label"] = leave_out.label
            self.fields[f"code-{line.label.pk}"] = field
            self.fields[f"out-{line.label.pk}"] = leave_out

    def rows(self) -> Iterator[tuple[MappingRow, forms.BoundField, forms.BoundField]]:
        for line in self.lines:
            yield line, self[f"code-{line.label.pk}"], self[f"out-{line.label.pk}"]

    def codes(self) -> dict[int, str]:
        """The written code by label id; empty for a label that is left out. Labels without a choice are missing."""
        found = {}
        for line in self.lines:
            code = self.cleaned_data[f"code-{line.label.pk}"].strip()
            if self.cleaned_data[f"out-{line.label.pk}"]:
                found[line.label.pk] = ""
            elif code:
                found[line.label.pk] = code
        return found


def _code_choice(code: str, name: str) -> str:
    return code if code == name else f"{name} ({code})"
