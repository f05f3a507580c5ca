"""brat standoff: `NAME.txt` beside `NAME.ann`, one `T` line per span.

Source: https://brat.nlplab.org/standoff.html and https://brat.nlplab.org/configuration.html. A line of the annotation
file is `T<id> TAB TYPE start end[;start end]* TAB quote`, in code points, end-exclusive. A span over a line break has a
fragment for each line, since neither the quote nor the line can hold the break; the quote is the fragments joined by
one space.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final

from annotations.domain.formats.base import (
    BAD_CODE,
    LabelFinder,
    Load,
    Loss,
    NoteFiles,
    OutNote,
    split_names,
    written_code,
)
from annotations.domain.formats.brat_config import annotation_conf, visual_conf
from annotations.domain.labels import LabelSetDef
from annotations.domain.notes import NoteError, ParsedNote, Problem, check_name, decode_utf8
from annotations.domain.segments import BREAK
from annotations.domain.spans import Span, check_bounds
from annotations.domain.whitespace import WHITE_SPACE, trim

_PLAIN_LINE: Final = re.compile(r"(T[^\s]+)\t([^\s]+) ([0-9]{1,9}) ([0-9]{1,9})\t(.*)", re.DOTALL)
_PLACES: Final = re.compile(r"[0-9]{1,9} [0-9]{1,9}(;[0-9]{1,9} [0-9]{1,9})*")
_OTHER_LINE: Final = re.compile(r"([REAMN])[0-9]\S*\t|(\*)\t|(#)")
_NOT_KEPT: Final = {
    "R": "a relation",
    "E": "an event",
    "A": "an attribute",
    "M": "a modification",
    "N": "a normalisation",
    "*": "an equivalence",
    "#": "a comment",
}


class BratFormat:
    """Reads and writes brat standoff. Annotations other than text-bound ones aren't kept, and each is reported."""

    name = "brat"

    def group(self, names: Iterable[str]) -> tuple[list[NoteFiles], list[Problem]]:
        """See `Format.group`."""
        notes, problems = split_names(names, ["txt", "ann"])
        whole = []
        for name, parts in sorted(notes.items()):
            if "txt" in parts:
                whole.append(NoteFiles(name, parts))
            else:
                problems.append(Problem(parts["ann"], None, "no text", f"there is no {name}.txt beside it"))
        return whole, problems

    def read(self, note: NoteFiles, load: Load, labels: Mapping[str, str]) -> ParsedNote:
        """See `Format.read`. Spans come in order of their place; a span given twice is taken once, with a warning."""
        text = decode_utf8(load(note.parts["txt"]), note.parts["txt"])
        file = note.parts.get("ann")
        if file is None:
            return ParsedNote(note.name, text, None)
        reader = _Reader(text, file, LabelFinder(labels))
        reader.read(decode_utf8(load(file), file).removeprefix("\ufeff"))
        if reader.problems:
            raise NoteError(reader.problems)
        return ParsedNote(note.name, text, sorted(reader.spans), reader.warnings)

    def read_many(self, note: NoteFiles, load: Load, labels: Mapping[str, str]) -> Iterator[ParsedNote | NoteError]:
        """See `Format.read_many`."""
        try:
            yield self.read(note, load, labels)
        except NoteError as error:
            yield error

    def write(self, note: OutNote, labels: Mapping[str, str]) -> tuple[dict[str, bytes], list[Loss]]:
        """See `Format.write`."""
        name, text = check_name(note.name), note.text
        rows: list[str] = []
        losses: list[Loss] = []
        for span in sorted(note.spans):
            check_bounds(span, len(text))
            code = written_code(span, labels)
            places = fragments(text, span.start, span.end)
            if code is None:
                losses.append(Loss(name, span, BAD_CODE))
            elif not places:
                losses.append(Loss(name, span, "it holds nothing but white space"))
            else:
                if (places[0][0], places[-1][1]) != (span.start, span.end):
                    losses.append(Loss(name, span, "white space at its ends isn't kept"))
                offsets = ";".join(f"{start} {end}" for start, end in places)
                quote = " ".join([text[start:end] for start, end in places])
                rows.append(f"T{len(rows) + 1}\t{code} {offsets}\t{quote}\n")
        return {f"{name}.txt": text.encode(), f"{name}.ann": "".join(rows).encode()}, losses

    def extra_files(self, labels: LabelSetDef) -> dict[str, bytes]:
        """`annotation.conf` (the types, by category) and `visual.conf` (their names and colours)."""
        return {
            "annotation.conf": annotation_conf(labels).encode(),
            "visual.conf": visual_conf(labels).encode(),
        }


