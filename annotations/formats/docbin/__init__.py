"""spaCy's binary files (`.spacy`), read and written without spaCy.

Source: https://spacy.io/api/docbin, and the class `DocBin` in
https://github.com/explosion/spaCy/blob/master/spacy/tokens/_serialize.py: a map in MessagePack, compressed by zlib. Of
a document it holds the tokens and whether a space follows them, so that white space other than one space after a token
is a token of its own. Offsets are code points, as in Python.

Spans are entities (`Doc.ents`). Entities can't overlap: a span that overlaps a longer one is in the span group `sc`.
The name of a note is in the user data under `name`, attributes of spans as extension attributes (`Span._`).
"""

import os
import re
import struct
import tempfile
import zlib
from array import array
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import IO, Any, Final

from annotations.formats.base import DocumentReader, Files, LabelFinder, NoteFiles, OneFileFormat, Sink
from annotations.formats.docbin.writing import ENT_IOB, ENT_TYPE, GROUP, MARK, NAME, ORTH, SPAN, SYMBOLS, Writer, number
from annotations.formats.notes import NoteError, ParsedNote, Problem, check_name, check_text
from annotations.formats.span_rules import SpanTaker
from annotations.text.spans import Bounds
from annotations.text.wording import gettext as _
from annotations.text.wording import gettext_noop

# Reading of spaCy's binary files, one document at a time, from a temporary file with the decompressed content.


_LARGEST: Final = 8 << 30
_RATIO: Final = 200
_SMALL: Final = 2 << 30
"""A file may become _RATIO times as large when it is decompressed, or _SMALL bytes, but not more than _LARGEST."""
_CHUNK: Final = 1 << 20
_BUFFER: Final = 128 << 20
_BEGIN, _INSIDE = 3, 1
_BINARY: Final = {0xC4: 1, 0xC5: 2, 0xC6: 4}  # the first byte of binary data in MessagePack: bytes of the length
_FAULTS: Final = (
    *(AttributeError, IndexError, KeyError, OverflowError, RecursionError, TypeError, ValueError),
    struct.error,
)


@dataclass(frozen=True, slots=True)
class DocSpan:
    """A span as in the file; `label` is None if the file doesn't contain its string. Offsets are code points."""

    start: int
    end: int
    label: str | None


@dataclass(slots=True)
class Doc:
    """A document as in the file. `faults` are sentences that say why it can't be read; `unkept` what isn't read."""

    text: str = ""
    name: str = ""
    spans: list[DocSpan] = field(default_factory=list)
    attributes: dict[Bounds, dict[str, str | bool]] = field(default_factory=dict)
    unkept: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    has_unknown_spaces: bool = False


def _documents(descriptor: int, file: str) -> Iterator[Doc]:
    import msgpack

    try:
        yield from _Bin(descriptor).documents()
    except (*_FAULTS, msgpack.exceptions.UnpackException) as error:
        raise _broken(file) from error


def _broken(file: str) -> NoteError:
    message = _(
        "The file is not a file that spaCy's DocBin wrote, or it is damaged. Save it again with DocBin.to_disk."
    )
    return NoteError([Problem(file, None, "docbin", message)])


def _decompress(stream: IO[bytes], content: IO[bytes], file: str) -> None:
    squeezed = zlib.decompressobj()
    given = 0
    try:
        while not squeezed.eof and (data := stream.read(_CHUNK)):
            given += len(data)
            while data:
                content.write(squeezed.decompress(data, _CHUNK))
                data = squeezed.unconsumed_tail
                if content.tell() > min(_LARGEST, max(_SMALL, given * _RATIO)):
                    message = _("The file becomes too large when it is decompressed. Export fewer documents into it.")
                    raise NoteError([Problem(file, None, "size", message)])
        content.write(squeezed.flush())
    except zlib.error as error:
        raise _broken(file) from error
    if not squeezed.eof:
        raise _broken(file)
    content.flush()


class _View:
    """A part of a file that is read from an offset of its own."""

    def __init__(self, descriptor: int, at: int) -> None:
        self._descriptor = descriptor
        self._at = at

    def read(self, size: int) -> bytes:
        data = os.pread(self._descriptor, size, self._at)
        self._at += len(data)
        return data


