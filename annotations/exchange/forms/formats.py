"""Formats in words: their titles and what they hold, for pages that offer them."""

from collections.abc import Mapping
from typing import NamedTuple

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from annotations.formats import FORMATS
from annotations.formats.documents.base import DOCUMENTS

Words = str | Promise


class FormatDescription(NamedTuple):
    """A format's title, and a sentence or two about its files."""

    title: Words
    text: Words


_ABOUT: dict[str, FormatDescription] = {
    "brat": FormatDescription(
        "brat", _("One .txt and one .ann file per note, with annotation.conf and visual.conf. Holds overlapping spans.")
    ),
    "conll": FormatDescription(
        _("CoNLL with offsets"),
        _("One token per line with offsets and BIO tag, next to the text file. Holds one of overlapping spans."),
    ),
    "conll2003": FormatDescription("CoNLL-2003", _("A token and its IOB2 tag per line, next to the text file.")),
    "iob1": FormatDescription(
        "CoNLL, IOB1", _("As CoNLL-2003, with IOB1 tags: B- only between touching spans of one label.")
    ),
    "bioes": FormatDescription(
        "CoNLL, BIOES", _("As CoNLL-2003, with tags for the last and for the only token of a span.")
    ),
    "i2b2": FormatDescription(_("i2b2 2014, MEDDOCAN"), _("One XML file per note, with the text and its tags.")),
    "doccano": FormatDescription("doccano", _("JSON Lines for sequence labeling, all notes in one file.")),
    "label-studio": FormatDescription(
        "Label Studio", _("JSON tasks with annotations and predictions, all notes in one file.")
    ),
    "prodigy": FormatDescription("Prodigy", _("JSON Lines with text, tokens and spans, all notes in one file.")),
    "webanno-tsv": FormatDescription("WebAnno TSV 3.3", _("One .tsv file per note, as INCEpTION reads and writes it.")),
    "xmi": FormatDescription(
        "UIMA CAS XMI", _("One .xmi file per note with its type system, as INCEpTION reads and writes it.")
    ),
    "cas-json": FormatDescription("UIMA CAS JSON", _("One .json file per note, as INCEpTION reads and writes it.")),
    "bioc": FormatDescription("BioC XML", _("A collection of all notes in one file.")),
    "bioc-json": FormatDescription("BioC JSON", _("A collection of all notes in one file.")),
    "docbin": FormatDescription("spaCy DocBin", _("All notes in one .spacy file, for training with spaCy.")),
    "hf": FormatDescription(
        "Hugging Face datasets", _("A folder with Parquet files, for load_dataset: tokens and tags.")
    ),
    "gate": FormatDescription("GATE XML", _("One XML file per note, with nodes and annotations.")),
    "web-annotation": FormatDescription("Web Annotation", _("W3C JSON-LD, with positions and quotes.")),
    "csv": FormatDescription(_("CSV of spans"), _("A table of the spans of all notes, next to their text files.")),
    "xlsx": FormatDescription(
        _("Excel table of spans"), _("A table of the spans of all notes, next to their text files.")
    ),
    "inline": FormatDescription(_("Inline XML"), _("One XML file per note: the text with tags around its spans.")),
    "text": FormatDescription(_("Plain text"), _("One .txt file per note, without spans.")),
}
ABOUT: dict[str, FormatDescription] = {name: _ABOUT[name] for name in FORMATS}
"""Every format by name."""
INPUT_ABOUT: dict[str, FormatDescription] = ABOUT | {
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
