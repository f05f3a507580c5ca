"""Formats in words: their titles and what they hold, for pages that offer them."""

from collections.abc import Mapping
from typing import NamedTuple

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from annotations.formats import FORMATS
from annotations.formats.documents.base import DOCUMENTS

Words = str | Promise


class About(NamedTuple):
    """A format's title, and a sentence or two about its files."""

    title: Words
    text: Words


_ABOUT: dict[str, About] = {
    "brat": About(
        "brat", _("One .txt and one .ann file per note, with annotation.conf and visual.conf. Holds overlapping spans.")
    ),
    "conll": About(
        _("CoNLL with offsets"),
        _("One token per line with offsets and BIO tag, next to the text file. Holds one of overlapping spans."),
    ),
    "conll2003": About("CoNLL-2003", _("A token and its IOB2 tag per line, next to the text file.")),
    "iob1": About("CoNLL, IOB1", _("As CoNLL-2003, with IOB1 tags: B- only between touching spans of one label.")),
    "bioes": About("CoNLL, BIOES", _("As CoNLL-2003, with tags for the last and for the only token of a span.")),
    "i2b2": About(_("i2b2 2014, MEDDOCAN"), _("One XML file per note, with the text and its tags.")),
    "doccano": About("doccano", _("JSON Lines for sequence labeling, all notes in one file.")),
    "label-studio": About("Label Studio", _("JSON tasks with annotations and predictions, all notes in one file.")),
    "prodigy": About("Prodigy", _("JSON Lines with text, tokens and spans, all notes in one file.")),
    "webanno-tsv": About("WebAnno TSV 3.3", _("One .tsv file per note, as INCEpTION reads and writes it.")),
    "xmi": About("UIMA CAS XMI", _("One .xmi file per note with its type system, as INCEpTION reads and writes it.")),
    "cas-json": About("UIMA CAS JSON", _("One .json file per note, as INCEpTION reads and writes it.")),
    "bioc": About("BioC XML", _("A collection of all notes in one file.")),
    "bioc-json": About("BioC JSON", _("A collection of all notes in one file.")),
    "docbin": About("spaCy DocBin", _("All notes in one .spacy file, for training with spaCy.")),
    "hf": About("Hugging Face datasets", _("A folder with Parquet files, for load_dataset: tokens and tags.")),
    "gate": About("GATE XML", _("One XML file per note, with nodes and annotations.")),
    "web-annotation": About("Web Annotation", _("W3C JSON-LD, with positions and quotes.")),
    "csv": About(_("CSV of spans"), _("A table of the spans of all notes, next to their text files.")),
    "xlsx": About(_("Excel table of spans"), _("A table of the spans of all notes, next to their text files.")),
    "inline": About(_("Inline XML"), _("One XML file per note: the text with tags around its spans.")),
    "text": About(_("Plain text"), _("One .txt file per note, without spans.")),
}
ABOUT: dict[str, About] = {name: _ABOUT[name] for name in FORMATS}
"""Every format by name."""
INPUT_ABOUT: dict[str, About] = ABOUT | {
    "pubtator": About("PubTator", _("Titles and abstracts with annotations, all notes in one file.")),
    "pubannotation": About("PubAnnotation", _("JSON with texts and denotations, as TextAE writes it, too.")),
    DOCUMENTS: About(
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


def grouped(about: Mapping[str, About]) -> list[tuple[str, list[tuple[str, Words]]]]:
    """Choices of formats for a form field, in groups."""
    groups = []
    for group, names in _GROUPS:
        choices = [(name, one.title) for name, one in about.items() if name in names]
        if choices:
            groups.append((str(group), choices))
    return groups
