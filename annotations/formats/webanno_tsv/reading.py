"""Read the lines of a WebAnno TSV file: its layers, its text and its annotations."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Final

from annotations.formats import uima
from annotations.formats.notes import NoteError, Problem
from annotations.formats.span_rules import SpanTaker
from annotations.text.characters import Utf16
from annotations.text.wording import gettext as _

# Escapes of WebAnno TSV: reserved characters of values, and control characters of text.


_VALUE: Final = re.compile(r"->|[\\\[\]|_;\t\n*]")
_VALUE_ESCAPE: Final = re.compile(r"\\(->|.)", re.DOTALL)
_TEXT: Final = re.compile(r"[\x00-\x0a\x0c-\x1f\\]")
_TEXT_ESCAPE: Final = re.compile(r"\\(.)", re.DOTALL)
_OLD_ESCAPE: Final = re.compile(r"\\(u+[0-9A-Fa-f]{4}|.)", re.DOTALL)
_NAMES: Final = {"\t": "t", "\n": "n", "\f": "f", "\r": "r", "\b": "b"}
_NAMED: Final = {letter: character for character, letter in _NAMES.items()}
_STACK: Final = re.compile(r"(?:\\.|[^\\|])+|(?<![^|])(?=\||$)", re.DOTALL)
_NUMBERED: Final = re.compile(r"((?:\\.|[^\\])*?)(?:\[([0-9]{1,9})\])?", re.DOTALL)


def escape_value(value: str) -> str:
    """A value of a feature for a column."""
    return _VALUE.sub(lambda match: "\\" + _NAMES.get(match[0], match[0]), value)


def unescape_value(value: str) -> str:
    return _VALUE_ESCAPE.sub(lambda match: {"t": "\t", "n": "\n"}.get(match[1], match[1]), value)


def escape_text(line: str) -> str:
    """A line of text for `#Text=`."""
    return _TEXT.sub(lambda match: "\\" + _NAMES.get(match[0], match[0]), line)


def unescape_text(line: str, *, old: bool = False) -> str:
    """A line of text from `#Text=`; with `old` as written before version 3.2, with Java's escapes of code units."""
    if "\\" not in line:
        return line
    if not old:
        return _TEXT_ESCAPE.sub(lambda match: _NAMED.get(match[1], match[1]), line)
    units = _OLD_ESCAPE.sub(_old, line)
    # Two escaped code units can be one character. An unpaired one is refused like in any other text.
    return units.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


def _old(match: re.Match[str]) -> str:
    word = match[1]
    return chr(int(word.lstrip("u"), 16)) if len(word) > 1 else _NAMED.get(word, word)


def stacked(cell: str) -> Iterator[tuple[str, int | None]]:
    """The values of a cell, still escaped, each with its disambiguation id if it has one."""
    for value in _STACK.findall(cell) if "|" in cell else (cell,):
        match = _NUMBERED.fullmatch(value)
        if match is None:  # a backslash at the end
            yield value, None
        else:
            yield match[1], None if match[2] is None else int(match[2])


FORMAT: Final = "#FORMAT=WebAnno TSV 3."
TEXT: Final = "#Text="
BEFORE: Final = "#Text.before="
"""Our own line of the first sentence: the text before it. Such a file has the text between all sentences, too."""
EMPTY, NO_VALUE = "_", "*"

_VERSION: Final = re.compile(re.escape(FORMAT) + r"([0-3])", re.ASCII)
_LAYER: Final = re.compile(r"#T_(SP|RL|CH)=([^|]+)(?:\|(.*))?")
_ROW: Final = re.compile(r"[0-9]+-[0-9]+(?:\.[0-9]+)?\t([0-9]{1,9})-([0-9]{1,9})\t([^\t]*)((?:\t.*)?)", re.ASCII)
_LONGEST_GAP: Final = 100_000


@dataclass(frozen=True, slots=True)
class Layer:
    """A layer with its columns, by index: `features` with their names, and those of slots and of their targets."""

    name: str
    kind: str
    first: int
    past: int
    features: tuple[tuple[int, str], ...]
    slots: tuple[int, ...]
    targets: tuple[int, ...]

    @property
    def names(self) -> list[str]:
        return [name for _, name in self.features]

    @property
    def is_kept(self) -> bool:
        return self.kind == "SP" and uima.is_span_layer(self.name)


@dataclass(slots=True)
class TsvAnnotation:
    """An annotation: bounds in code units of UTF-16, end-exclusive, the line of its first row, its values."""

    layer: Layer
    start: int
    end: int
    line: int
    values: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class _TokenRow:
    """A token or a part of one; no cells if it has no annotations."""

    line: int
    start: int
    end: int
    word: str
    cells: list[str]


