"""Helpers for reading and writing notes in memory."""

from annotations.formats import FORMATS
from annotations.formats.base import LoadedFiles
from annotations.formats.notes import NoteError, OutNote, ParsedNote
from tests.text.strategies import LABELS

NAMES = {label: label for label in LABELS}

_ENDINGS = {
    "xml": "i2b2 bioc gate inline",
    "json": "label-studio cas-json bioc-json",
    "jsonl": "doccano prodigy web-annotation",
} | {"tsv": "webanno-tsv", "xmi": "xmi", "spacy": "docbin", "parquet": "hf"}
WHOLE = {kind: ending for ending, kinds in _ENDINGS.items() for kind in kinds.split()}
"""The formats that keep the text of a note in the file of its spans, and the ending of that file."""

BINARY = {"docbin", "hf"}
"""Those of WHOLE whose files are compressed, so that a fault in them is in no line."""

SPAN_FORMATS = sorted(set(FORMATS) - {"text"})


def read_one(kind, files, labels=NAMES):
    """Read the only note in some files."""
    (note,) = read_all(kind, files, labels)
    if isinstance(note, NoteError):
        raise note
    return note


def read_all(kind, files, labels=NAMES):
    """Read all notes in some files; every file must belong to a note."""
    reader = FORMATS[kind] if isinstance(kind, str) else kind
    stored = {name: data.encode() if isinstance(data, str) else data for name, data in files.items()}
    groups, problems = reader.group(stored)
    assert problems == []
    return [note for group in groups for note in reader.read_many(group, LoadedFiles(stored.__getitem__), labels)]


def parsed(kind, files, labels=NAMES):
    """Read all notes in some files; none may be refused."""
    notes = read_all(kind, files, labels)
    assert not [note.problems for note in notes if isinstance(note, NoteError)]
    return [note for note in notes if isinstance(note, ParsedNote)]


def outcomes(kind, files):
    """The name of each note, or the lines and codes of its problems."""
    return [said(note.problems) if isinstance(note, NoteError) else note.name for note in read_all(kind, files)]


def refused(kind, files, labels=NAMES):
    """The problems of the only note in some files."""
    (note,) = read_all(kind, files, labels)
    assert isinstance(note, NoteError)
    return note.problems


def write_one(kind, text, spans, labels=NAMES, name="a"):
    writer = FORMATS[kind] if isinstance(kind, str) else kind
    return writer.write(OutNote(name, text, spans), labels)


def facts(spans):
    """What is compared of spans, with their attributes, in order."""
    return sorted((span.start, span.end, span.label, span.attributes) for span in spans or ())


def said(problems):
    """The line and the code of each problem."""
    return [(problem.line, problem.code) for problem in problems]


class OnDisk:
    """One file on disk, which is only read as a stream."""

    def __init__(self, path):
        self._path = path

    def load(self, name, /):
        raise AssertionError

    def open(self, name, /):
        return self._path.open("rb")
