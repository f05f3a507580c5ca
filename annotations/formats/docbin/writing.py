"""Writing of spaCy's binary files: the parts of all documents go to temporary files, and from there into one file."""

import struct
import tempfile
import zlib
from array import array
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Final

from annotations.formats.notes import Loss, NoteError, OutNote, Problem, check_name
from annotations.formats.span_rules import given_spans
from annotations.text.bio import OUTSIDE, BioEncoding, encode, encode_tokens
from annotations.text.spans import Bounds, Span, Tokenizer, covered
from annotations.text.wording import gettext as _

# Numbers of strings in spaCy's files: symbols have fixed numbers, other strings their hash.
#
# Source: https://github.com/explosion/spaCy/blob/master/spacy/strings.pyx (the function `hash_string`, and
# `symbols.pyx` beside it), and https://github.com/aappleby/smhasher/blob/master/src/MurmurHash2.cpp (MurmurHash64A).


_FIRST, _MIDDLE, _LAST = map(
    str.split, Path(__file__).with_name("symbols.txt").read_text(encoding="ascii").split("\n\n")
)
_NAMES: Final = (
    *_FIRST,
    *(f"FLAG{number}" for number in range(19, 64)),
    *_MIDDLE,
    *(f"DEPRECATED{number:03}" for number in range(1, 277)),
    *_LAST,
)
SYMBOLS: Final[dict[str, int]] = {name: number for number, name in enumerate(_NAMES, 1)} | {"": 0}
"""The numbers of symbols. Part of them are names of labels, such as DATE."""
ORTH: Final = SYMBOLS["ORTH"]
ENT_IOB: Final = SYMBOLS["ENT_IOB"]
ENT_TYPE: Final = SYMBOLS["ENT_TYPE"]

_MASK: Final = 0xFFFFFFFFFFFFFFFF
_FACTOR: Final = 0xC6A4A7935BD1E995
_SHIFT: Final = 47


def number(string: str) -> int:
    """The number of a string."""
    symbol = SYMBOLS.get(string)
    return murmur_hash(string.encode()) if symbol is None else symbol


def murmur_hash(data: bytes, seed: int = 1) -> int:
    """MurmurHash64A: 64 bits, little-endian."""
    found = (seed ^ (len(data) * _FACTOR)) & _MASK
    past = len(data) & ~7
    for at in range(0, past, 8):
        block = (int.from_bytes(data[at : at + 8], "little") * _FACTOR) & _MASK
        block = ((block ^ (block >> _SHIFT)) * _FACTOR) & _MASK
        found = ((found ^ block) * _FACTOR) & _MASK
    if past < len(data):
        found = ((found ^ int.from_bytes(data[past:], "little")) * _FACTOR) & _MASK
    found = ((found ^ (found >> _SHIFT)) * _FACTOR) & _MASK
    return found ^ (found >> _SHIFT)


SPAN: Final = struct.Struct(">QQQllll")
"""A span of a group: id, id in a knowledge base, label, first token, token after the last, and both as characters."""
GROUP: Final = "sc"
"""The group of spans that `Doc.ents` can't hold, because they overlap: spaCy's usual name for such a group."""
NAME: Final = "name"
"""The key of the note's name in the user data."""
MARK: Final = "._."
"""The first part of the keys of extension attributes in the user data."""

_ATTRS: Final = (ORTH, ENT_IOB, ENT_TYPE)
_INSIDE, _OUTSIDE, _BEGIN = 1, 2, 3
_LARGEST: Final = 2**32 - 1
_CHUNK: Final = 1 << 20
_IN_MEMORY: Final = 1 << 22


