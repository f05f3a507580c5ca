"""Plain text: one file per note, no spans."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from annotations.formats.base import Files, Loss, NoteFiles, OutNote
from annotations.formats.notes import NoteError, ParsedNote, Problem, check_name, decode_utf8
from annotations.formats.spacing import restored, split_parts
from annotations.text.labels import LabelSetDef


class PlainFormat:
    """`NAME.txt` in UTF-8. Notes are read without annotations; when writing, every span is a loss."""

    name = "text"

    def claims(self, name: str, head: bytes) -> bool:
        """See `Format.claims`."""
        return name.lower().endswith(".txt")

    def group(self, names: Iterable[str]) -> tuple[list[NoteFiles], list[Problem]]:
        """See `Format.group`."""
        notes, problems = split_parts(names, ["txt"])
        return [NoteFiles(name, parts) for name, parts in sorted(notes.items())], problems

    def read(self, note: NoteFiles, files: Files, labels: Mapping[str, str]) -> ParsedNote:
        """See `Format.read`."""
        file = note.parts["txt"]
        try:
            text = decode_utf8(files.load(file), file)
        except NoteError as error:
            raise NoteError(_with_advice(problem) for problem in error.problems) from None
        return restored(ParsedNote(note.name, text, None), note, files)

    def read_many(self, note: NoteFiles, files: Files, labels: Mapping[str, str]) -> Iterator[ParsedNote | NoteError]:
        """See `Format.read_many`."""
        try:
            yield self.read(note, files, labels)
        except NoteError as error:
            yield error

    def used_labels(self, note: NoteFiles, files: Files) -> Iterator[Counter[str]]:
        """See `Format.used_labels`. Plain text has no labels."""
        return iter(())

    def write(self, note: OutNote, labels: Mapping[str, str]) -> tuple[dict[str, bytes], list[Loss]]:
        """See `Format.write`."""
        losses = [Loss(note.name, span, "Plain text contains no spans.") for span in note.spans]
        return {f"{check_name(note.name)}.txt": note.text.encode()}, losses

    def extra_files(self, labels: LabelSetDef) -> dict[str, bytes]:
        """See `Format.extra_files`. This format has none."""
        return {}


def _with_advice(problem: Problem) -> Problem:
    """The problem of a text in another encoding, with the format that reads it."""
    if problem.code != "utf8":
        return problem
    advice = "Or import it with the format “documents”, which detects encodings."
    return replace(problem, message=f"{problem.message} {advice}")
