"""What every format does: group files into notes, read a note, write a note."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from posixpath import basename, splitext
from typing import Final, Protocol

from annotations.domain.labels import CODE, LabelSetDef
from annotations.domain.notes import NoteError, ParsedNote, Problem, check_name
from annotations.domain.spans import Span

Load = Callable[[str], bytes]
"""Gives the bytes of a file by the name that `group` was given."""

_SYSTEM_NAMES: Final = frozenset(
    {"annotation.conf", "visual.conf", "tools.conf", "kb_shortcuts.conf", "thumbs.db", "export.json"}
)
_SYSTEM: Final = re.compile(r"\.|(readme|licen[cs]e)([._-]|$)", re.IGNORECASE)  # .DS_Store, ._x and .stats_cache too
_CHOICES_SHOWN: Final = 12


@dataclass(frozen=True, slots=True)
class NoteFiles:
    """The files of one note: its name (a relative path without extension), and its files by extension (no dot).

    `bundle` and `texts` are set where files hold many notes: `bundle` are these files, `texts` the text files by note
    name. Such a group must be read with `read_many`.
    """

    name: str
    parts: Mapping[str, str]
    bundle: tuple[str, ...] = ()
    texts: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class OutNote:
    """A note to be written. Labels are codes; every span must lie inside the text."""

    name: str
    text: str
    spans: Iterable[Span]


@dataclass(frozen=True, slots=True)
class Loss:
    """A span that a format can't hold, or not whole."""

    note: str
    span: Span
    reason: str


class Format(Protocol):
    """Reads and writes notes in one format. It touches no disk: files come from `load` and go out as bytes by name."""

    @property
    def name(self) -> str:
        """The name that people give to `--format`."""

    def group(self, names: Iterable[str]) -> tuple[list[NoteFiles], list[Problem]]:
        """The notes that these files make, and the files that belong to no note; system files are passed over."""

    def read(self, note: NoteFiles, load: Load, labels: Mapping[str, str]) -> ParsedNote:
        """One note. `labels` maps every accepted name and code to a code; exact first, then whatever the case.

        Raises NoteError with all problems of the note.
        """

    def read_many(self, note: NoteFiles, load: Load, labels: Mapping[str, str]) -> Iterator[ParsedNote | NoteError]:
        """All notes of a group; a note that is refused comes as the NoteError that says why."""

    def write(self, note: OutNote, labels: Mapping[str, str]) -> tuple[dict[str, bytes], list[Loss]]:
        """The files of a note by relative name, and what the format can't hold, span by span.

        `labels` maps each code to the code that is written (codes that aren't in it are written as they are); its order
        is the label order. Raises SpanError for a span that leaves the text, NoteError for a name that can't be a
        file's.
        """

    def extra_files(self, labels: LabelSetDef) -> dict[str, bytes]:
        """The files that go once with all the notes."""


def is_system_file(name: str) -> bool:
    """True for what lies beside notes and is none: configuration, licence, read-me, what file managers leave."""
    base = basename(name)
    return base.lower() in _SYSTEM_NAMES or "__MACOSX" in name.split("/") or bool(_SYSTEM.match(base))


def split_names(names: Iterable[str], extensions: Iterable[str]) -> tuple[dict[str, dict[str, str]], list[Problem]]:
    """Files by note name, then by extension; those with another extension or an unusable name are problems."""
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
            problems.append(Problem(name, None, "unknown file", f"not read: files of this format end in {known}"))
        elif extension in notes.setdefault(stem, {}):
            other = notes[stem][extension]
            problems.append(Problem(name, None, "same name", f"not read: the same note as {other}"))
        else:
            notes[stem][extension] = name
    return notes, problems


class LabelFinder:
    """Finds the code for the name of a label as a file has it: exactly first, then whatever the case."""

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
        """What to say of a label that isn't known: its name and the choices, both shortened."""
        choices = sorted(set(self._labels.values()))
        shown = ", ".join(choices[:_CHOICES_SHOWN])
        if len(choices) > _CHOICES_SHOWN:
            shown += f" and {len(choices) - _CHOICES_SHOWN} more"
        short = name if len(name) <= 60 else name[:57] + "..."
        return f"unknown label {short!r}; known are {shown or 'none'}"


def written_code(span: Span, labels: Mapping[str, str]) -> str | None:
    """The code to write for a span's label; None if files can't hold it."""
    code = labels.get(span.label, span.label)
    return code if CODE.fullmatch(code) else None


BAD_CODE: Final = "the label's code must be made of A-Z, a-z, 0-9, '_' and '-'"
"""Why a span is a Loss where `written_code` gives None."""