class Writer(ExitStack):
    """A context that writes one file; `add` each note, then `finish`."""

    def __init__(self, out: IO[bytes], labels: Mapping[str, str], tokenizer: Tokenizer) -> None:
        import msgpack

        super().__init__()
        self._pack: Callable[..., bytes] = msgpack.packb
        self._out = out
        self._labels = labels
        self._tokenizer = tokenizer
        self._numbers: dict[str, int] = {}
        self._lengths = array("i")
        self._tokens, self._spaces, self._groups, self._data = (
            self.enter_context(tempfile.SpooledTemporaryFile(_IN_MEMORY))  # noqa: SIM115 - a context of its own
            for _ in range(4)
        )

    def add(self, note: OutNote) -> list[Loss]:
        name = check_name(note.name)
        given, losses = given_spans(note, self._labels)
        spans = [Span(span.start, span.end, code) for span, code in given]
        doc = _tokenized(note.text, spans, self._encoded(note.text, spans))
        if (self._tokens.tell() + len(doc.words) * len(_ATTRS) * 8) > _LARGEST:
            message = _(
                "The file would be larger than spaCy's format allows (4 GB of tokens). Export the notes in parts."
            )
            raise NoteError([Problem(name, None, "size", message)])
        number_of = self._number
        rows = array("Q", [0]) * (len(doc.words) * len(_ATTRS))
        rows[0::3] = array("Q", map(number_of, doc.words))
        rows[1::3] = array("Q", doc.marks)
        rows[2::3] = array("Q", map(number_of, doc.labels))
        self._tokens.write(rows.tobytes())
        self._spaces.write(doc.spaces)
        self._lengths.append(len(doc.words))
        self._groups.write(self._pack(self._group(doc.others)))
        data: dict[Any, Any] = {NAME: name}
        attributes, lost = _attributes(note, given)
        for (start, end), values in attributes.items():
            data |= {(MARK, key, start, end): value for key, value in values}
        self._data.write(self._pack(self._pack(data)))
        return losses + lost

    def finish(self) -> None:
        """Complete the file."""
        squeezed = zlib.compressobj()
        for piece in self._pieces():
            self._out.write(squeezed.compress(piece))
        self._out.write(squeezed.flush())

    def _pieces(self) -> Iterator[bytes]:
        import msgpack

        pack, count = self._pack, len(self._lengths)
        header = msgpack.Packer(autoreset=True)
        yield header.pack_map_header(10)
        yield pack("version") + pack("0.1")
        yield pack("attrs") + pack(list(_ATTRS))
        yield from (pack("tokens"), *_binary(self._tokens))
        yield from (pack("spaces"), *_binary(self._spaces))
        yield pack("lengths") + pack(self._lengths.tobytes())
        yield pack("strings") + header.pack_array_header(len(self._numbers))
        yield from map(pack, sorted(self._numbers))
        yield pack("cats") + header.pack_array_header(count)
        yield pack({}) * count
        yield pack("flags") + header.pack_array_header(count)
        yield pack({"has_unknown_spaces": False}) * count
        yield pack("span_groups") + header.pack_array_header(count)
        yield from _content(self._groups)
        yield pack("user_data") + header.pack_array_header(count)
        yield from _content(self._data)

    def _encoded(self, text: str, spans: list[Span]) -> tuple[BioEncoding, list[Span]]:
        """The tokens with tags of the spans that don't overlap a longer one, and the other spans."""
        encoded = encode(text, spans, label_order=tuple(self._labels.values()), tokenizer=self._tokenizer)
        if not encoded.losers:
            return encoded, []
        others = [loser.span for loser in encoded.losers]
        return encode_tokens(encoded.tokens, sorted(set(spans) - set(others))), others

    def _number(self, string: str) -> int:
        found = self._numbers.get(string)
        if found is None:
            found = self._numbers[string] = number(string)
        return found

    def _group(self, others: list[tuple[Span, int, int]]) -> bytes:
        if not others:
            return self._pack([])
        spans = [
            SPAN.pack(0, 0, self._number(span.label), first, past, span.start, span.end) for span, first, past in others
        ]
        return self._pack({self._pack({"name": GROUP, "attrs": {}, "spans": spans}): [GROUP]})


@dataclass(slots=True)
class _Doc:
    """The tokens of a text as in spaCy. `spaces` has 1 for a token before a space, `marks` numbers for tags.

    `others` are the spans that are not entities, with their first token and the token after their last.
    """

    words: list[str] = field(default_factory=list)
    spaces: bytearray = field(default_factory=bytearray)
    marks: list[int] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    others: list[tuple[Span, int, int]] = field(default_factory=list)


def _tokenized(text: str, spans: list[Span], given: tuple[BioEncoding, list[Span]]) -> _Doc:
    """All characters as tokens: a space after a token belongs to it, other white space is a token of its own."""
    encoded, others = given
    doc = _Doc()
    places: list[int] = []
    at = 0
    words, spaces, marks, labels = doc.words, doc.spaces, doc.marks, doc.labels
    for (start, end), tag in zip(encoded.tokens, encoded.tags, strict=True):
        if at < start:
            gap = text[at:start]
            if gap == " " and words:  # as most gaps are
                spaces[-1] = 1
            else:
                _add_gap(doc, gap, tag[2:] if tag[0] == "I" else "")
        places.append(len(words))
        words.append(text[start:end])
        spaces.append(0)
        marks.append(_OUTSIDE if tag == OUTSIDE else _INSIDE if tag[0] == "I" else _BEGIN)
        labels.append(tag[2:])
        at = end
    _add_gap(doc, text[at:], "")
    for span in others:
        first, past = covered(encoded.tokens, span.start, span.end)
        doc.others.append((span, places[first], places[past - 1] + 1))
    return doc


def _add_gap(doc: _Doc, gap: str, label: str) -> None:
    if doc.words and gap[:1] == " ":
        doc.spaces[-1] = 1
        gap = gap[1:]
    if gap:
        doc.words.append(gap)
        doc.spaces.append(0)
        doc.marks.append(_INSIDE if label else _OUTSIDE)
        doc.labels.append(label)


def _attributes(
    note: OutNote, given: list[tuple[Span, str]]
) -> tuple[dict[Bounds, tuple[tuple[str, str | bool], ...]], list[Loss]]:
    """The attributes by the bounds of their spans, which is all that spaCy keeps, and those that this makes unclear."""
    found: dict[Bounds, tuple[tuple[str, str | bool], ...]] = {}
    unclear = set()
    for span, _code in given:
        bounds = span.start, span.end
        if found.setdefault(bounds, span.attributes) != span.attributes:
            unclear.add(bounds)
    reason = _("Attributes are not exported, because another span has the same start and end.")
    losses = [
        Loss(note.name, span, reason) for span, _code in given if span.attributes and (span.start, span.end) in unclear
    ]
    return {bounds: each for bounds, each in found.items() if each and bounds not in unclear}, losses


def _binary(file: IO[bytes]) -> Iterator[bytes]:
    """The content of a file as MessagePack's `bin 32`."""
    yield b"\xc6" + file.tell().to_bytes(4, "big")
    yield from _content(file)


def _content(file: IO[bytes]) -> Iterator[bytes]:
    file.seek(0)
    while piece := file.read(_CHUNK):
        yield piece
