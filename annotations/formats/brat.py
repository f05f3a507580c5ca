"""brat standoff: `NAME.txt` and `NAME.ann`, with one `T` line per span.

Source: https://brat.nlplab.org/standoff.html and https://brat.nlplab.org/configuration.html. A line of the annotation
file is `T<id> TAB TYPE start end[;start end]* TAB quote`, in code points, end-exclusive. A span over a line break has a
fragment for each line, because neither quotes nor lines can contain line breaks; the quote is the fragments joined by
single spaces.

An attribute is a line `A<id> TAB NAME T<id>[ CHOICE]` (`M` in old files). The parts of a discontinuous span are read as
spans of their own, so that no marked text is lost. Relations, events, normalizations, equivalences and notes are
reported.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise
from typing import Final

from annotations.formats import text_files
from annotations.formats.base import BAD_CODE, Files, Format, LabelFinder, NoteFiles, written_code
from annotations.formats.notes import Loss, NoteError, OutNote, ParsedNote, Problem, check_name, decode_utf8
from annotations.formats.quotes import same_quote
from annotations.formats.span_rules import SpanKey, SpanRow, SpanTaker, attribute_value, attribute_words
from annotations.text.labels import CODE, CategoryDef, LabelSetDef
from annotations.text.segments import BREAK
from annotations.text.spans import Bounds, Span, check_bounds, trim
from annotations.text.wording import gettext as _
from annotations.text.wording import gettext_noop

# Configuration files that brat needs in the folder of its notes: the types, their display names and their colors.
#
# Source: https://brat.nlplab.org/configuration.html. A type name consists of A-Z, a-z, 0-9, `_` and `-`. A leading tab
# makes a type a child of the type above; `!` marks a type that only groups others. ` | ` separates display names.


_LIGHTNESS, _CHROMA = 0.88, 0.07


def annotation_conf(labels: LabelSetDef) -> str:
    """`annotation.conf`: each category with its labels, and the attributes. It must have all four sections."""
    rows = ["[entities]"]
    for category, grouped in _groups(labels):
        if grouped:
            rows.append(f"!{category.code}")
        rows += [("\t" if grouped else "") + label.code for label in category.labels]
    rows += ["", "[relations]", "", "[events]", "", "[attributes]", *_attribute_rows(labels)]
    return "\n".join([*rows, ""])


def _attribute_rows(labels: LabelSetDef) -> Iterator[str]:
    """The attributes with the labels that have them: brat has one definition for each name."""
    having: dict[str, list[str]] = {}
    values: dict[str, dict[str, None]] = {}
    for label in labels.labels():
        for attribute in label.attributes:
            having.setdefault(attribute.name, []).append(label.code)
            # In brat's files, white space and commas end a value.
            fit = [value for value in attribute.values if not re.search(r"[\s,]", value)]
            values.setdefault(attribute.name, {}).update(dict.fromkeys(fit))
    for name, codes in having.items():
        choices = "|".join(values[name])
        yield f"{name}\tArg:{'|'.join(codes)}" + (f", Value:{choices}" if choices else "")


def visual_conf(labels: LabelSetDef) -> str:
    """`visual.conf`: display names, and one color per category, evenly spaced in hue."""
    names, colors = [], []
    for (category, grouped), color in zip(_groups(labels), category_colors(labels), strict=True):
        if grouped:
            names.append(f"{category.code} | {_plain(category.name)}")
        for label in category.labels:
            names.append(f"{label.code} | {_plain(label.name)}")
            colors.append(f"{label.code}\tbgColor:{color}")
    default = "SPAN_DEFAULT\tfgColor:black, bgColor:#e5e5e5, borderColor:darken"
    return "\n".join(["[labels]", *names, "", "[drawing]", default, *colors, ""])


def category_colors(labels: LabelSetDef) -> list[str]:
    """The color of each category as `#rrggbb`, evenly spaced in hue."""
    count = len(labels.categories)
    return [oklch_hex(_LIGHTNESS, _CHROMA, 360 * at / count) for at in range(count)]


def _groups(labels: LabelSetDef) -> Iterator[tuple[CategoryDef, bool]]:
    """Each category, and whether it can be a parent type of its labels, which needs a code that occurs only once."""
    codes = {label.code for label in labels.labels()}
    times = Counter(category.code for category in labels.categories)
    for category in labels.categories:
        yield category, category.code not in codes and times[category.code] == 1


def _plain(name: str) -> str:
    """The name without characters that have a meaning in brat's files: `|`, a leading `!`, tabs and line breaks."""
    return " ".join(name.replace("|", "/").lstrip("!").split())


