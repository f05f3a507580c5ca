"""PubTator: many documents in one text file, only read.

Source: https://www.ncbi.nlm.nih.gov/research/pubtator3/tutorial and the corpora of NCBI (NCBI Disease, BC5CDR). A line
`ID|t|TITLE` and a line `ID|a|ABSTRACT` are the text, with one character between them; a line of an annotation is
`ID TAB start TAB end TAB mention TAB TYPE TAB IDENTIFIER`, and one of a relation has a word in place of `start`. An
empty line ends a document. The mentions tell whether offsets count code points or UTF-16 code units.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import IO, Final

from annotations.formats.base import DocumentReader, Files, LabelFinder, NoteFiles
from annotations.formats.notes import NoteError, ParsedNote, Problem, decode_utf8
from annotations.formats.quotes import counts_utf16
from annotations.formats.span_rules import SpanTaker, attribute_value, whole
from annotations.text.wording import gettext as _

_TEXT: Final = re.compile(r"([^|\t]+)\|[a-z]\|(.*)", re.DOTALL)
_NO_IDENTIFIER: Final = frozenset({"", "-", "-1"})
_IDENTIFIER: Final = "identifier"
_LONGEST: Final = 1 << 24


@dataclass(slots=True)
class _Document:
    """The lines of a document. `line` is that of the first one (1-based)."""

    line: int
    id: str = ""
    texts: list[str] = field(default_factory=list)
    rows: list[tuple[int, list[str]]] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)

    def annotations(self) -> Iterator[tuple[int, list[str]]]:
        """The rows of annotations with their lines: the others are relations."""
        return ((line, row) for line, row in self.rows if len(row) > 4 and whole(row[1]) is not None)


class PubtatorFormat(DocumentReader):
    """Reads PubTator."""

    name = "pubtator"
    endings = ("pubtator", "txt", "tsv")
    claim = re.compile(rb"\A(?:\xef\xbb\xbf)?\s*[^|\t\r\n]{1,200}\|t\|")

    def documents(self, note: NoteFiles, file: str, files: Files) -> Iterator[tuple[int, _Document]]:
        with files.open(file) as stream:
            for document in _documents(stream, file):
                yield document.line, document

    def note_in(self, document: _Document, name: str, file: str, line: int, find_label: LabelFinder) -> ParsedNote:
        if document.problems or not document.texts:
            message = _("The document has no text. Expected: a line “ID|t|title”.")
            raise NoteError(document.problems or [Problem(file, document.line, "no text", message)])
        text = "\n".join(document.texts)
        quoted = [
            (int(row[1]), int(row[2]), row[3]) for _line, row in document.annotations() if whole(row[2]) is not None
        ]
        taker = SpanTaker(text, file, find_label, utf16=counts_utf16(text, quoted))
        if len(list(document.annotations())) < len(document.rows):
            taker.not_kept(_("Relations are not imported."), document.rows[-1][0])
        for line, row in document.annotations():
            identifier = row[5] if len(row) > 5 else ""
            held = {} if identifier in _NO_IDENTIFIER else {_IDENTIFIER: attribute_value(identifier)}
            taker.take(row[4], row[1], row[2], line=line, quote=row[3], attributes=held)
        return taker.note(taker.name_of(document.id, name, document.line))


def _documents(stream: IO[bytes], file: str) -> Iterator[_Document]:
    """The documents of a file; at least one, which may have problems."""
    found, line = _Document(1), 0
    while data := stream.readline(_LONGEST):
        line += 1
        try:
            row = decode_utf8(data, file).removeprefix("\ufeff" if line == 1 else "").rstrip("\r\n")
        except NoteError as error:
            found.problems += [Problem(file, line, each.code, each.message) for each in error.problems]
            continue
        text = _TEXT.fullmatch(row)
        identity = text[1] if text else row.partition("\t")[0] if "\t" in row else found.id
        if found.id and (not row.strip() or identity != found.id):
            yield found
            found = _Document(line if row.strip() else line + 1)
        if not row.strip():
            continue
        if text and not found.rows:
            found.texts.append(text[2])
        elif "\t" in row and found.texts:
            found.rows.append((line, row.split("\t")))
        else:
            message = _(
                "The line is not one of PubTator. Expected: “ID|t|title”, then “ID|a|abstract”, then annotations."
            )
            found.problems.append(Problem(file, line, "line", message))
        found.id = found.id or identity
    if found.id or found.problems or not line:
        yield found