class _Bin:
    """The parts of a file: where they are, and the strings."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._size = os.fstat(descriptor).st_size
        self._at: dict[str, int] = {}
        self._binary: dict[str, tuple[int, int]] = {}
        self._find_parts()
        attrs = self._unpacked("attrs")
        self._width = len(attrs)
        self._columns = {attr: column for column, attr in enumerate(attrs)}
        self._orth = self._columns[ORTH]
        self._lengths = array("i", self._bytes("lengths"))
        total = sum(self._lengths)
        if min(self._lengths, default=0) < 0 or self._binary["spaces"][1] != total:
            raise ValueError
        if self._binary["tokens"][1] != total * self._width * 8:
            raise ValueError
        self._strings = {number: name for name, number in SYMBOLS.items()}
        for string in self._items("strings"):
            self._strings[number(string)] = string

    def documents(self) -> Iterator[Doc]:
        at = 0
        parts = {key: self._items(key) for key in ("cats", "flags", "span_groups", "user_data")}
        for length in self._lengths:
            doc = Doc()
            cats, flags, groups, data = (next(items, None) for items in parts.values())
            doc.has_unknown_spaces = isinstance(flags, Mapping) and bool(flags.get("has_unknown_spaces"))
            starts = self._read_tokens(doc, at, length)
            at += length
            if not doc.faults:
                try:
                    self._read_groups(doc, groups, starts)
                    _read_data(doc, data)
                except _FAULTS:
                    doc.faults.append(_("Span groups or user data can't be read. Save the file again with DocBin."))
            if cats:
                doc.unkept.append(_("Categories of documents are not imported."))
            yield doc

    def _find_parts(self) -> None:
        """Find where the parts are, without reading the large ones."""
        unpacker = self._unpacker(0)
        count = unpacker.read_map_header()
        at = unpacker.tell()
        for _part in range(count):
            unpacker = self._unpacker(at)
            key = unpacker.unpack()
            at += unpacker.tell()
            head = os.pread(self._descriptor, 5, at)
            size = _BINARY.get(head[0])
            if size:
                length = int.from_bytes(head[1 : 1 + size], "big")
                self._binary[key] = at + 1 + size, length
                at += 1 + size + length
                if at > self._size:
                    raise ValueError
                continue
            self._at[key] = at
            unpacker = self._unpacker(at)
            unpacker.skip()
            at += unpacker.tell()

    def _unpacker(self, at: int) -> Any:
        import msgpack

        return msgpack.Unpacker(_View(self._descriptor, at), raw=False, max_buffer_size=_BUFFER)

    def _unpacked(self, key: str) -> Any:
        return self._unpacker(self._at[key]).unpack()

    def _items(self, key: str) -> Iterator[Any]:
        """The items of an array; nothing if the file doesn't have it."""
        if key in self._at:
            unpacker = self._unpacker(self._at[key])
            for _ in range(unpacker.read_array_header()):
                yield unpacker.unpack()

    def _bytes(self, key: str, first: int = 0, size: int | None = None) -> bytes:
        at, length = self._binary[key]
        return os.pread(self._descriptor, length if size is None else size, at + first)

    def _read_tokens(self, doc: Doc, first: int, length: int) -> list[Bounds]:
        """Read the text and the entities; the bounds of the tokens."""
        rows = array("Q", self._bytes("tokens", first * self._width * 8, length * self._width * 8))
        spaces = b"\1" * length if doc.has_unknown_spaces else self._bytes("spaces", first, length)
        words = [self._strings.get(orth) for orth in rows[self._orth :: self._width]]
        if None in words:
            doc.faults.append(
                _("The string of the token {n} is missing in the file. Save it again.", words.index(None))
            )
            return []
        pieces: list[str] = []
        starts: list[Bounds] = []
        at = 0
        for word, space in zip(words, spaces, strict=True):
            piece = word or ""
            starts.append((at, at + len(piece)))
            pieces.append(f"{piece} " if space else piece)
            at += len(pieces[-1])
        doc.text = "".join(pieces)
        if ENT_TYPE in self._columns:
            types = rows[self._columns[ENT_TYPE] :: self._width]
            marks = rows[self._columns[ENT_IOB] :: self._width] if ENT_IOB in self._columns else None
            self._read_entities(doc, types, marks, starts)
        return starts

    def _read_entities(self, doc: Doc, types: "array[int]", marks: "array[int] | None", places: list[Bounds]) -> None:
        before, start, end = 0, 0, 0
        for at, kind in enumerate(types):
            kind = kind if marks is None or marks[at] in (_BEGIN, _INSIDE) else 0
            if before and kind == before and (marks is None or marks[at] == _INSIDE):
                end = places[at][1]
                continue
            if before:
                doc.spans.append(DocSpan(start, end, self._strings.get(before)))
            before, (start, end) = kind, places[at]
        if before:
            doc.spans.append(DocSpan(start, end, self._strings.get(before)))

    def _read_groups(self, doc: Doc, packed: Any, places: list[Bounds]) -> None:
        if not packed:
            return
        found = _unpacked(packed)
        groups = [(group, None) for group in found] if isinstance(found, tuple) else list(found.items())
        known = set(doc.spans)
        for data, keys in groups:
            group = _unpacked(data)
            if GROUP not in (keys or [group["name"]]):
                if group["spans"]:
                    doc.unkept.append(_("Span groups other than “{group}” are not imported.", GROUP))
                continue
            for row in group["spans"]:
                label, first, past = SPAN.unpack(row)[2:5]
                if not 0 <= first < past <= len(places):
                    doc.faults.append(
                        _("A span of the group “{group}” is not inside the document. Save the file again.", GROUP)
                    )
                    continue
                span = DocSpan(places[first][0], places[past - 1][1], self._strings.get(label))
                if span not in known:
                    known.add(span)
                    doc.spans.append(span)