def oklch_hex(lightness: float, chroma: float, hue: float) -> str:
    """Convert a color to `#rrggbb`, clipped to sRGB. Source: B. Ottosson, "A perceptual color space" (2020)."""
    a, b = chroma * math.cos(math.radians(hue)), chroma * math.sin(math.radians(hue))
    long = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3
    medium = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3
    short = (lightness - 0.0894841775 * a - 1.2914855480 * b) ** 3
    linear = (
        4.0767416621 * long - 3.3077115913 * medium + 0.2309699292 * short,
        -1.2684380046 * long + 2.6097574011 * medium - 0.3413193965 * short,
        -0.0041960863 * long - 0.7034186147 * medium + 1.7076147010 * short,
    )
    return "#" + "".join(f"{round(255 * _gamma(min(1.0, max(0.0, part)))):02x}" for part in linear)


def _gamma(part: float) -> float:
    return float(12.92 * part if part <= 0.0031308 else 1.055 * part ** (1 / 2.4) - 0.055)


# A span in one piece, whose quote has no white space at its ends (see `annotations.text.characters`).
_PLAIN_LINE: Final = re.compile(
    r"^(T\S+)\t(\S+) ([0-9]{1,9}) ([0-9]{1,9})\t([^\s\u200b\ufeff](?:.*[^\s\u200b\ufeff])?)$", re.MULTILINE
)
_LABEL: Final = re.compile(r"^T[^\t\n]+\t([^ \t\n]+) [0-9]", re.MULTILINE)
_FRAGMENTS: Final = re.compile(r"[0-9]{1,9} [0-9]{1,9}(;[0-9]{1,9} [0-9]{1,9})*")
_OTHER_LINE: Final = re.compile(r"([REN])[0-9]\S*\t|(\*)\t|(#)")
_ATTRIBUTE: Final = re.compile(r"([AM][0-9]\S*)\t(\S+) (\S+)(?: ([^\t]+?))?\s*(?:\t.*)?")
_SPACED: Final = f"#1\tAnnotatorNotes T1\t{text_files.SPACED}"
_NOT_IMPORTED: Final = {
    "R": gettext_noop("Relations are not imported."),
    "E": gettext_noop("Events are not imported."),
    "N": gettext_noop("Normalizations are not imported."),
    "*": gettext_noop("Equivalences are not imported."),
    "#": gettext_noop("Comments are not imported."),
}


