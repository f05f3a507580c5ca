"""What both formats of tables share: rows as notes, and notes as rows."""

import json
import re
import tempfile
from abc import abstractmethod
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import chain, starmap
from posixpath import dirname, join
from typing import IO, Any, Final, NamedTuple

from annotations.formats.base import Files, LabelFinder, NoteFiles, OneFileFormat, Sink, loose_texts, split_names
from annotations.formats.notes import Loss, NoteError, OutNote, ParsedNote, Problem, check_name, decode_utf8, outcome
from annotations.formats.quotes import counts_utf16, same_quote
from annotations.formats.span_rules import SpanTaker, attribute_value, given_rows, whole
from annotations.text.names import printable
from annotations.text.wording import gettext as _

# Rows of a table of spans: what the columns mean, and the rows to write.


COLUMNS: Final = ("note", "start", "end", "label", "text")
"""The columns of every table that we write; the columns of attributes follow."""

_OTHER_NAMES: Final = {
    "note": ("document", "doc", "file", "filename"),
    "start": ("begin", "start_offset", "start_char"),
    "end": ("stop", "end_offset", "end_char"),
    "label": ("type", "entity", "tag"),
    "text": ("quote", "span", "mention"),
}
"""Names that other programs give to the columns, for tables without a column of our name."""

_REQUIRED: Final = COLUMNS[:4]
_SHOWN: Final = 200
_IN_MEMORY: Final = 8 * 1024 * 1024

Cells = Sequence[object]
"""The cells of a row: texts, or in a workbook also numbers, truth values and dates."""


class TableRow(NamedTuple):
    """A row with its line and its cells by column. Attributes are cells that are not empty, by name of the column."""

    line: int
    note: str
    start: object
    end: object
    label: str
    text: object
    attributes: Mapping[str, object]

    @property
    def is_mark(self) -> bool:
        """Whether the row only says that the note is annotated."""
        return self.start in (None, "") and self.end in (None, "") and not self.label


class Columns:
    """The columns of a table, by the cells of its first row."""

    def __init__(self, header: Cells) -> None:
        self._names = [as_word(cell) for cell in header]
        folded = [name.strip().casefold() for name in self._names]
        self._at: dict[str, int] = {}
        for column in COLUMNS:
            found = next((name for name in (column, *_OTHER_NAMES[column]) if name in folded), None)
            if found is not None:
                self._at[column] = folded.index(found)
        taken = set(self._at.values())
        self._attributes = [(at, name) for at, name in enumerate(self._names) if at not in taken and name]

    @property
    def fit(self) -> bool:
        """Whether the table has all columns that are needed."""
        return all(column in self._at for column in _REQUIRED)

    def check(self, file: str, line: int) -> None:
        """Raise NoteError unless the table has all columns that are needed, and each name once."""
        named = [name for name in self._names if name]
        if self.fit and len(set(named)) == len(named):
            return
        listed = printable(", ".join(named))[:_SHOWN] or "none"
        message = _(
            "The columns of the table are {listed}. Expected: {columns}, and each name once.",
            *(listed, ", ".join(COLUMNS)),
        )
        raise NoteError([Problem(file, line, "header", message)])

    def row(self, line: int, cells: Cells) -> TableRow | None:
        """The row of some cells; None if all are empty."""
        if not any(cell not in (None, "") for cell in cells):
            return None

        def cell(column: str) -> object:
            at = self._at.get(column, len(cells))
            return cells[at] if at < len(cells) else None

        attributes = {
            name: cells[at] for at, name in self._attributes if at < len(cells) and cells[at] not in (None, "")
        }
        note, label = as_word(cell("note")), as_word(cell("label"))
        return TableRow(line, note, cell("start"), cell("end"), label, cell("text"), attributes)


def as_word(cell: object) -> str:
    """The text of a cell; a workbook may hold numbers where we wrote digits."""
    if isinstance(cell, float) and cell.is_integer():
        cell = int(cell)
    return "" if cell is None else str(cell)


def _put(file: IO[bytes], *values: object) -> None:
    """Put values aside."""
    file.write(json.dumps(values).encode() + b"\n")


def _all(file: IO[bytes]) -> Iterator[Any]:
    """The values that were put aside, in order."""
    file.seek(0)
    return (json.loads(line.decode()) for line in file)


_TEXT: Final = "txt"
_ANY: Final = re.compile(r"\S(.*\S)?", re.DOTALL)


