"""The interface of all file formats: group files into notes, read notes, write notes."""

import io
import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from copy import copy
from dataclasses import dataclass, field
from posixpath import basename, splitext
from typing import IO, Any, Final, Protocol, Self

from annotations.formats.files.safe_names import FileNames
from annotations.formats.notes import Loss, NoteError, OutNote, ParsedNote, Problem, check_name, decode_utf8, outcome
from annotations.text.labels import CODE, LabelSetDef
from annotations.text.spans import Span, Tokenizer, tokenize
from annotations.text.wording import gettext as _
from annotations.text.wording import gettext_noop

HEAD: Final = 64 * 1024
"""The number of bytes at the start of a file by which a format is detected."""

LOSSES: Final = "losses.csv"
"""The file of an export that lists all spans that the format can't represent."""

NAMES: Final = "names.csv"
"""The file of an export that maps the names of files to the names of notes, where they differ."""

_SYSTEM_NAMES: Final = frozenset(
    {"annotation.conf", "visual.conf", "tools.conf", "kb_shortcuts.conf", "thumbs.db", "export.json", LOSSES, NAMES}
    | {"label-studio.xml"}
)
_ABOUT: Final = re.compile(r"(readme|licen[cs]e)([._-]|$)", re.IGNORECASE)
_CHOICES_SHOWN: Final = 12
DOCUMENT_EXTENSIONS: Final = frozenset(
    {"doc", "docm", "docx", "dot", "dotm", "dotx", "eml", "html", "htm", "odt", "ott", "pdf", "rtf", "xhtml"}
    | {"hl7", "er7", "tar", "tgz", "gz", "tbz2", "bz2", "txz", "xz"}
    | {"msg", "pages", "ppt", "pptx", "odp", "ods", "xls", "xlsx"}
)
"""Endings of documents that hold text in a form of their own, also of kinds that are refused by name."""


class Files(Protocol):
    """Where the files of an import come from. Names are those that were given to `group`."""

    def load(self, name: str, /) -> bytes:
        """All bytes of a file. Raises NoteError if it can't be read or is larger than the file of one note may be."""

    def open(self, name: str, /) -> IO[bytes]:
        """A file of many notes as a seekable stream, which the caller closes. Raises NoteError if it can't be read."""


class LoadedFiles:
    """Files that a function loads whole."""

    def __init__(self, load: Callable[[str], bytes]) -> None:
        self.load = load

    def open(self, name: str, /) -> IO[bytes]:
        return io.BytesIO(self.load(name))


@dataclass(frozen=True, slots=True)
class NoteFiles:
    """The files of one note: its name (a relative path without extension), and its files by extension (without dot).

    For files with several notes, `bundle` lists these files and `texts` the text files by note name. Such a group must
    be read with `read_many`. `format` is set if the files of an import are in several formats.
    """

    name: str
    parts: Mapping[str, str]
    bundle: tuple[str, ...] = ()
    texts: Mapping[str, str] = field(default_factory=dict)
    format: str = ""


class InputFormat:
    """Reads notes in one format, without access to a disk: input comes from `files`. Each note has its own files."""

    name: str
    """The name of the format, as used for `--format`."""
    endings: tuple[str, ...]
    """The endings of its files, without dot; of a file with many notes, the first one is written."""
    claim: re.Pattern[bytes] = re.compile(b"")
    """What the start of a file has if it is in this format."""

    def claims(self, name: str, head: bytes) -> bool:
        """Whether a file is in this format, by its name and its first HEAD bytes."""
        return name.lower().endswith(tuple(f".{each}" for each in self.endings)) and bool(self.claim.search(head))

    def group(self, names: Iterable[str]) -> tuple[list[NoteFiles], list[Problem]]:
        """Group file names into notes, and list the files that belong to no note. System files are ignored."""
        notes, problems = split_names(names, self.endings)
        return [NoteFiles(name, parts) for name, parts in sorted(notes.items())], problems

    def read_many(self, note: NoteFiles, files: Files, labels: Mapping[str, str]) -> Iterator[ParsedNote | NoteError]:
        """Read all notes of a group; for a note with problems, the iterator gives a NoteError with all of them.

        `labels` maps every accepted name and code to a code; exact matches win over other case.
        """
        yield outcome(self.read, note, files, LabelFinder(labels))

    def used_labels(self, note: NoteFiles, files: Files) -> Iterator[Counter[str]]:
        """For each note of a group, the number of spans by label name as written.

        Notes without a span that can be found, because the note is unreadable or only a text, are left out.
        """
        labels = EveryLabel()
        for found in self.read_many(note, files, labels):
            is_read = isinstance(found, ParsedNote) and (found.spans is not None or found.name not in note.texts)
            if is_read or labels.used:
                yield labels.taken()

    def read(self, note: NoteFiles, files: Files, find_label: "LabelFinder") -> ParsedNote:
        """The only note of a group. Raises NoteError with all its problems."""
        raise NotImplementedError