class BratFormat(Format):
    """Reads and writes brat standoff. Spans and their attributes are imported; each other annotation gives a warning.

    With `spaced`, a space is written where a span begins or ends inside a token; the offset map beside the files makes
    them readable again.
    """

    name = "brat"
    endings = ("txt", "ann")
    options = frozenset({"spaced", "tokenizer"})

    def claims(self, name: str, head: bytes) -> bool:
        return name.lower().endswith(".ann")

    def group(self, names: Iterable[str]) -> tuple[list[NoteFiles], list[Problem]]:
        notes, problems = text_files.split_parts(names, self.endings)
        whole = []
        for name, parts in sorted(notes.items()):
            if "txt" in parts:
                whole.append(NoteFiles(name, parts))
            else:
                problems.append(text_files.text_missing(name, parts["ann"]))
        return whole, problems

    def read(self, note: NoteFiles, files: Files, find_label: LabelFinder) -> ParsedNote:
        """Spans are in text order; a duplicate span is imported once, with a warning."""
        text = decode_utf8(files.load(note.parts["txt"]), note.parts["txt"])
        file = note.parts.get("ann")
        if file is None:
            return text_files.restored(ParsedNote(note.name, text, None), note, files)
        reader = _Reader(text, file, find_label)
        reader.read(decode_utf8(files.load(file), file).removeprefix("\ufeff"))
        if reader.spaced and text_files.MAP not in note.parts:
            reader.problems.append(text_files.map_missing(note.name, file))
        return text_files.restored(reader.note(note.name), note, files)

    def used_labels(self, note: NoteFiles, files: Files) -> Iterator[Counter[str]]:
        """Looks for labels only, since reading takes much longer."""
        if file := note.parts.get("ann"):
            with suppress(NoteError):
                yield Counter(_LABEL.findall(decode_utf8(files.load(file), file)))

    def write(self, note: OutNote, labels: Mapping[str, str]) -> tuple[dict[str, bytes], list[Loss]]:
        name = check_name(note.name)
        note = replace(note, spans=sorted(note.spans))
        spacing = text_files.spacing_for(note, labels, self.tokenizer) if self.spaced else text_files.NONE
        text = spacing.spaced(note.text)
        rows: list[str] = []
        attributes: list[str] = []
        losses: list[Loss] = []
        for span in map(spacing.moved, note.spans):
            check_bounds(span, len(text))
            code = written_code(span, labels)
            pieces = fragments(text, span.start, span.end)
            if code is None:
                losses.append(Loss(name, spacing.back(span), _(BAD_CODE)))
            elif not pieces:
                losses.append(Loss(name, spacing.back(span), _("The span contains only white space.")))
            else:
                if (pieces[0][0], pieces[-1][1]) != (span.start, span.end):
                    reason = _("White space at the ends of the span is not exported.")
                    losses.append(Loss(name, spacing.back(span), reason))
                offsets = ";".join(f"{start} {end}" for start, end in pieces)
                quote = " ".join([text[start:end] for start, end in pieces])
                rows.append(f"T{len(rows) + 1}\t{code} {offsets}\t{quote}\n")
                if span.attributes:
                    words, lost = attribute_words(note, spacing.back(span), CODE)
                    losses += lost
                    for attribute, word in words.items():
                        choice = "" if attribute_value(word) is True else f" {word}"
                        attributes.append(f"A{len(attributes) + 1}\t{attribute} T{len(rows)}{choice}\n")
        rows += attributes
        if spacing.cuts:
            rows.append(f"{_SPACED}\n")
        files = {f"{name}.txt": text.encode(), f"{name}.ann": "".join(rows).encode()}
        return files | text_files.map_file(name, note.text, spacing), losses

    def extra_files(self, labels: LabelSetDef) -> dict[str, bytes]:
        """`annotation.conf` (the types, by category) and `visual.conf` (their names and colors)."""
        return {"annotation.conf": annotation_conf(labels).encode(), "visual.conf": visual_conf(labels).encode()}


