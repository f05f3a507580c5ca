"""Rows of CoNLL files without offsets: notes, sentences, tokens and tags, read as a stream.

A row has columns that are separated by spaces or by tabs: the token is the first one, the tag the last one; two columns
between them may be the offsets of the token, and columns with the number of the row or the name of the note may stand
before it. A row with more columns than most, separated by spaces, has spaces in its token. An empty row ends a
sentence. A row `-DOCSTART-`, `# newdoc` (CoNLL-U, https://universaldependencies.org/format.html) or `# doc_id = NAME`
starts a note, and may name it. Other rows that begin with `#` and don't end with a tag are comments.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import IO, Final

from annotations.formats.notes import Problem
from annotations.formats.token_tags import is_tag, shown
from annotations.text.characters import WHITE_SPACE
from annotations.text.wording import gettext as _
from annotations.text.wording import gettext_noop

MARK: Final = "-DOCSTART-"
LONGEST: Final = 1 << 20
"""The most bytes of a row."""
_PART: Final = 1 << 18
_MOST_PROBLEMS: Final = 1000
_MOST_KNOWN: Final = 1 << 16
_WHITE: Final = re.escape("".join(sorted(WHITE_SPACE)))
_PLAIN: Final = re.compile(rf"^(?!#|{MARK})([^{_WHITE}\0]+)([ \t].*)$", re.MULTILINE)
"""A row with a token without white space, as most have, and what follows the token."""
_NEW: Final = re.compile(
    r"#\s*(?:newdoc\b(?:\s+id\s*=\s*(.+))?|doc(?:ument)?[ _-]?(?:id|name)\s*[=:]\s*(.+))", re.IGNORECASE
)
_SAMPLE: Final = 1 << 16
"""The bytes at the start of a file whose rows tell what columns it has."""
_OFFSET: Final = re.compile("[0-9]{1,9}")
_FILLERS: Final = frozenset({"-X-", "O", "_", "-", MARK, ""})
_EXPECTED: Final = gettext_noop(
    "Expected: a token, any other columns, and a tag, separated by spaces or by tabs; an empty row between sentences."
)


@dataclass(slots=True)
class Sentence:
    """The rows of a sentence: their lines (1-based), their tokens, without white space at the ends, and their tags.

    `starts` are the offsets of the tokens if the file gives them, -1 for a row without.
    """

    lines: list[int] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)


@dataclass(slots=True)
class Document:
    """The rows of one note by sentence. `name` is as given in the file, or empty; `line` is that of the first row."""

    file: str
    line: int
    name: str = ""
    marked: bool = False
    sentences: list[Sentence] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    blank: list[int] = field(default_factory=list)
    """The lines of rows without a token, which are left out."""
    wide: list[int] = field(default_factory=list)
    """The lines of rows with more columns than most, whose token has spaces."""

    def refuse(self, line: int, code: str, message: str) -> None:
        """Report a problem. Only the first ones of a note are kept, so that any file can be read at all."""
        if len(self.problems) < _MOST_PROBLEMS:
            self.problems.append(Problem(self.file, line, code, message))


def documents(stream: IO[bytes], file: str) -> Iterator[Document]:
    """The notes of a seekable file in order; at least one, which may be empty. `file` is the name for messages."""
    head = stream.read(_SAMPLE)
    stream.seek(0)
    reader = _Rows(file, head.decode(errors="ignore"))
    for line, block, is_whole in _blocks(stream):
        if not reader.take_valid(line, block):
            for number, data in enumerate(block.split(b"\n"), line):
                yield from reader.take(number, data)
        if is_whole:
            reader.end_sentence()
    yield reader.document


class _Rows:
    """Reads rows, one after the other. `document` is the note that they belong to."""

    def __init__(self, file: str, head: str) -> None:
        self._file = file
        self.document = Document(file, 1)
        self._sentence = Sentence()
        self._read = _Columns(head)

    def end_sentence(self) -> None:
        """Begin another sentence with the next row."""
        if self._sentence.lines:
            self._sentence = Sentence()

    def take_valid(self, line: int, block: bytes) -> bool:
        """Take the rows of a block at once if all of them are a token without white space and what follows it.

        Otherwise, none is taken.
        """
        try:
            text = block.decode()
        except UnicodeDecodeError:
            return False
        found = _PLAIN.findall(text)
        if len(found) <= block.count(b"\n") or len(block) >= LONGEST or self._read.is_odd:
            return False
        words, rests = zip(*found, strict=True)
        known = self._read.known
        for word, rest in () if known.keys() >= set(rests) else found:
            if rest not in known:
                self._read(word + rest)
        tags = [tag for tag in map(known.get, rests) if tag is not None]
        if len(tags) < len(words):
            return False
        self._add(range(line, line + len(words)), words, tags)
        return True

    def take(self, line: int, data: bytes) -> Iterator[Document]:
        """Take any row. Gives the note before it if the row begins another one."""
        row = _decoded(self.document, line, data.rstrip(b"\r"))
        if row is None:
            return
        if not row or row.isspace():
            self.end_sentence()
            return
        name = _mark(row)
        if name is not None:
            named, begun = self.document.name, self.document.sentences or self.document.problems
            if name and row[0] == "#" and (name == named or (self.document.marked and not named and not begun)):
                # A comment on each sentence, or after the row that starts the note
                self.document.name = name
                self.end_sentence()
                return
            if self.document.marked or begun:
                yield self.document
            self.document = Document(self._file, line, name, marked=True)
            self._sentence = Sentence()
            return
        answer = self._read(row)
        if isinstance(answer, str):
            self.document.refuse(line, "line", answer)
        elif answer is not None:
            word = shown(answer[0])
            if word:
                self._add([line], [word], [answer[1]])
                if self._read.offsets:
                    self._sentence.starts.append(answer[2])
                if self._read.is_wide:
                    self.document.wide.append(line)
            else:
                self.document.blank.append(line)

    def _add(self, lines: Iterable[int], words: Iterable[str], tags: Iterable[str]) -> None:
        sentence = self._sentence
        if not sentence.lines:
            self.document.sentences.append(sentence)
        sentence.lines += lines
        sentence.words += words
        sentence.tags += tags


class _Columns:
    """Reads the token, the tag and the start of a row; None for a comment, a message for a row that can't be read.

    `known` are the tags of the rows so far, by the row after its token. `offsets` is the number of the column with
    starts, before that with ends; 0 without such columns. `leading` columns with numbers of rows or a name of the note
    are left out first. `is_wide` says whether the last row had too many columns.
    """

    def __init__(self, head: str) -> None:
        """`head` is the start of the file, by which its columns are known."""
        rows = [row for row in head.split("\n")[: -1 if "\n" in head else None] if row.strip() and row[0] != "#"]
        found = [_split(row.removesuffix("\r")) for row in rows if not row.startswith(MARK)]
        counts = Counter(len(columns) for columns in found if len(columns) > 1)
        self._count = max(counts, key=lambda count: (counts[count], -count), default=0)
        whole = [columns for columns in found if len(columns) >= self._count]
        self.leading = 0
        while self._count - self.leading > 2 and _is_no_word([columns[self.leading :] for columns in whole]):
            self.leading += 1
        usual = [columns[self.leading :] for columns in whole if len(columns) == self._count]
        self.offsets = next((at for at in range(1, self._count - 2) if all(_fits(each, at) for each in usual)), 0)
        self.is_wide = False
        self.known: dict[str, str] = {}

    @property
    def is_odd(self) -> bool:
        """Whether rows have more than a token in front and a tag at the end."""
        return bool(self.leading or self.offsets)

    def __call__(self, row: str) -> tuple[str, str, int] | str | None:
        tabs = "\t" in row
        columns = _split(row)
        if row[0] == "#":
            known = len(columns) in ((self._count,) if self._count else (2, 4))
            if not known or not is_tag(columns[-1]):
                return None
        if row[0] == " " and not tabs and (len(columns) == max(self._count - 1, 1)) and is_tag(columns[-1]):
            columns.insert(0, "")
        if len(columns) < 2:
            return _("The row has one column. {expected}", _(_EXPECTED))
        self._count = self._count or len(columns)
        separator = "\t" if tabs else " "
        first, _separator, rest = row.partition(separator)
        self.is_wide = not tabs and len(columns) > self._count
        past = len(columns) - self._count + 1
        if len(columns) - self.leading > 1:
            del columns[: self.leading]
        if self.is_wide:
            columns[:past] = [" ".join(columns[:past])]
        elif not self.leading and first.strip(" ") == columns[0] and len(self.known) < _MOST_KNOWN:
            self.known[f"{separator}{rest}"] = columns[-1]
        start = int(columns[self.offsets]) if self.offsets and _fits(columns, self.offsets) else -1
        return columns[0], columns[-1], start


def _split(row: str) -> list[str]:
    tabs = "\t" in row
    columns = [column.strip(" ") for column in row.split("\t")] if tabs else [c for c in row.split(" ") if c]
    while columns and not columns[-1]:
        columns.pop()
    return columns


def _is_no_word(rows: list[list[str]]) -> bool:
    """Whether the first column holds the numbers of rows, which begin again with sentences, or one name in all rows.

    The next one must look like words: not be the same in all rows.
    """
    cells = [row[0] for row in rows]
    if len({row[1] for row in rows}) == 1:
        return False
    if len(cells) > 2 and all(map(_OFFSET.fullmatch, cells)):
        return all(int(after) in (int(before) + 1, 0, 1) for before, after in pairwise(cells))
    return len(cells) > 4 and len(set(cells)) == 1


def _fits(columns: list[str], at: int) -> bool:
    """Whether two columns are the offsets of a token: its start, and its end, which is exclusive."""
    start, end = columns[at : at + 2] if len(columns) > at + 2 else ("", "")
    return all(map(_OFFSET.fullmatch, (start, end))) and int(end) - int(start) == len(columns[0])


def _mark(row: str) -> str | None:
    """The name of the note that the row starts, which may be empty; None if it starts no note."""
    if row.startswith(MARK) and row[len(MARK) : len(MARK) + 1] in ("", " ", "\t"):
        columns = row.split("\t") if "\t" in row else row.split(" ")
        names = [column.strip() for column in columns if column.strip() not in _FILLERS]
        return names[0].removeprefix("(").removesuffix(")") if len(names) == 1 else ""
    match = _NEW.fullmatch(row) if row[0] == "#" else None
    return (match[1] or match[2] or "").strip() if match else None


def _decoded(document: Document, line: int, data: bytes) -> str | None:
    """The text of a row without its line break; None after a problem."""
    if len(data) >= LONGEST:
        document.refuse(line, "line", _("The row is longer than {most:,} bytes. {expected}", LONGEST, _(_EXPECTED)))
        return None
    try:
        row = data.decode()
    except UnicodeDecodeError as error:
        byte = f"0x{data[error.start]:02x}"
        document.refuse(
            line, "utf8", _("The row is not UTF-8: the byte {byte} is not valid. Save the file as UTF-8.", byte)
        )
        return None
    if "\0" in row:
        document.refuse(line, "nul", _("The row contains NUL, which can't be stored. Remove it."))
        return None
    return row.removeprefix("\ufeff") if line == 1 else row


def _blocks(stream: IO[bytes]) -> Iterator[tuple[int, bytes, bool]]:
    """Blocks of rows with the line (1-based) of their first row, and whether an empty row follows.

    A row of at least LONGEST bytes may be cut.
    """
    line, held, more = 1, b"", True
    while more:
        data = stream.read(_PART)
        more = bool(data)
        found = (held + data).replace(b"\r\n", b"\n")
        # The last row may go on in the next part, and its last byte may be half a line break.
        whole, line_break, held = found.rpartition(b"\n") if more else (found, b"", b"")
        if len(held) > LONGEST:
            held = held[:LONGEST]
        if not line_break and more:
            continue
        blocks = whole.split(b"\n\n")
        for number, block in enumerate(blocks, 1):
            yield line, block, number < len(blocks)
            line += block.count(b"\n") + 2
        line -= 1