@dataclass(slots=True)
class _Sentence:
    line: int
    text: str
    rows: list[_TokenRow]


class TsvReader:
    """Reads the lines of one file and collects all problems. `before` is the text before the first sentence."""

    def __init__(self, content: str, file: str) -> None:
        self.file = file
        self.problems: list[Problem] = []
        self.layers: list[Layer] = []
        self.before: str | None = None
        self._lines = content.split("\n")
        self._old = False
        # The cells of a row without annotations; INCEpTION ends each row with a tab.
        self._empty = ("", "")
        self._sentences: list[_Sentence] = []
        start = self._read_head()
        if not self.problems:
            self._read_body(start)

    def text(self) -> tuple[str, int]:
        """The text of all sentences, and how many gaps between sentences were filled without knowing their text.

        INCEpTION fills a gap with a line break and spaces. Raises NoteError if the text can't be rebuilt.
        """
        parts = [self.before or ""]
        length = _units(parts[0])
        filled = 0
        for number, sentence in enumerate(self._sentences):
            if not sentence.rows:
                self._refuse(
                    sentence.line, "line", _("The sentence has no token. Expected: a row “1-1”, tab, offsets.")
                )
                continue
            begin = sentence.rows[0].start - _indent(sentence)
            gap = begin - length
            if gap < 0 or gap > _LONGEST_GAP:
                message = _(
                    "The sentence starts at {begin}, but the text before it ends at {length}. Expected: an offset "
                    "at or soon after that end, in UTF-16 code units.",
                    *(begin, length),
                )
                self._refuse(sentence.rows[0].line, "order", message)
                break
            if gap:
                parts.append("\n" + " " * (gap - 1) if number else " " * gap)
                filled += 1
            parts.append(sentence.text)
            length = begin + _units(sentence.text)
        self._raise()
        return "".join(parts), 0 if self.before is not None else filled

    def check_words(self, text: str) -> None:
        """Raise NoteError with all rows whose token is not the text at their offsets."""
        units = Utf16(text)
        narrow = units.length == len(text)
        for sentence in self._sentences:
            for row in sentence.rows:
                if narrow and row.end <= len(text) and text[row.start : row.end] == row.word:
                    continue
                start, end = units.points(row.start), units.points(row.end)
                if start is None or end is None:
                    message = _(
                        "The offsets {start}-{end} are not inside the text, which has {length} UTF-16 code units, "
                        "or cut a character in two. Check that offsets count UTF-16 code units.",
                        *(row.start, row.end, units.length),
                    )
                    self._refuse(row.line, "outside", message)
                elif text[start:end] != row.word:
                    message = _(
                        "The text at {start}-{end} differs from the token of this row. Check that the text is "
                        "unchanged and that offsets count UTF-16 code units.",
                        *(row.start, row.end),
                    )
                    self._refuse(row.line, "quote", message)
        self._raise()

    def annotations(self) -> Iterator[TsvAnnotation]:
        """The annotations of all layers of spans, in the order of their first rows."""
        layers = [layer for layer in self.layers if layer.is_kept]
        numbered: dict[tuple[str, int], TsvAnnotation] = {}
        found: list[TsvAnnotation] = []
        for sentence in self._sentences:
            for row in sentence.rows:
                for layer in layers if row.cells else ():
                    self._read_cells(row, layer, numbered, found)
        yield from found

    def warn(self, taker: SpanTaker) -> None:
        """Report the parts of the file that are not imported."""
        for layer in self.layers:
            if layer.is_kept and not layer.slots:
                continue
            watched = layer.slots if layer.is_kept else range(layer.first, layer.past)
            rows = (row for sentence in self._sentences for row in sentence.rows if row.cells)
            used = next((row for row in rows if any(row.cells[at] != EMPTY for at in watched)), None)
            if used is None:
                continue
            if layer.is_kept:
                taker.not_kept(_("Slots of the layer “{name}” are not imported.", layer.name), used.line)
            elif layer.kind == "SP":
                taker.not_kept(uima.layer_not_kept(layer.name), used.line)
            else:
                taker.not_kept(uima.relations_not_kept(layer.name), used.line)

    def _read_cells(
        self, row: _TokenRow, layer: Layer, numbered: dict[tuple[str, int], TsvAnnotation], found: list[TsvAnnotation]
    ) -> None:
        """Read the cells of a layer in a row: add new annotations, and extend those that began before."""
        cells = [row.cells[at] for at in range(layer.first, layer.past)]
        if all(cell == EMPTY for cell in cells):
            return
        columns = [list(stacked(cell)) if cell != EMPTY else [] for cell in cells]
        names = dict(layer.features)
        for stack in zip_longest(*columns, fillvalue=(EMPTY, None)):
            # In a column of targets of slots, an id is that of the target.
            ids = (number for at, (_value, number) in enumerate(stack, layer.first) if at not in layer.targets)
            number = next(filter(None, ids), None)
            known = numbered.get((layer.name, number)) if number else None
            if known is None:
                known = TsvAnnotation(layer, row.start, row.end, row.line)
                found.append(known)
                if number:
                    numbered[layer.name, number] = known
            known.start, known.end = min(known.start, row.start), max(known.end, row.end)
            for at, (value, _number) in enumerate(stack, layer.first):
                if at in names and value not in (EMPTY, NO_VALUE):
                    known.values.setdefault(names[at], unescape_value(value))

    def _read_head(self) -> int:
        """Read the version and the layers; the index of the line after them."""
        version = _VERSION.fullmatch(_row(self._lines[0]))
        if version is None:
            message = _("The first line is not “{format}3”. Export the note from INCEpTION as WebAnno TSV 3.3.", FORMAT)
            self._refuse(1, "format", message)
            return 0
        self._old = int(version[1]) < 2
        columns = 0
        for at, line in enumerate(map(_row, self._lines[1:]), 1):
            if not line.startswith("#T_"):
                return at
            match = _LAYER.fullmatch(line)
            if match is None:
                self._refuse(at + 1, "line", _("The line is not a layer. Expected: “#T_SP=layer|feature|feature”."))
                continue
            kind, name, rest = match.groups()
            given = (rest or "").split("|")
            features: list[tuple[int, str]] = []
            slots: list[int] = []
            targets: list[int] = []
            for number, feature in enumerate(given, columns):
                if feature.startswith("ROLE_"):
                    slots.append(number)
                elif slots and slots[-1] == number - 1 and "." in feature:  # the type of the targets
                    targets.append(number)
                elif feature:
                    features.append((number, feature))
            past = columns + len(given)
            self.layers.append(Layer(name, kind, columns, past, tuple(features), tuple(slots), tuple(targets)))
            columns = past
        return len(self._lines)

    def _read_body(self, start: int) -> None:
        columns = self.layers[-1].past if self.layers else 0
        self._empty = (f"\t{EMPTY}" * columns + "\t", f"\t{EMPTY}" * columns)
        texts: list[str] = []
        rows: list[_TokenRow] = []
        begun, in_rows = 0, False
        for number, line in enumerate(self._lines[start:], start + 1):
            if line.startswith("#") and not in_rows:
                line = line.removesuffix("\r")
                if line.startswith(TEXT):
                    begun = begun or number
                    texts.append(unescape_text(line.removeprefix(TEXT), old=self._old))
                elif line.startswith(BEFORE) and not self._sentences:
                    self.before = unescape_text(line.removeprefix(BEFORE))
                continue
            if not line or line == "\r":
                if begun:
                    self._sentences.append(_Sentence(begun, "\n".join(texts), rows))
                texts, rows, begun, in_rows = [], [], 0, False
                continue
            if not begun:
                self._refuse(number, "line", _("The row is not below a line “#Text=”, which begins a sentence."))
                begun, in_rows = number, True
                continue
            in_rows = True
            row = self._read_row(number, _row(line), columns)
            if row is not None:
                rows.append(row)
        if begun:
            self._sentences.append(_Sentence(begun, "\n".join(texts), rows))
        self._raise()

    def _read_row(self, number: int, line: str, columns: int) -> _TokenRow | None:
        match = _ROW.fullmatch(line)
        if match is None:
            message = _(
                "The row is not valid. Expected: sentence-token, tab, start-end, tab, token, and for each column a "
                "tab and a value."
            )
            self._refuse(number, "line", message)
            return None
        start, end, rest = int(match[1]), int(match[2]), match[4]
        is_empty = rest in self._empty
        cells = [] if is_empty else rest.split("\t")[1:]
        if len(cells) < columns and not is_empty:
            message = _(
                "The row has {count} columns of annotations. Expected: {columns}, as declared by “#T_” lines.",
                *(len(cells), columns),
            )
            self._refuse(number, "line", message)
            return None
        if start > end:
            self._refuse(number, "empty", _("The start {start} must not be after the end {end}.", start, end))
            return None
        return _TokenRow(number, start, end, match[3], cells)

    def _refuse(self, line: int, code: str, message: str) -> None:
        self.problems.append(Problem(self.file, line, code, message))

    def _raise(self) -> None:
        if self.problems:
            raise NoteError(self.problems)


def _row(line: str) -> str:
    return line.removesuffix("\r")


def _units(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def _indent(sentence: _Sentence) -> int:
    """The white space before the first token, in code units, if the sentence begins with it."""
    word, text = sentence.rows[0].word, sentence.text
    if not word or text.startswith(word):
        return 0
    bare = text.lstrip()
    return _units(text) - _units(bare) if bare.startswith(word) else 0
