"""Plain text: one file per note, no spans."""

import json
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, Final, TypeVar

from annotations.formats.base import Files, Format, LabelFinder, NoteFiles, split_names, written_code
from annotations.formats.files.json_files import JsonError, read_object
from annotations.formats.notes import Loss, NoteError, OutNote, ParsedNote, Problem, check_name, decode_utf8
from annotations.text.hashes import text_sha256
from annotations.text.spans import Span, Token, Tokenizer
from annotations.text.wording import gettext as _
from annotations.text.wording import gettext_noop

# Spaces between a span and a word that it is attached to, and the offset map that takes them out again.
#
# `GambiaHome` with a span on `Gambia` is written as `Gambia Home` (the entity spacer of Catelli 2021, section 3.1.1),
# so that every tokenizer finds the end of the span. The stored text never changes. `NAME.map` beside the files is JSON
# with the offsets of the inserted spaces in the written text, and the SHA-256 of both texts.


MAP: Final = "map"
"""The extension of offset maps, without dot."""

SPACED: Final = gettext_noop("Spaces were inserted into this text. Its offset map is needed to import it again.")
"""The mark in annotation files that were written with inserted spaces."""


Moved = TypeVar("Moved", Span, Token)


@dataclass(frozen=True)
class InsertedSpaces:
    """Spaces to insert into a text: one before each of the offsets `cuts`, which are ascending and differ."""

    cuts: Sequence[int] = ()

    @cached_property
    def inserted(self) -> list[int]:
        """The offsets of the inserted spaces in the text with spaces."""
        return [cut + number for number, cut in enumerate(self.cuts)]

    def spaced(self, text: str) -> str:
        """The text with the spaces."""
        edges = [0, *self.cuts, len(text)]
        return " ".join([text[start:end] for start, end in pairwise(edges)])

    def moved(self, stretch: Moved) -> Moved:
        """The stretch with its offsets in the text with spaces. It neither begins nor ends with an inserted space."""
        if not self.cuts:
            return stretch
        start, end = stretch.start, stretch.end
        return _at(stretch, start + bisect_right(self.cuts, start), end + bisect_left(self.cuts, end))

    def back(self, stretch: Moved) -> Moved:
        """The stretch with its offsets in the text without the spaces; the inverse of `moved`."""
        if not self.cuts:
            return stretch
        start, end = (at - bisect_left(self.inserted, at) for at in (stretch.start, stretch.end))
        return _at(stretch, start, end)


def _at(stretch: Moved, start: int, end: int) -> Moved:
    """The stretch with other offsets."""
    if isinstance(stretch, Token):
        return Token(start, end)
    return replace(stretch, start=start, end=end)


NONE: Final = InsertedSpaces()


def spacing_for(note: OutNote, labels: Mapping[str, str], tokenizer: Tokenizer) -> InsertedSpaces:
    """The spaces that separate the spans of a note from other text: where a span begins or ends inside a token."""
    tokens = tokenizer(note.text)
    starts = [token.start for token in tokens]
    written = [span for span in note.spans if written_code(span, labels) is not None]
    cuts = []
    for at in sorted({edge for span in written for edge in (span.start, span.end)}):
        before = bisect_left(starts, at) - 1
        if before >= 0 and at < tokens[before].end:
            cuts.append(at)
    return InsertedSpaces(tuple(cuts))


def map_file(name: str, text: str, spacing: InsertedSpaces) -> dict[str, bytes]:
    """The offset map of a note, by file name; nothing for a text without inserted spaces."""
    if not spacing.cuts:
        return {}
    content = {
        "original_sha256": text_sha256(text),
        "written_sha256": text_sha256(spacing.spaced(text)),
        "inserted": spacing.inserted,
    }
    return {f"{name}.{MAP}": json.dumps(content).encode()}


