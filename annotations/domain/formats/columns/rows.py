"""Rows of CoNLL files without offsets: notes, sentences, tokens and tags, read as a stream.

A row has columns that are separated by spaces or by tabs: the token is the first one, the tag the last one. An empty
row ends a sentence. A row `-DOCSTART-`, and `# newdoc` (CoNLL-U, https://universaldependencies.org/format.html), starts
a note, and may name it. Other rows that begin with `#` and don't end with a tag are comments.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import IO, Final, NamedTuple

from annotations.domain.formats.aligning import shown
from annotations.domain.formats.tags import is_tag
from annotations.domain.notes import Problem

MARK: Final = "-DOCSTART-"
LONGEST: Final = 1 << 20
"""The most bytes of a row."""
_MOST_PROBLEMS: Final = 1000
_NEW: Final = re.compile(r"#\s*newdoc\b(?:\s+id\s*=\s*(.+))?")
_FILLERS: Final = frozenset({"-X-", "O", "_", "-", MARK, ""})
_EXPECTED: Final = (
    "Expected: a token, any other columns, and a tag, separated by spaces or by tabs; an empty row between sentences."
)


class Row(NamedTuple):
    """A token, without white space at its ends, with its tag, and the line (1-based) where it stands."""

    line: int
    word: str
    tag: str


@dataclass(slots=True)
class Document:
    """The rows of one note by sentence. `name` is as given in the file, or empty; `line` is that of the first row."""

    file: str
    line: int
    name: str = ""
    marked: bool = False
    sentences: list[list[Row]] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    blank: list[int] = field(default_factory=list)
    """The lines of rows without a token, which are left out."""

    def refuse(self, line: int, code: str, message: str) -> None:
        """Report a problem. Only the first ones of a note are kept, so that any file can be read at all."""
        if len(self.problems) < _MOST_PROBLEMS:
            self.problems.append(Problem(self.file, line, code, message))


def documents(stream: IO[bytes], file: str) -> Iterator[Document]:
    """The notes of a file in order; at least one, which may be empty. `file` is the name for messages."""
    document = Document(file, 1)
    sentence: list[Row] = []
    read = _Columns()
    for line, data in _lines(stream):
        found = read.known(data)
        if found is None:
            row = _decoded(document, line, data)
            if row is None:
                continue
            if not row or row.isspace():
                sentence = []
                continue
            name = _mark(row)
            if name is not None:
                if document.marked or document.sentences or document.problems:
                    yield document
                document = Document(file, line, name, marked=True)
                sentence = []
                continue
            answer = read(row)
            if isinstance(answer, str):
                document.refuse(line, "line", answer)
            found = answer if isinstance(answer, tuple) else None
        if found is None:
            continue
        word, tag = found
        if not word.isalnum():
            word = shown(word)
            if not word:
                document.blank.append(line)
                continue
        if not sentence:
            document.sentences.append(sentence)
        sentence.append(Row(line, word, tag))
    yield document


class _Columns:
    """Reads the token and the tag of a row; None for a comment, a message for a row that can't be read."""

    def __init__(self) -> None:
        self._count = 0
        self._tags: dict[bytes, str] = {}

    def known(self, data: bytes | None) -> tuple[str, str] | None:
        """The token and the tag of a row that differs only in its token from a row before, as most rows do."""
        if data is None:
            return None
        separator = b"\t" if b"\t" in data else b" "
        word, _, rest = data.partition(separator)
        tag = self._tags.get(separator + rest)
        if tag is None or not word or word[0] in b"#-" or b"\0" in word:
            return None
        try:
            return word.decode(), tag
        except UnicodeDecodeError:
            return None

    def __call__(self, row: str) -> tuple[str, str] | str | None:
        tabs = "\t" in row
        columns = [column.strip(" ") for column in row.split("\t")] if tabs else [c for c in row.split(" ") if c]
        while columns and not columns[-1]:
            columns.pop()
        if row[0] == "#":
            known = len(columns) in ((self._count,) if self._count else (2, 4))
            if not known or not is_tag(columns[-1]):
                return None
        if row[0] == " " and not tabs and (len(columns) == max(self._count - 1, 1)) and is_tag(columns[-1]):
            columns.insert(0, "")
        if len(columns) < 2:
            return f"The row has one column. {_EXPECTED}"
        self._count = self._count or len(columns)
        separator = "\t" if tabs else " "
        first, _, rest = row.partition(separator)
        if first.strip(" ") == columns[0]:
            self._tags[f"{separator}{rest}".encode()] = columns[-1]
        return columns[0], columns[-1]


def _mark(row: str) -> str | None:
    """The name of the note that the row starts, which may be empty; None if it starts no note."""
    if row.startswith(MARK) and row[len(MARK) : len(MARK) + 1] in ("", " ", "\t"):
        columns = row.split("\t") if "\t" in row else row.split(" ")
        names = [column.strip() for column in columns if column.strip() not in _FILLERS]
        return names[0].removeprefix("(").removesuffix(")") if len(names) == 1 else ""
    match = _NEW.fullmatch(row) if row[0] == "#" else None
    return (match[1] or "").strip() if match else None


def _decoded(document: Document, line: int, data: bytes | None) -> str | None:
    """The text of a row without its line break; None after a problem."""
    if data is None:
        document.refuse(line, "line", f"The row is longer than {LONGEST:,} bytes. {_EXPECTED}")
        return None
    try:
        row = data.decode()
    except UnicodeDecodeError as error:
        byte = f"0x{data[error.start]:02x}"
        document.refuse(line, "utf8", f"The row is not UTF-8: the byte {byte} is not valid. Save the file as UTF-8.")
        return None
    if "\0" in row:
        document.refuse(line, "nul", "The row contains NUL, which can't be stored. Remove it.")
        return None
    return row.removeprefix("\ufeff") if line == 1 else row


def _lines(stream: IO[bytes]) -> Iterator[tuple[int, bytes | None]]:
    """The lines with their numbers, without line breaks; None for one that is too long."""
    line = 0
    while data := stream.readline(LONGEST):
        line += 1
        if len(data) == LONGEST and not data.endswith(b"\n"):
            while (data := stream.readline(LONGEST)) and not data.endswith(b"\n"):
                pass
            yield line, None
        else:
            yield line, data.rstrip(b"\r\n")