def fragments(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Cut `start`-`end` at its line breaks, and trim white space from the pieces; empty pieces are left out."""
    piece = text[start:end]
    if "\n" not in piece and "\r" not in piece:
        cut = [(start, end)]
    else:
        breaks = [match.span() for match in BREAK.finditer(text, start, end)]
        begins = [start, *(past for _, past in breaks)]
        cut = list(zip(begins, [*(at for at, _ in breaks), end], strict=True))
    trimmed = [trim(text, *piece) for piece in cut]
    return [piece for piece in trimmed if piece[0] < piece[1]]


class _Reader(SpanTaker):
    """Reads one annotation file, and collects all its problems."""

    def __init__(self, text: str, file: str, find_label: LabelFinder) -> None:
        super().__init__(text, file, find_label)
        self.spaced = False
        # The spans of each annotation: one, and more than one if it is discontinuous.
        self._ids: dict[str, list[SpanKey]] = {}
        # The line of each attribute, and its name, the id of its annotation, and its choice or True.
        self._attributes: list[tuple[int | None, tuple[str, str, str | bool]]] = []

    def read(self, annotations: str) -> None:
        if self._read_plain(annotations):
            return
        for self._line, row in enumerate(annotations.split("\n"), 1):
            self._read_line(row.removesuffix("\r"))
        self.settle()
        for line, attribute in self._attributes:
            self._line = line
            self._attach(*attribute)

    def _read_plain(self, annotations: str) -> bool:
        """Read a file of valid spans in one piece each, the usual case, in half the time that `_read_line` takes.

        Return False, and keep nothing, if anything else is in the file.
        """
        rows = _PLAIN_LINE.findall(annotations)
        if len(rows) < annotations.count("\n") + (not annotations.endswith("\n")):
            return False
        text, find_label = self.text, self._find_label
        spans: dict[SpanKey, Span] = {}
        for _id, label, first, past, quote in rows:
            start, end, code = int(first), int(past), find_label(label)
            if code is None or not text.startswith(quote, start) or start + len(quote) != end:
                return False
            spans[start, end, code] = Span(start, end, code)
        if len(spans) < len(rows) or len({identity for identity, *_ in rows}) < len(rows):
            return False
        self._spans = spans
        return True

    def _read_line(self, row: str) -> None:
        """Read a line of any kind."""
        if row == _SPACED:
            self.spaced = True
            return
        if _OTHER_LINE.match(row):
            self.warn("not kept", _(_NOT_IMPORTED[row[0]]))
            return
        if not row or row.isspace():
            return
        if row[0] in "AM":
            self._read_attribute(row)
            return
        fields = row.split("\t", 2)
        if row[0] != "T" or len(fields) < 3:
            self.refuse(
                "line", _("The line is not an annotation. Expected: T<number>, tab, type, start, end, tab, text.")
            )
            return
        identity, middle, quote = fields
        label, _space, pieces = middle.partition(" ")
        if not _FRAGMENTS.fullmatch(pieces) or not label or len(identity) < 2:
            self.refuse(
                "offsets", _("The offsets are not valid. Expected: “TYPE start end”, with “;” between fragments.")
            )
            return
        numbers = [tuple(map(int, piece.split(" "))) for piece in pieces.split(";")]
        self._take(identity, label, [(start, end) for start, end in numbers], quote)

    def _read_attribute(self, row: str) -> None:
        """Read the line of an attribute, which may stand before that of its span."""
        match = _ATTRIBUTE.fullmatch(row)
        if match is None:
            self.refuse(
                "line",
                _("The attribute is not valid. Expected: A<number>, tab, name, id of a span, and a choice if any."),
            )
            return
        name, target, choice = match.groups()[1:]
        self._attributes.append((self._line, (name, target, attribute_value(choice) if choice else True)))

    def _attach(self, name: str, target: str, value: str | bool) -> None:
        """Give an attribute to the spans of its annotation."""
        if not target.startswith("T"):
            self.warn("not kept", _("Attributes of events and relations are not imported."))
        elif target not in self._ids:
            self.refuse("id", _("The attribute belongs to “{id}”, which is not a span of this file.", target[:20]))
        for key in self._ids.get(target, ()):
            held = dict(self._spans[key].attributes)
            if held.setdefault(name, value) != value:
                self.warn(
                    "twice", _("The span has this attribute twice, with other choices. The first one is imported.")
                )
            self._spans[key] = replace(self._spans[key], attributes=tuple(sorted(held.items())))

    def _take(self, identity: str, label: str, pieces: Sequence[Bounds], quote: str) -> None:
        """Check one annotation, and keep its span or report all problems of its id, label and bounds."""
        if identity in self._ids:
            self.refuse("id", _("The id “{id}” is used twice.", identity[:20]))
        self._ids[identity] = []
        for (_start, before), (start, _end) in pairwise(pieces):
            if start < before:
                self.refuse(
                    "order", _("The fragment at {start} starts before the previous one ends ({before}).", start, before)
                )
                return
        self._ids[identity] = self.take_pieces(label, pieces, line=self._line, quote=quote)

    def _quoted(self, bounds: Sequence[Bounds], parts: Sequence[Bounds], quote: str) -> bool:
        """Whether a quote is that of a span: its fragments, joined by single spaces."""
        return same_quote(" ".join([self.text[start:end] for start, end in bounds]), quote)

    def _is_misplaced(
        self, pieces: Sequence[tuple[object, object]], quote: str, more: SpanRow, kept: list[SpanKey]
    ) -> bool:
        """Whether a span, which may have several fragments here, is to be moved to its quote."""
        bounds = [
            (start, end) for start, end in pieces if isinstance(start, int) and isinstance(end, int) and start < end
        ]
        if len(bounds) < len(pieces) or (bounds[-1][1] <= len(self.text) and self._quoted(bounds, bounds, quote)):
            return False
        self._hold(bounds[0][0], bounds[-1][1], quote, more, kept)
        return True