def restored(parsed: ParsedNote, note: NoteFiles, files: Files) -> ParsedNote:
    """The note without the spaces of its offset map, exactly as before its export; unchanged without a map.

    Raises NoteError if the map can't be read or belongs to another text.
    """
    file = note.parts.get(MAP)
    if file is None:
        return parsed
    spacing, hashes = _read_map(files.load(file), file)
    inserted = spacing.inserted
    text = "".join(
        [
            parsed.text[start:end]
            for start, end in zip([0, *(at + 1 for at in inserted)], [*inserted, None], strict=True)
        ]
    )
    same = [text_sha256(text), text_sha256(parsed.text)] == hashes and spacing.spaced(text) == parsed.text
    if not same:
        message = _(
            "The offset map belongs to another text. Import the text file, the annotations and the map of one export."
        )
        raise NoteError([Problem(file, None, "map", message)])
    parsed.text = text
    if parsed.spans is not None:
        parsed.spans = sorted({spacing.back(span) for span in parsed.spans})
        empty = [span for span in parsed.spans if span.start == span.end]
        if empty:
            message = _("The span at {start} contains only an inserted space. Remove it.", empty[0].start)
            raise NoteError([Problem(file, None, "white", message)])
    return parsed


def _read_map(data: bytes, file: str) -> tuple[InsertedSpaces, list[Any]]:
    """The spacing, and the hashes of the text without and with the spaces."""
    try:
        content = read_object(data)
    except JsonError:
        content = {}
    inserted = content.get("inserted")
    if (
        not isinstance(inserted, list)
        or not all(type(at) is int and at >= 0 for at in inserted)
        or any(at + 1 >= later for at, later in pairwise(inserted))
    ):
        message = _("The offset map can't be read. Take the file from the export again, unchanged.")
        raise NoteError([Problem(file, None, "map", message)])
    hashes = [content.get("original_sha256"), content.get("written_sha256")]
    return InsertedSpaces(tuple(at - number for number, at in enumerate(inserted))), hashes


def split_parts(names: Iterable[str], extensions: Iterable[str]) -> tuple[dict[str, dict[str, str]], list[Problem]]:
    """Do what `split_names` does, also for offset maps; one without a text file is a problem."""
    notes, problems = split_names(names, [*extensions, MAP])
    for name, parts in sorted(notes.items()):
        if MAP in parts and "txt" not in parts:
            problems.append(text_missing(name, parts.pop(MAP)))
    return {name: parts for name, parts in notes.items() if parts}, problems


def text_missing(name: str, file: str) -> Problem:
    return Problem(
        file, None, "no text", _("The text file “{name}.txt” is missing. Import it together with this file.", name)
    )


def map_missing(name: str, file: str) -> Problem:
    """The problem of annotations that were written with inserted spaces and come without their map."""
    message = _("The file was exported with inserted spaces. Import its offset map “{name}.{map}” with it.", name, MAP)
    return Problem(file, None, "map", message)


class PlainFormat(Format):
    """`NAME.txt` in UTF-8. Notes are read without annotations; when writing, every span is a loss."""

    name = "text"
    endings = ("txt",)

    def group(self, names: Iterable[str]) -> tuple[list[NoteFiles], list[Problem]]:
        notes, problems = split_parts(names, self.endings)
        return [NoteFiles(name, parts) for name, parts in sorted(notes.items())], problems

    def read(self, note: NoteFiles, files: Files, find_label: LabelFinder) -> ParsedNote:
        file = note.parts["txt"]
        try:
            text = decode_utf8(files.load(file), file)
        except NoteError as error:
            raise NoteError(_with_advice(problem) for problem in error.problems) from None
        return restored(ParsedNote(note.name, text, None), note, files)

    def used_labels(self, note: NoteFiles, files: Files) -> Iterator[Counter[str]]:
        return iter(())

    def write(self, note: OutNote, labels: Mapping[str, str]) -> tuple[dict[str, bytes], list[Loss]]:
        losses = [Loss(note.name, span, _("Plain text contains no spans.")) for span in note.spans]
        return {f"{check_name(note.name)}.txt": note.text.encode()}, losses


def _with_advice(problem: Problem) -> Problem:
    """The problem of a text in another encoding, with the format that reads it."""
    if problem.code != "utf8":
        return problem
    advice = _("Or import it with the format “documents”, which detects encodings.")
    return replace(problem, message=f"{problem.message} {advice}")
