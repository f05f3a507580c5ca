"""Read the notes of an import in batches, and refuse those that can't be kept."""

from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Sequence
from itertools import islice

from django.conf import settings
from django.utils.translation import gettext as _

from annotations.exchange.services.import_plan import ImportContext
from annotations.exchange.services.input_formats import grouped_files, holds_many, opened_format
from annotations.exchange.services.sources import PATIENTS, NamedFiles, megabytes
from annotations.formats.base import InputFormat, NoteFiles, readmes
from annotations.formats.documents.base import DOCUMENTS, Limits
from annotations.formats.notes import NoteError, ParsedNote, Problem
from annotations.formats.quotes import MOVED
from annotations.models import Import
from annotations.text.spans import DEEPEST, MOST_SPANS, Crowd, crowd_in

BATCH = 250
# Long notes make smaller batches, since memory holds several copies of a text, at up to four bytes per character.
BATCH_CHARACTERS = 8 * 1024 * 1024
_UTF8_MOST = 4
# Reading documents takes long: a preview reads the first notes.
PREVIEWED_DOCUMENTS = 3


def grouped(format: str, source: NamedFiles) -> tuple[list[NoteFiles], list[Problem]]:
    """Group the files into notes, and list the files that are not read, also readmes and licenses."""
    groups, strays = grouped_files(format, source)
    read = {PATIENTS, *(file for group in groups for file in group.parts.values())}
    return groups, strays + readmes(name for name in source.names() if name not in read)


def total_of(row: Import, groups: Sequence[NoteFiles]) -> int:
    """The number of units that `batches` counts; for files with many notes, as it was when the files were staged.

    Notes in documents are not counted beforehand: a document counts as one until it is read.
    """
    if row.format == DOCUMENTS:
        return row.notes_of_files + max(len(groups) - row.files_done, 0)
    alone = sum(not holds_many(row.format, group) for group in groups)
    return alone + (row.notes_found or max(0, row.notes_done - alone)) if alone < len(groups) else alone


def batches(
    context: ImportContext,
    groups: Sequence[NoteFiles],
    *,
    skip: int = 0,
    most: int | None = None,
    limits: Limits | None = None,
) -> Generator[tuple[list[ParsedNote], int], None, None]:
    """Readable notes, in batches of at most BATCH units or about BATCH_CHARACTERS, each with its number of units.

    A unit is a group of files, or in a format that keeps many notes in one file a note. The first `skip` units are left
    out; at most `most` are read. `limits` are those of documents in a preview.
    """
    held: list[ParsedNote] = []
    units = characters = 0
    for found in islice(_units(context, groups, skip, limits), most):
        units += 1
        for note in kept_notes(context, found):
            held.append(note)
            characters += len(note.text)
        if units == BATCH or characters >= BATCH_CHARACTERS:
            yield held, units
            held, units, characters = [], 0, 0
    if units:
        yield held, units


def _units(
    context: ImportContext, groups: Sequence[NoteFiles], skip: int, limits: Limits | None
) -> Iterator[Iterable[ParsedNote | NoteError]]:
    with opened_format(context.row, limits) as format:
        if context.row.format == DOCUMENTS:
            yield from _units_of_documents(context, groups, skip, format)
            return
        for group in groups:
            found = format.read_many(group, context.source, context.labels)
            if holds_many(context.row.format, group):
                for note in found:
                    if skip == 0:
                        yield [note]
                    skip = max(0, skip - 1)
            elif skip:
                skip -= 1
            else:
                yield islice(found, PREVIEWED_DOCUMENTS) if limits and "document" in group.parts else found


def _units_of_documents(
    context: ImportContext, groups: Sequence[NoteFiles], skip: int, format: InputFormat
) -> Iterator[Iterable[ParsedNote | NoteError]]:
    """Each note of the documents. Documents that were read to the end are not read again, since that takes long.

    The import's `files_done` and `notes_of_files` follow; the caller stores them with what it has read.
    """
    row = context.row
    skip -= row.notes_of_files
    for group in groups[row.files_done :]:
        notes = 0
        for notes, note in enumerate(format.read_many(group, context.source, context.labels), 1):
            if notes > skip:
                yield [note]
        skip = max(0, skip - notes)
        row.files_done += 1
        row.notes_of_files += notes


def kept_notes(context: ImportContext, notes: Iterable[ParsedNote | NoteError]) -> Iterator[ParsedNote]:
    """The notes that can be kept. Problems of the other notes go into the report."""
    for note in notes:
        if isinstance(note, NoteError):
            context.report.refuse(note.problems)
            continue
        if too_long := _too_long(note):
            context.report.refuse_note(note.name, "size", too_long)
            continue
        note.name = context.names.get(note.name, note.name)
        note.patient_id = context.patients.get(note.name, note.patient_id)
        context.report.warn(note.warnings)
        for layer, tags in note.layers.items():
            context.report.layers[layer] = tags | context.report.layers.get(layer, {})
        context.report.moved_spans += sum(warning.code == MOVED for warning in note.warnings)
        if note.spans is not None and not context.row.written_as:
            context.report.warn_of(note.name, "as", "The annotations were not imported. Choose their author.")
            note.spans = None
        if note.spans is not None:
            _skip(context, note)
        if not note.text or note.text.isspace():
            context.report.warn_of(note.name, "empty", "The text of this note is empty.")
        crowd = crowd_in((span.start, span.end) for span in note.spans or ())
        if crowd is not None:
            context.report.refuse_note(note.name, "room", _too_many(crowd))
            continue
        yield note


def _skip(context: ImportContext, note: ParsedNote) -> None:
    """Take the spans out whose labels are to be skipped, and count them."""
    skipped = context.labels.skipped
    if skipped and note.spans is not None:
        note.skipped = Counter(note.skipped) + Counter(span.label for span in note.spans if span.label in skipped)
        note.spans = [span for span in note.spans if span.label not in skipped]


def _too_long(note: ParsedNote) -> str:
    limit = settings.NOTE_MAX_BYTES
    if len(note.text) * _UTF8_MOST <= limit or (size := len(note.text.encode())) <= limit:
        return ""
    return _("The note has %(size)s; at most %(limit)s are allowed. Split the note.") % {
        "size": megabytes(size),
        "limit": megabytes(limit),
    }


def _too_many(crowd: Crowd) -> str:
    if crowd.at is None:
        return _(
            "The note has %(count)s spans; an annotation set holds at most %(most)s. "
            "Split the note or remove spans from the file."
        ) % {"count": f"{crowd.count:,}", "most": f"{MOST_SPANS:,}"}
    return _(
        "%(count)s spans cover the character at offset %(at)s; at most %(most)s are allowed. Remove some from the file."
    ) % {"count": crowd.count, "at": crowd.at, "most": DEEPEST}
