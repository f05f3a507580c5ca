"""What the JSON formats share: files with one record per note, read and written as streams."""

import json
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from posixpath import splitext
from typing import Any, Final, TypeVar

from annotations.formats.base import DocumentReader, Files, LabelFinder, NoteFiles, RecordsFormat
from annotations.formats.files.json_files import JsonError, json_records
from annotations.formats.notes import Loss, NoteError, OutNote, Problem, check_name, outcome
from annotations.formats.quotes import OffsetUnit, likely_unit, points_of
from annotations.formats.span_rules import SpanTaker, whole
from annotations.text.names import printable
from annotations.text.wording import gettext as _

Record = Mapping[str, Any]
Item = TypeVar("Item")

_FILE_NAMES: Final = ("filename", "file_name")
_SHOWN: Final = 60


class JsonFile(RecordsFormat):
    """A format that is written as JSON lines, one object per note."""

    endings: tuple[str, ...] = ("jsonl", "json", "ndjson")
    end: bytes = b"\n"

    @abstractmethod
    def record_of(self, note: OutNote, labels: Mapping[str, str]) -> tuple[Record, list[Loss]]:
        """The record of a note with a list of spans, and its losses. Raises as `Format.write` does."""

    def written(self, note: OutNote, labels: Mapping[str, str]) -> tuple[bytes, list[Loss]]:
        check_name(note.name)
        record, losses = self.record_of(replace(note, spans=list(note.spans)), labels)
        return json_bytes(record) + self.end, losses


class JsonReader(DocumentReader):
    """Reads a format with one JSON object per note, in JSON lines or in an array."""

    endings: tuple[str, ...] = ("jsonl", "json", "ndjson")

    def documents(self, note: NoteFiles, file: str, files: Files) -> Iterator[tuple[int, Record | NoteError]]:
        for line, record in opened_records(files, file):
            yield line, outcome(object_in, record, file, line)


class JsonFormat(JsonReader, JsonFile):
    """A format that is read and written with one JSON object per note."""


def json_bytes(value: object) -> bytes:
    """JSON in one line of ASCII, so that no program can mistake its encoding or the ends of its lines."""
    return json.dumps(value, separators=(",", ":")).encode()


def opened_records(files: Files, file: str) -> Iterator[tuple[int, Any]]:
    """The records of a file with their lines; a NoteError takes the place of a record that can't be read."""
    try:
        opened = files.open(file)
    except NoteError as error:
        yield 0, error
        return
    line = 0
    with opened:
        for line, record in json_records(opened):
            if isinstance(record, JsonError):
                yield line, NoteError([Problem(file, line, "json", str(record))])
            else:
                yield line, record
    if not line:
        yield (
            1,
            NoteError([Problem(file, 1, "no notes", _("The file is empty. Expected: a JSON object for each note."))]),
        )


def object_in(record: object, file: str, line: int) -> Record:
    """The record, if it is a JSON object. Raises NoteError."""
    if isinstance(record, NoteError):
        raise record
    if not isinstance(record, dict):
        message = _("The record is {kind}. Expected: a JSON object for each note.", kind_of(record))
        raise NoteError([Problem(file, line, "record", message)])
    return record


def text_in(value: object, file: str, line: int, field: str = "text") -> str:
    """The text of a note. Raises NoteError if the value is not text."""
    if isinstance(value, str):
        return value
    found = _("is missing") if value is None else _("is {kind}", kind_of(value))
    message = _("The field “{field}” {found}. Expected: the text of the note.", field, found)
    raise NoteError([Problem(file, line, "no text", message)])


def name_in(record: Record, number_name: str, taker: SpanTaker) -> str:
    """The name of the note in the fields “name”, “filename” or “file_name”, or the name with a number."""
    for field in ("name", *_FILE_NAMES):
        given = record.get(field)
        if not isinstance(given, str) or not given:
            continue
        return taker.name_of(given if field == "name" else splitext(given)[0], number_name)
    return number_name


def items_in(
    record: Record, field: str, taker: SpanTaker, parse: Callable[[object], Item | None], expected: str
) -> Iterator[Item]:
    """The parsed items of the list in a field, which may be missing or null. Report anything else as a problem."""
    value = record.get(field)
    if value is not None and not isinstance(value, list):
        taker.refuse("list", _("The field “{field}” is {kind}. Expected: a list.", field, kind_of(value)))
        return
    for item in value or ():
        if (found := parse(item)) is not None:
            yield found
        else:
            bad_item(item, field, expected, taker)