def fragments(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """`start`-`end` cut at its line breaks, the pieces trimmed of white space; pieces of white space left out."""
    piece = text[start:end]
    if "\n" not in piece and "\r" not in piece:
        cut = [(start, end)]
    else:
        breaks = [match.span() for match in BREAK.finditer(piece)]
        begins = [0, *(past for _, past in breaks)]
        finishes = [*(at for at, _ in breaks), len(piece)]
        cut = [(start + begin, start + finish) for begin, finish in zip(begins, finishes, strict=True)]
    trimmed = [trim(text, *place) for place in cut]
    return [place for place in trimmed if place[0] < place[1]]


class _Reader:
    """Reads one annotation file, and collects everything that is wrong with it."""

    def __init__(self, text: str, file: str, find_label: LabelFinder) -> None:
        self.text = text
        self.file = file
        self.find_label = find_label
        self.spans: set[Span] = set()
        self.warnings: list[Problem] = []
        self.problems: list[Problem] = []
        self._ids: set[str] = set()
        self._line = 0

    def read(self, annotations: str) -> None:
        text, ids, spans, find_label = self.text, self._ids, self.spans, self.find_label
        for self._line, row in enumerate(annotations.split("\n"), 1):
            match = _PLAIN_LINE.fullmatch(row)
            if match is None or row[-1] == "\r":
                self._read_odd(row.removesuffix("\r"))
                continue
            identity, label, first, past, quote = match.groups()
            start, end, code = int(first), int(past), find_label(label)
            # Nearly every line is right, and this much shows it; what is not is looked at again for all its faults.
            if code and quote and text[start:end] == quote and start + len(quote) == end and identity not in ids:
                span = Span(start, end, code)
                if span not in spans and quote[0] not in WHITE_SPACE and quote[-1] not in WHITE_SPACE:
                    ids.add(identity)
                    spans.add(span)
                    continue
            self._take(identity, label, [(start, end)], quote)

    def _refuse(self, code: str, message: str) -> None:
        self.problems.append(Problem(self.file, self._line, code, message))

    def _warn(self, code: str, message: str) -> None:
        self.warnings.append(Problem(self.file, self._line, code, message))

    def _read_odd(self, row: str) -> None:
        """A line that isn't a text-bound annotation in one piece, or that ends as lines do on Windows."""
        if _OTHER_LINE.match(row):
            self._warn("not kept", f"not kept: {_NOT_KEPT[row[0]]}")
            return
        if not row or row.isspace():
            return
        fields = row.split("\t", 2)
        if row[0] != "T" or len(fields) < 3:
            self._refuse("line", "not an annotation line; expected T<number>, tab, type start end, tab, text")
            return
        identity, middle, quote = fields
        label, _, places = middle.partition(" ")
        if not _PLACES.fullmatch(places) or not label or len(identity) < 2:
            self._refuse("offsets", "the offsets can't be read; expected 'TYPE start end', with ';' between fragments")
            return
        numbers = [tuple(map(int, place.split(" "))) for place in places.split(";")]
        self._take(identity, label, [(start, end) for start, end in numbers], quote)

    def _take(self, identity: str, label: str, places: Sequence[tuple[int, int]], quote: str) -> None:
        """Check one annotation and keep its span, or say what is wrong with it: id, label and place."""
        if identity in self._ids:
            self._refuse("id", f"the id {identity[:20]!r} is used twice")
        self._ids.add(identity)
        code = self.find_label(label)
        if code is None:
            self._refuse("label", self.find_label.unknown(label))
        start, end = places[0][0], places[-1][1]
        if not self._fits(places) or not self._joined(places) or not self._quoted(places, quote):
            return
        text = self.text
        if text[start] in WHITE_SPACE or text[end - 1] in WHITE_SPACE:
            given = f"{start}-{end}"
            start, end = trim(text, start, end)
            if start == end:
                self._refuse("white", f"the span {given} holds nothing but white space")
                return
            self._warn("trimmed", f"white space at the ends of {given} was left out; the span is {start}-{end}")
        if code is None:
            return
        span = Span(start, end, code)
        if span in self.spans:
            self._warn("twice", f"the span {start}-{end} {code} is given twice; taken once")
        self.spans.add(span)

    def _fits(self, places: Sequence[tuple[int, int]]) -> bool:
        before = 0
        for start, end in places:
            if start >= end:
                self._refuse("empty", f"start {start} is not before end {end}")
                return False
            if start < before:
                self._refuse("order", f"the fragment at {start} begins before the one in front of it ends ({before})")
                return False
            before = end
        if before > len(self.text):
            self._refuse(
                "outside", f"the span ends at {before}, past the end of the text ({len(self.text)} characters)"
            )
            return False
        return True

    def _joined(self, places: Sequence[tuple[int, int]]) -> bool:
        """Fragments are one span where nothing but white space with a line break lies between them."""
        for (_, end), (start, _) in pairwise(places):
            gap = self.text[end:start]
            if not BREAK.search(gap) or any(ch not in WHITE_SPACE for ch in gap):
                self._refuse("discontinuous", f"the span is discontinuous: the gap {end}-{start} is not a line break")
                return False
        return True

    def _quoted(self, places: Sequence[tuple[int, int]], quote: str) -> bool:
        found = " ".join([self.text[start:end] for start, end in places])
        if found == quote or (BREAK.search(found) and BREAK.sub(" ", found) == BREAK.sub(" ", quote)):
            return True
        self._refuse("quote", f"the text at {places[0][0]}-{places[-1][1]} is not the text that the line quotes")
        return False