class Format(InputFormat):
    """Reads and writes notes in one format; output is bytes."""

    options: frozenset[str] = frozenset()
    """Those of the following options that the format has for writing, and `layer` of formats for UIMA."""
    tokenizer: Tokenizer = staticmethod(tokenize)
    sentences: bool = False
    """Whether an empty row ends a sentence instead of a line."""
    spaced: bool = False
    """Whether a space is written where a span begins or ends inside a token."""

    def with_options(self, **options: Any) -> Self:
        """The format with those of these options that it has."""
        made = copy(self)
        vars(made).update({name: value for name, value in options.items() if name in self.options})
        return made

    def write(self, note: OutNote, labels: Mapping[str, str]) -> tuple[dict[str, bytes], list[Loss]]:
        """The files of a note by relative name, and the spans that the format can't represent completely.

        `labels` maps codes to the codes to write (other codes are written as they are); its order is the label order.
        Raises SpanError for a span that is not inside the text, NoteError for a name that can't be a file name.
        """
        raise NotImplementedError

    def extra_files(self, labels: LabelSetDef) -> dict[str, bytes]:
        """Files that an export contains once, in addition to the files of the notes."""
        return {}


Sink = Callable[[OutNote], list[Loss]]
"""Writes one note, and returns the spans that the format can't represent completely. Raises as `Format.write` does."""


class OneFileReader(InputFormat):
    """Reads a format that keeps many notes in one file, as a stream, one note at a time."""

    def group(self, names: Iterable[str]) -> tuple[list[NoteFiles], list[Problem]]:
        """Each file is a group."""
        found, problems = split_names(names, self.endings)
        return one_file_each(found), problems


class DocumentReader(OneFileReader, ABC):
    """Reads the documents of a file one after the other. Only one is held in memory."""

    unique: str = ""
    """What to do about notes of the same name, if the format refuses them."""

    @abstractmethod
    def documents(self, note: NoteFiles, file: str, files: Files) -> Iterator[tuple[int | None, Any]]:
        """The documents of a file with their lines (1-based); a NoteError takes the place of one that can't be read.

        Raises NoteError if nothing more of the file can be read.
        """

    @abstractmethod
    def note_in(self, document: Any, name: str, file: str, line: int, find_label: "LabelFinder") -> ParsedNote:
        """The note of a document; `name` is for documents without one. Raises NoteError."""

    def read_many(self, note: NoteFiles, files: Files, labels: Mapping[str, str]) -> Iterator[ParsedNote | NoteError]:
        """Notes come in the order of the file."""
        find_label = LabelFinder(labels)
        seen: set[str] = set()
        for file in note.bundle:
            try:
                for number, (line, document) in enumerate(self.documents(note, file, files), 1):
                    yield outcome(self._read, document, numbered_name(note, number), file, line, find_label, seen)
            except NoteError as error:
                yield error

    def _read(
        self, document: Any, name: str, file: str, line: Any, find_label: "LabelFinder", seen: set[str]
    ) -> ParsedNote:
        if isinstance(document, NoteError):
            raise document
        parsed = self.note_in(document, name, file, line, find_label)
        if self.unique and parsed.name in seen:
            message = _("The note “{name}” occurs twice. {advice}", parsed.name, _(self.unique))
            raise NoteError([Problem(file, line, "same name", message)])
        seen.add(parsed.name)
        return parsed


class OneFileFormat(OneFileReader, Format):
    """A format that keeps many notes in one file, and writes it as a stream, too."""

    file: str
    """The name of the file in an export."""

    def sink(self, out: IO[bytes], labels: Mapping[str, str]) -> AbstractContextManager[Sink]:
        """Begin to write a file; leaving the context completes it. For `labels` see `Format.write`."""
        raise NotImplementedError

    def path(self, folder: str) -> str:
        """Where the file of a folder stands in an export; `folder` is empty or the name of a split with “/”."""
        return folder + self.file

    def beside(self, note: OutNote) -> dict[str, bytes]:
        """Files of the note itself that an export needs beside the file of all notes."""
        return {}

    @classmethod
    def names_files(cls) -> bool:
        """Whether an export has files that are named like the notes, beside the file of all notes."""
        return cls.beside is not OneFileFormat.beside

    def write(self, note: OutNote, labels: Mapping[str, str]) -> tuple[dict[str, bytes], list[Loss]]:
        """The note alone in a file of its own."""
        out = io.BytesIO()
        with self.sink(out, labels) as add:
            losses = add(note)
        return {f"{check_name(note.name)}.{self.endings[0]}": out.getvalue()} | self.beside(note), losses


class RecordsFormat(OneFileFormat):
    """A format whose file is a head, a record for each note with something between two of them, and a tail."""

    head: bytes = b""
    between: bytes = b""
    tail: bytes = b""

    @abstractmethod
    def written(self, note: OutNote, labels: Mapping[str, str]) -> tuple[bytes, list[Loss]]:
        """The record of a note, and its losses. Raises as `Format.write` does."""

    @contextmanager
    def sink(self, out: IO[bytes], labels: Mapping[str, str]) -> Iterator[Sink]:
        before = self.head

        def add(note: OutNote) -> list[Loss]:
            nonlocal before
            record, losses = self.written(note, labels)
            out.write(before + record)
            before = self.between
            return losses

        yield add
        out.write(self.tail)