def _read_data(doc: Doc, packed: Any) -> None:
    """Read the name and the attributes of spans from the user data."""
    for key, value in (_unpacked(packed) if packed else {}).items():
        extension = isinstance(key, tuple) and len(key) == 4 and key[0] == MARK
        if key == NAME and isinstance(value, str):
            doc.name = value
        elif extension and isinstance(key[1], str) and isinstance(value, str | bool) and None not in key:
            name, start, end = key[1:]
            if value is not False:
                doc.attributes.setdefault((start, end), {})[name] = value
        else:
            doc.unkept.append(_("User data other than the name and attributes of spans is not imported."))


def _unpacked(data: Any) -> Any:
    import msgpack

    try:
        return msgpack.unpackb(data, raw=False, use_list=False, strict_map_key=False)
    except msgpack.exceptions.UnpackException as error:
        raise ValueError from error


_SPACES: Final = gettext_noop(
    "The document doesn't say where spaces are. Its text has a space after each token, as in spaCy."
)


class DocBinFormat(DocumentReader, OneFileFormat):
    """Reads and writes spaCy's DocBin."""

    name = "docbin"
    endings = ("spacy",)
    claim = re.compile(rb"\A\x78")  # zlib
    file = "train.spacy"
    unique = gettext_noop("Give each document a name of its own.")

    options = frozenset({"tokenizer"})

    def documents(self, note: NoteFiles, file: str, files: Files) -> Iterator[tuple[None, Doc | NoteError]]:
        with files.open(file) as stream, tempfile.TemporaryFile() as content:
            _decompress(stream, content, file)
            for number, doc in enumerate(_documents(content.fileno(), file), 1):
                faults = [
                    Problem(file, None, "docbin", _("Document {number}: {fault}", number, fault))
                    for fault in doc.faults
                ]
                yield None, NoteError(faults) if faults else doc

    def note_in(self, document: Doc, name: str, file: str, line: int, find_label: LabelFinder) -> ParsedNote:
        name = check_name(document.name) if document.name else name
        taker = SpanTaker(check_text(document.text, file), file, find_label)
        for span in document.spans:
            bounds = span.start, span.end
            taker.take(span.label, *bounds, attributes=document.attributes.get(bounds))
        for message in document.unkept:
            taker.not_kept(message)
        if document.has_unknown_spaces:
            taker.warn("rebuilt", _(_SPACES))
        return taker.note(name)

    @contextmanager
    def sink(self, out: IO[bytes], labels: Mapping[str, str]) -> Iterator[Sink]:
        with Writer(out, labels, self.tokenizer) as writer:
            yield writer.add
            writer.finish()