class TableFormat(OneFileFormat):
    """A table of the spans of many notes, and a text file for each note."""

    def group(self, names: Iterable[str]) -> tuple[list[NoteFiles], list[Problem]]:
        """All tables and all text files are one group."""
        found, problems = split_names(names, (*self.endings, _TEXT))
        texts = {stem: parts[_TEXT] for stem, parts in sorted(found.items()) if _TEXT in parts}
        tables = [
            (stem, ending, file)
            for stem, parts in sorted(found.items())
            for ending, file in sorted(parts.items())
            if ending != _TEXT
        ]
        if not tables:
            return [NoteFiles(stem, {_TEXT: file}) for stem, file in texts.items()], problems
        stem, ending, file = tables[0]
        return [NoteFiles(stem, {ending: file}, tuple(each for _, _, each in tables), texts)], problems

    @abstractmethod
    def _rows(self, file: str, files: Files) -> Iterator[TableRow]:
        """The rows of a table. Raises NoteError if it can't be read."""

    @abstractmethod
    def _save(self, rows: Iterator[list[object]], out: IO[bytes]) -> None:
        """Write a table, the header first."""

    def _plain(self, cell: str) -> str:
        """The text of a cell in which it may be written in another way."""
        return cell

    def read_many(self, note: NoteFiles, files: Files, labels: Mapping[str, str]) -> Iterator[ParsedNote | NoteError]:
        """Text files that no table mentions come last, as notes without annotations.

        If a table can't be read, nobody knows which notes it mentions: the other text files are left out then.
        """
        texts = note.texts if note.bundle else {note.name: note.parts[_TEXT]}
        find_label = LabelFinder(labels)
        seen: set[str] = set()
        unread = False
        for file in note.bundle:
            try:
                for given, rows in self._grouped(file, files):
                    yield outcome(self._read, given, rows, file, files, texts, find_label, seen)
            except NoteError as error:
                unread = True
                yield error
        if not unread:
            yield from loose_texts(texts, seen, files)

    def used_labels(self, note: NoteFiles, files: Files) -> Iterator[Counter[str]]:
        for file in note.bundle:
            with suppress(NoteError):
                for _, rows in self._grouped(file, files):
                    yield Counter(self._plain(row.label) for row in rows if row.label)

    @contextmanager
    def sink(self, out: IO[bytes], labels: Mapping[str, str]) -> Iterator[Sink]:
        """Rows are put aside until the columns of all attributes are known."""
        names: dict[str, None] = {}
        with tempfile.SpooledTemporaryFile(_IN_MEMORY) as aside:

            def add(note: OutNote) -> list[Loss]:
                name = check_name(note.name)
                spans, losses = given_rows(note, labels, _ANY, COLUMNS)
                for span, code, words in spans:
                    names.update(dict.fromkeys(words))
                    _put(aside, [name, span.start, span.end, code, note.text[span.start : span.end]], words)
                if not spans:
                    _put(aside, [name, "", "", "", ""], {})
                return losses

            yield add
            rows = ([*cells, *(words.get(name, "") for name in names)] for cells, words in _all(aside))
            self._save(chain([[*COLUMNS, *names]], rows), out)

    def beside(self, note: OutNote) -> dict[str, bytes]:
        """The text file of a note."""
        return {f"{check_name(note.name)}.{_TEXT}": note.text.encode()}

    def _grouped(self, file: str, files: Files) -> Iterator[tuple[str, list[TableRow]]]:
        """The rows of each note by its name in the table. A note is complete with its last row.

        All rows are put aside first, so that only the rows of one note are held in memory if they stand together.
        """
        with tempfile.SpooledTemporaryFile(_IN_MEMORY) as aside:
            expected: Counter[str] = Counter()
            for row in self._rows(file, files):
                expected[row.note] += 1
                _put(aside, *row)
            if not expected:
                message = _("The table has no rows. Expected: a row with {columns} for each span.", ", ".join(COLUMNS))
                raise NoteError([Problem(file, 1, "no notes", message)])
            waiting: dict[str, list[TableRow]] = defaultdict(list)
            for row in starmap(TableRow, _all(aside)):
                waiting[row.note].append(row)
                if len(waiting[row.note]) == expected[row.note]:
                    yield row.note, waiting.pop(row.note)

    def _read(
        self,
        given: str,
        rows: list[TableRow],
        file: str,
        files: Files,
        texts: Mapping[str, str],
        find_label: LabelFinder,
        seen: set[str],
    ) -> ParsedNote:
        """The note of some rows; `seen` gets its name."""
        line = rows[0].line
        name = self._name(given, file, texts)
        if name is None:
            wanted = printable(given.removesuffix(f".{_TEXT}"))[:80]
            message = _(
                "The text file “{name}.{ending}” is missing; the column “note” names it in this row. Import it "
                "together with the table.",
                *(wanted, _TEXT),
            )
            raise NoteError([Problem(file, line, "no text", message)])
        if name in seen:
            raise NoteError(
                [Problem(file, line, "same name", _("The note “{name}” occurs in several tables or names.", name))]
            )
        seen.add(name)
        text = decode_utf8(files.load(texts[name]), texts[name])
        return self._note(name, text, file, rows, find_label)

    def _name(self, given: str, file: str, texts: Mapping[str, str]) -> str | None:
        """The name of the note that a table names, from the folder of the table or from the first one."""
        words = (given, self._plain(given))
        choices = [word.removesuffix(ending) for word in words for ending in ("", f".{_TEXT}")]
        return next((name for word in choices for name in (join(dirname(file), word), word) if name in texts), None)

    def _note(self, name: str, text: str, file: str, rows: list[TableRow], find_label: LabelFinder) -> ParsedNote:
        spans = [(row, *self._quoted(row, text)) for row in rows if not row.is_mark]
        utf16 = counts_utf16(text, ((start, end, quote) for _row, start, end, quote in spans if quote))
        taker = SpanTaker(text, file, find_label, utf16=utf16)
        for row, _start, _end, quote in spans:
            label = row.label if find_label(row.label) else self._plain(row.label)
            attributes = {
                self._plain(key): True if cell is True else attribute_value(self._plain(as_word(cell)))
                for key, cell in row.attributes.items()
                if cell is not False
            }
            taker.take(label, row.start, row.end, line=row.line, quote=quote, attributes=attributes)
        return taker.note(name)

    def _quoted(self, row: TableRow, text: str) -> tuple[int, int, str | None]:
        """The offsets, or -1, and the text of a row, which may be missing."""
        start, end = whole(row.start), whole(row.end)
        first, past = (-1 if start is None else start), (-1 if end is None else end)
        if not isinstance(row.text, str | int | float) or row.text == "":
            return first, past, None
        cell = as_word(row.text)
        plain = self._plain(cell)
        is_written_so = plain != cell and 0 <= first <= past and same_quote(text[first:past], cell)
        return first, past, cell if is_written_so else plain
