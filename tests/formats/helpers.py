"""Helpers for reading and writing notes in memory."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import IO

from annotations.formats import FORMATS
from annotations.formats.base import Format, InputFormat, LoadedFiles
from annotations.formats.notes import Loss, NoteError, OutNote, ParsedNote, Problem
from annotations.text.spans import Span
from tests.text.strategies import LABELS

NAMES: dict[str, str] = {label: label for label in LABELS}

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


def read_one(
    kind: str | InputFormat, files: Mapping[str, bytes | str], labels: Mapping[str, str] = NAMES
) -> ParsedNote:
    """Read the only note in some files."""
    (note,) = read_all(kind, files, labels)
    if isinstance(note, NoteError):
        raise note
    return note


def read_all(
    kind: str | InputFormat, files: Mapping[str, bytes | str], labels: Mapping[str, str] = NAMES
) -> list[ParsedNote | NoteError]:
    """Read all notes in some files; every file must belong to a note."""
    reader = FORMATS[kind] if isinstance(kind, str) else kind
    stored = {name: data.encode() if isinstance(data, str) else data for name, data in files.items()}
    groups, problems = reader.group(stored)
    assert problems == []
    return [note for group in groups for note in reader.read_many(group, LoadedFiles(stored.__getitem__), labels)]


def parsed(
    kind: str | InputFormat, files: Mapping[str, bytes | str], labels: Mapping[str, str] = NAMES
) -> list[ParsedNote]:
    """Read all notes in some files; none may be refused."""
    notes = read_all(kind, files, labels)
    assert not [note.problems for note in notes if isinstance(note, NoteError)]
    return [note for note in notes if isinstance(note, ParsedNote)]


def outcomes(kind: str | InputFormat, files: Mapping[str, bytes | str]) -> list[str | list[tuple[int | None, str]]]:
    """The name of each note, or the lines and codes of its problems."""
    return [said(note.problems) if isinstance(note, NoteError) else note.name for note in read_all(kind, files)]


def refused(
    kind: str | InputFormat, files: Mapping[str, bytes | str], labels: Mapping[str, str] = NAMES
) -> list[Problem]:
    """The problems of the only note in some files."""
    (note,) = read_all(kind, files, labels)
    assert isinstance(note, NoteError)
    return note.problems


def write_one(
    kind: str | Format, text: str, spans: Iterable[Span], labels: Mapping[str, str] = NAMES, name: str = "a"
) -> tuple[dict[str, bytes], list[Loss]]:
    writer = FORMATS[kind] if isinstance(kind, str) else kind
    return writer.write(OutNote(name, text, spans), labels)


def facts(spans: Iterable[Span] | None) -> list[tuple[int, int, str, tuple[tuple[str, str | bool], ...]]]:
    """What is compared of spans, with their attributes, in order."""
    return sorted((span.start, span.end, span.label, span.attributes) for span in spans or ())


def said(problems: Sequence[Problem]) -> list[tuple[int | None, str]]:
    """The line and the code of each problem."""
    return [(problem.line, problem.code) for problem in problems]


class OnDisk:
    """One file on disk, which is only read as a stream."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def load(self, name: str, /) -> bytes:
        raise AssertionError

    def open(self, name: str, /) -> IO[bytes]:
        return self._path.open("rb")
