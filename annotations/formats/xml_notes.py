"""What formats with one `.xml` file per note have in common."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress

from annotations.formats.base import Files, LabelFinder, Loss, NoteFiles, OutNote, split_names
from annotations.formats.notes import NoteError, ParsedNote, Problem, check_name
from annotations.formats.xml_writing import replaced_characters
from annotations.text.labels import LabelSetDef


class XmlNoteFormat(ABC):
    """A format that keeps text and spans of a note in one XML file."""

    name: str

    @abstractmethod
    def claims(self, name: str, head: bytes) -> bool:
        """See `Format.claims`."""

    @abstractmethod
    def _read(self, name: str, file: str, data: bytes, find_label: LabelFinder) -> ParsedNote:
        """The note of a file. Raises NoteError."""

    @abstractmethod
    def _labels(self, file: str, data: bytes) -> Iterable[str]:
        """The label of every span of a file, as written. Raises NoteError."""

    @abstractmethod
    def _written(self, note: OutNote, labels: Mapping[str, str]) -> tuple[str, list[Loss]]:
        """The whole file of a note, and the losses; see `Format.write`."""

    def group(self, names: Iterable[str]) -> tuple[list[NoteFiles], list[Problem]]:
        """See `Format.group`."""
        notes, problems = split_names(names, ["xml"])
        return [NoteFiles(name, parts) for name, parts in sorted(notes.items())], problems

    def read_many(self, note: NoteFiles, files: Files, labels: Mapping[str, str]) -> Iterator[ParsedNote | NoteError]:
        """See `Format.read_many`."""
        file = note.parts["xml"]
        try:
            yield self._read(note.name, file, files.load(file), LabelFinder(labels))
        except NoteError as error:
            yield error

    def used_labels(self, note: NoteFiles, files: Files) -> Iterator[Counter[str]]:
        """See `Format.used_labels`."""
        file = note.parts["xml"]
        with suppress(NoteError):
            yield Counter(self._labels(file, files.load(file)))

    def write(self, note: OutNote, labels: Mapping[str, str]) -> tuple[dict[str, bytes], list[Loss]]:
        """See `Format.write`."""
        name = check_name(note.name)
        whole, losses = self._written(note, labels)
        return {f"{name}.xml": (whole + replaced_characters(note.text)).encode()}, losses

    def extra_files(self, labels: LabelSetDef) -> dict[str, bytes]:
        """See `Format.extra_files`. These formats have none."""
        return {}
