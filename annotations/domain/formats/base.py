"""The interface of all file formats: group files into notes, read a note, write a note."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from posixpath import basename, splitext
from typing import Final, Protocol

from annotations.domain.labels import CODE, LabelSetDef
from annotations.domain.notes import NoteError, ParsedNote, Problem, check_name
from annotations.domain.spans import Span

Load = Callable[[str], bytes]
"""A function that returns the bytes of a file, by a name that was given to `group`."""

LOSSES: Final = "losses.csv"
"""The file of an export that lists all spans that the format can't represent."""

_SYSTEM_NAMES: Final = frozenset(
    {"annotation.conf", "visual.conf", "tools.conf", "kb_shortcuts.conf", "thumbs.db", "export.json", LOSSES}
)
_ABOUT: Final = re.compile(r"(readme|licen[cs]e)([._-]|$)", re.IGNORECASE)
_CHOICES_SHOWN: Final = 12
DOCUMENT_EXTENSIONS: Final = frozenset({"doc", "docx", "html", "htm", "odt", "pdf", "rtf", "xls", "xlsx"})
"""Endings of documents that hold text in a form of their own."""


@dataclass(frozen=True, slots=True)
class NoteFiles:
    """The files of one note: its name (a relative path without extension), and its files by extension (without dot).

    For files with several notes, `bundle` lists these files and `texts` the text files by note name. Such a group must
    be read with `read_many`.
    """

    name: str
    parts: Mapping[str, str]
    bundle: tuple[str, ...] = ()
    texts: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class OutNote:
    """A note to write. Labels are codes; every span must lie inside the text."""

    name: str
    text: str
    spans: Iterable[Span]


@dataclass(frozen=True, slots=True)
class Loss:
    """A span that a format can't represent completely. `reason` is a sentence."""

    note: str
    span: Span
    reason: str


class Format(Protocol):
    """Reads and writes notes in one format, without access to a disk: input comes from `load`, output is bytes."""

    @property
    def name(self) -> str:
        """The name of the format, as used for `--format`."""

    def group(self, names: Iterable[str]) -> tuple[list[NoteFiles], list[Problem]]:
        """Group file names into notes, and list the files that belong to no note. System files are ignored."""

    def read(self, note: NoteFiles, load: Load, labels: Mapping[str, str]) -> ParsedNote:
        """Read one note. `labels` maps every accepted name and code to a code; exact matches win over other case.

        Raises NoteError with all problems of the note.
        """

    def read_many(self, note: NoteFiles, load: Load, labels: Mapping[str, str]) -> Iterator[ParsedNote | NoteError]:
        """Read all notes of a group; for a note with problems, the iterator gives a NoteError."""

    def used_labels(self, note: NoteFiles, load: Load) -> Iterator[Counter[str]]:
        """For each note of a group, the number of spans by label name as written. Unreadable notes are left out."""

    def write(self, note: OutNote, labels: Mapping[str, str]) -> tuple[dict[str, bytes], list[Loss]]:
        """The files of a note by relative name, and the spans that the format can't represent completely.

        `labels` maps codes to the codes to write (other codes are written as they are); its order is the label order.
        Raises SpanError for a span that is not inside the text, NoteError for a name that can't be a file name.
        """

    def extra_files(self, labels: LabelSetDef) -> dict[str, bytes]:
        """Files that an export contains once, in addition to the files of the notes."""


def is_system_file(name: str) -> bool:
    """Whether a file is not a note but configuration, a license, a readme or a file of the operating system."""
    base = basename(name)
    # A leading dot includes .DS_Store, ._x and .stats_cache.
    hidden = base.startswith(".") or "__MACOSX" in name.split("/")
    return hidden or base.lower() in _SYSTEM_NAMES or bool(_ABOUT.match(base))


def readmes(names: Iterable[str]) -> list[Problem]:
    """The files that are ignored because their name is that of a readme or a license, which a note may have, too."""
    message = "The file is ignored: by its name it is a readme or a license. Rename it if it is a note."
    return [Problem(name, None, "readme", message) for name in names if _ABOUT.match(basename(name))]


def split_names(names: Iterable[str], extensions: Iterable[str]) -> tuple[dict[str, dict[str, str]], list[Problem]]:
    """Files by note name, then by extension; files with another extension or an invalid name are problems."""
    wanted = {extension.lower() for extension in extensions}
    notes: dict[str, dict[str, str]] = {}
    problems: list[Problem] = []
    for name in names:
        if name.endswith("/") or is_system_file(name):
            continue
        stem, extension = splitext(name)
        extension = extension[1:].lower()
        try:
            check_name(name)
        except NoteError as error:
            problems += error.problems
            continue
        if extension not in wanted:
            known = ", ".join(f".{each}" for each in sorted(wanted))
            message = f"The file is ignored: files of this format end in {known}."
            if extension in DOCUMENT_EXTENSIONS:
                message += " Save the text of the document as .txt (UTF-8) and import that file."
            problems.append(Problem(name, None, "unknown file", message))
        elif extension in notes.setdefault(stem, {}):
            other = notes[stem][extension]
            message = f"The file is ignored: “{other}” is the same note."
            problems.append(Problem(name, None, "same name", message))
        else:
            notes[stem][extension] = name
    return notes, problems


class LabelFinder:
    """Finds the code for a label name in a file; exact matches win over matches with other case."""

    def __init__(self, labels: Mapping[str, str]) -> None:
        self._labels = labels
        self._folded: dict[str, str] | None = None

    def __call__(self, name: str) -> str | None:
        code = self._labels.get(name)
        if code is not None:
            return code
        if self._folded is None:
            self._folded = {}
            for known, code in self._labels.items():
                self._folded.setdefault(known.casefold(), code)
        return self._folded.get(name.casefold())

    def unknown(self, name: str) -> str:
        """The error message for an unknown label, with its name and the known labels, both shortened."""
        choices = sorted(set(self._labels.values()))
        shown = ", ".join(choices[:_CHOICES_SHOWN])
        if len(choices) > _CHOICES_SHOWN:
            shown += f" and {len(choices) - _CHOICES_SHOWN} more"
        short = name if len(name) <= 60 else name[:57] + "..."
        return f"The label “{short}” is unknown. Known labels: {shown or 'none'}."


def written_code(span: Span, labels: Mapping[str, str]) -> str | None:
    """The code to write for a span's label; None if it is not a valid code."""
    code = labels.get(span.label, span.label)
    return code if CODE.fullmatch(code) else None


BAD_CODE: Final = "The code of the label may contain only A-Z, a-z, 0-9, “_” and “-”."
"""The reason for the loss of a span for which `written_code` gives None."""