def only_note(notes: Iterable[ParsedNote | NoteError]) -> ParsedNote:
    """The only note of a group. Raises NoteError if it can't be read."""
    (note,) = notes
    if isinstance(note, NoteError):
        raise note
    return note


def one_file_each(found: Mapping[str, Mapping[str, str]]) -> list[NoteFiles]:
    """A group for each file, from files by note name and extension."""
    return [
        NoteFiles(stem, {ending: file}, bundle=(file,))
        for stem, parts in sorted(found.items())
        for ending, file in sorted(parts.items())
    ]


def loose_texts(texts: Mapping[str, str], used: Collection[str], files: Files) -> Iterator[ParsedNote | NoteError]:
    """The text files by note name that no other file mentions, in order, as notes without annotations."""
    for name in sorted(texts.keys() - set(used)):
        yield outcome(bare_note, name, texts[name], files)


def bare_note(name: str, file: str, files: Files) -> ParsedNote:
    """A text file as a note without annotations."""
    return ParsedNote(name, decode_utf8(files.load(file), file), None)


def numbered_name(note: NoteFiles, number: int) -> str:
    """The name of the `number`-th note (1-based) of a file that names no notes."""
    return f"{note.name}-{number:05d}"


def lost_attributes(note: OutNote) -> list[Loss]:
    """The losses of a format that can't hold attributes of spans."""
    return [
        Loss(note.name, span, _("Attributes are not exported: {names}.", ", ".join(dict(span.attributes))))
        for span in note.spans
        if span.attributes
    ]


def file_names(format: Format, taken: Collection[str] = ("export",)) -> FileNames | None:
    """The names of the notes' files in an export; None for a format without files that are named like the notes."""
    return None if isinstance(format, OneFileFormat) and not format.names_files() else FileNames(taken)


def is_system_file(name: str) -> bool:
    """Whether a file is not a note but configuration, a license, a readme or a file of the operating system."""
    base = basename(name)
    # A leading dot includes .DS_Store, ._x and .stats_cache.
    hidden = base.startswith(".") or "__MACOSX" in name.split("/")
    return hidden or base.lower() in _SYSTEM_NAMES or bool(_ABOUT.match(base))


def readmes(names: Iterable[str]) -> list[Problem]:
    """The files that are ignored because their name is that of a readme or a license, which a note may have, too."""
    message = _("The file is ignored: by its name it is a readme or a license. Rename it if it is a note.")
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
            message = _("The file is ignored: files of this format end in {known}.", known)
            if extension in DOCUMENT_EXTENSIONS:
                message += " " + _("Import the document with the format “documents”.")
            problems.append(Problem(name, None, "unknown file", message))
        elif extension in notes.setdefault(stem, {}):
            other = notes[stem][extension]
            message = _("The file is ignored: “{other}” is the same note.", other)
            problems.append(Problem(name, None, "same name", message))
        else:
            notes[stem][extension] = name
    return notes, problems


class AcceptedLabels(dict[str, str]):
    """The labels that an import accepts, as `InputFormat.read_many` takes them, and how it takes spans.

    Spans of the `skipped` codes are left out and counted, whatever is wrong with them. With `repair`, a span whose
    quote is elsewhere nearby is moved there, with a warning.
    """

    def __init__(self, labels: Mapping[str, str], *, skipped: Iterable[str] = (), repair: bool = False) -> None:
        super().__init__(labels)
        self.skipped = frozenset(skipped)
        self.repair = repair
        self.used: Counter[str] = Counter()


class EveryLabel(AcceptedLabels):
    """Accepts every label as its own code. `used` counts the spans of the note that is being read, by label."""

    def __init__(self) -> None:
        super().__init__({})

    def get(self, name: str, default: Any = None) -> str:
        return name

    def taken(self) -> Counter[str]:
        """What was used since the last call."""
        used = self.used.copy()
        self.used.clear()
        return used


class LabelFinder:
    """Finds the code for a label name in a file; exact matches win over matches with other case."""

    def __init__(self, labels: Mapping[str, str]) -> None:
        self._labels = labels if isinstance(labels, AcceptedLabels) else AcceptedLabels(labels)
        self.skipped, self.repair, self.used = self._labels.skipped, self._labels.repair, self._labels.used
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
            shown = _("{labels} and {count} more", shown, len(choices) - _CHOICES_SHOWN)
        short = name if len(name) <= 60 else name[:57] + "..."
        return _("The label “{label}” is unknown. Known labels: {known}.", short, shown or _("none"))


def written_code(span: Span, labels: Mapping[str, str]) -> str | None:
    """The code to write for a span's label; None if it is not a valid code."""
    code = labels.get(span.label, span.label)
    return code if CODE.fullmatch(code) else None


BAD_CODE: Final = gettext_noop("The code of the label may contain only A-Z, a-z, 0-9, “_” and “-”.")
"""The reason for the loss of a span for which `written_code` gives None."""