def valid_items(record: Record, fields: Iterable[str], parse: Callable[[object], Item | None]) -> Iterator[Item]:
    """The parsed items of the lists in these fields that have the expected form."""
    for field in fields:
        items = record.get(field)
        yield from (found for item in (items if isinstance(items, list) else ()) if (found := parse(item)) is not None)


def bad_item(item: object, field: str, expected: str, taker: SpanTaker) -> None:
    """Report an item of a list that has not the expected form."""
    taker.refuse("span", _("An item of “{field}” is {kind}. Expected: {expected}.", field, kind_of(item), _(expected)))


def not_imported(record: Record, messages: Mapping[str, str], known: Iterable[str], taker: SpanTaker) -> None:
    """Warn of the fields with a message, and of others that are not known, if they hold something."""
    for field, message in messages.items():
        if record.get(field):
            taker.not_kept(_(message))
    for field in sorted(record.keys() - messages.keys() - set(known)):
        if record[field] not in (None, "", [], {}):
            taker.not_kept(_("The field “{field}” is not imported.", short(field)))


def short(word: str) -> str:
    """A word for a message, without characters that could confuse, and not too long."""
    word = printable(word)
    return word if len(word) <= _SHOWN else f"{word[: _SHOWN - 3]}..."


def counted(text: str, taken: Callable[[bool], SpanTaker]) -> SpanTaker:
    """The spans of a note whose offsets should count code points, but may count UTF-16 code units.

    They are taken in code units if that gives no problem, while code points do. `taken` takes the spans, in code units
    if its argument is true.
    """
    taker = taken(False)
    if taker.problems and max(text, default="") > "\uffff":
        other = taken(True)
        return taker if other.problems else other
    return taker


def unquoted_taker(
    text: str, bounds: Iterable[tuple[object, object]], unit: OffsetUnit, file: str, line: int, find_label: LabelFinder
) -> tuple[SpanTaker, Callable[[object], object]]:
    """The taker for spans without quotes, and the conversion of their offsets for it.

    They count `unit`, or with a warning another one if all spans begin and end with words only then.
    """
    pairs = [(whole(start), whole(end)) for start, end in bounds]
    given = [(start, end) for start, end in pairs if start is not None and end is not None]
    found, misplaced = likely_unit(text, given, unit)
    taker = SpanTaker(text, file, find_label, line=line, utf16=found is OffsetUnit.UTF16)
    if found is not unit:
        message = _(
            "The offsets of this note were read as {unit}: only then do its spans begin and end with words.", _(found)
        )
        taker.warn("unit", message)
    elif misplaced:
        spans = _("1 span begins or ends") if misplaced == 1 else _("{count} spans begin or end", misplaced)
        taker.warn("unit", _("{spans} inside a word or with a space. Check that offsets count {unit}.", spans, _(unit)))
    points = points_of(text, found) if found is OffsetUnit.BYTES else None

    def offset(value: object) -> object:
        number = whole(value) if points else None
        return value if points is None or number is None else points(number)

    return taker, offset


def confidence_in(value: object) -> float | None:
    """A confidence between 0 and 1, if the value is one."""
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1:
        return float(value)
    return None


def attributes_in(value: object, taker: SpanTaker, line: int | None = None) -> dict[str, str | bool]:
    """The attributes in an object of names and choices (or `true`). Others are not kept, with a warning."""
    found: dict[str, str | bool] = {}
    for name, choice in value.items() if isinstance(value, dict) else ():
        if choice is True or isinstance(choice, str):
            found[name] = choice
        elif choice is not None and choice is not False:
            taker.not_kept(
                _("The attribute “{name}” of a span is not imported: it is {kind}.", short(name), kind_of(choice)), line
            )
    return found


def kind_of(value: object) -> str:
    """What a JSON value is, in words."""
    match value:
        case None:
            return "null"
        case bool():
            return _("true or false")
        case str():
            return _("text")
        case int() | float():
            return _("a number")
        case list():
            return "a list"
        case _:
            return "an object"
