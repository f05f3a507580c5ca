"""A document of BioC, whatever the syntax of its file, as a note."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from annotations.formats.base import LabelFinder
from annotations.formats.notes import NoteError, ParsedNote, Problem
from annotations.formats.quotes import OffsetUnit, misfits, points_of, size
from annotations.formats.span_rules import SpanTaker, attribute_value, whole
from annotations.formats.xml_files import restored
from annotations.text.names import printable
from annotations.text.spans import Bounds
from annotations.text.wording import gettext as _

TYPE: Final = "type"
"""The key of the infon with the label."""
OFFSETS: Final = "offsets"
"""The key of the infon of a collection that says what offsets count."""
SOURCE: Final = "deidreview"
"""The source of the collections that we write."""

_WIDEST: Final = 100_000
"""The most characters between the passages of a document, which are in no passage."""
_BETWEEN_PASSAGES: Final = "\n"
_BETWEEN_SENTENCES: Final = " "
"""What fills the offsets between two pieces of text, as in `get_text` of the package `bioc`."""


@dataclass(slots=True)
class Passage:
    """A passage or sentence. Offsets and texts are as in the file, whatever their type."""

    line: int
    offset: object = None
    text: object = None
    sentences: list["Passage"] = field(default_factory=list)


@dataclass(slots=True)
class Annotation:
    """An annotation; `locations` are pairs of an offset and a length."""

    line: int
    infons: dict[str, object] = field(default_factory=dict)
    locations: list[tuple[object, object]] = field(default_factory=list)
    text: object = None

    def bounds(self) -> list[Bounds] | None:
        """The bounds of the locations as the file counts them, in their order; None if one is not valid."""
        found: list[Bounds] = []
        for given, length in self.locations:
            first, long = whole(given), whole(length)
            if first is None or long is None:
                return None
            found.append((first, first + long))
        return sorted(found) or None


@dataclass(slots=True)
class Document:
    """A document. `relations` and `infons` are the lines of the first that are not imported, or 0."""

    line: int
    id: object = None
    passages: list[Passage] = field(default_factory=list)
    annotations: list[Annotation] = field(default_factory=list)
    relations: int = 0
    infons: int = 0
    replaced: str = ""


@dataclass(frozen=True, slots=True)
class _PlacedText:
    """The text of a document if offsets count a unit. `base` is the offset of its first character."""

    unit: OffsetUnit
    text: str
    base: int
    gaps: int


def note_of(document: Document, numbered: str, file: str, find_label: LabelFinder) -> ParsedNote:
    """The note of a document; `numbered` is its name if its id can't be one. Raises NoteError."""
    bounds = [annotation.bounds() for annotation in document.annotations]
    placed = _placed(document, bounds, file)
    taker = SpanTaker(placed.text, file, find_label)
    name = taker.name_of(document.id, numbered, document.line)
    if document.relations:
        taker.not_kept(_("Relations are not imported."), document.relations)
    if document.infons:
        taker.not_kept(_("Infons of documents and passages are not imported."), document.infons)
    points = points_of(placed.text, placed.unit)
    for annotation, given in zip(document.annotations, bounds, strict=True):
        if taker.skips(annotation.infons.get(TYPE)):
            continue
        if given is None:
            message = _("The annotation has no valid location. Expected: offset and length as whole numbers.")
            taker.refuse_span(annotation.infons.get(TYPE), "offsets", message, annotation.line)
            continue
        counted = [(first - placed.base, past - placed.base) for first, past in given]
        found = [(points(first), points(past)) for first, past in counted]
        pieces = [(start, end) for start, end in found if start is not None and end is not None]
        if len(pieces) < len(found) and find_label.repair:
            _take(annotation, counted, taker)
        elif len(pieces) < len(found):
            taker.refuse_span(annotation.infons.get(TYPE), "outside", _outside(given, placed), annotation.line)
        else:
            _take(annotation, pieces, taker)
    note = taker.note(name)
    note.text = restored(note.text, document.replaced, file)
    return note


def _outside(given: list[Bounds], placed: _PlacedText) -> str:
    length = size(placed.text, placed.unit)
    return _(
        "The annotation {start}-{end} is not inside the text, which has {length} {unit} from offset {base}. "
        "Check that the text belongs to the annotations and is unchanged.",
        *(given[0][0], given[-1][1], length, _(placed.unit.value), placed.base),
    )


def _take(annotation: Annotation, pieces: list[Bounds], taker: SpanTaker) -> None:
    attributes: dict[str, str | bool] = {}
    for key, value in annotation.infons.items():
        if value is True:
            attributes[key] = value
        elif isinstance(value, str) and value:
            attributes[key] = attribute_value(value)
        elif value not in (None, False, ""):
            message = _("The infon “{key}” is not imported: it is not text.", printable(key)[:60])
            taker.not_kept(message, annotation.line)
    label = attributes.pop(TYPE, None)
    quote = annotation.text if isinstance(annotation.text, str) else None
    taker.take_pieces(label, pieces, line=annotation.line, quote=quote, attributes=attributes)


def _placed(document: Document, bounds: list[list[Bounds] | None], file: str) -> _PlacedText:
    """The text of a document, in the unit that fits best. Raises NoteError if passages overlap in all units."""
    pieces = list(_pieces(document.passages))
    if all(str(piece.text or "").isascii() for piece, _ in pieces):
        return _text(pieces, OffsetUnit.POINTS, file)
    problems: list[Problem] = []
    best: _PlacedText | None = None
    least = (0, 0)
    for unit in OffsetUnit:
        try:
            placed = _text(pieces, unit, file)
        except NoteError as error:
            problems = problems or error.problems
            continue
        wrong = (misfits(placed.text, unit, _quoted(document, bounds, placed.base)), placed.gaps)
        if best is None or wrong < least:
            best, least = placed, wrong
        # Usually, passages are separated by nothing or by one character.
        if not wrong[0] and placed.gaps <= len(pieces):
            break
    if best is None:
        raise NoteError(problems)
    return best


def _quoted(document: Document, bounds: list[list[Bounds] | None], base: int) -> Iterator[tuple[int, int, str]]:
    """The bounds and texts of annotations in one piece, from the first character of the text."""
    for annotation, given in zip(document.annotations, bounds, strict=True):
        if isinstance(annotation.text, str) and given and len(given) == 1:
            yield given[0][0] - base, given[0][1] - base, annotation.text


def _pieces(passages: Iterable[Passage]) -> Iterator[tuple[Passage, str]]:
    """The passages with text, or their sentences, and what fills the offsets before each."""
    for passage in passages:
        if passage.text or not passage.sentences:
            yield passage, _BETWEEN_PASSAGES
        else:
            for number, sentence in enumerate(passage.sentences):
                yield sentence, _BETWEEN_SENTENCES if number else _BETWEEN_PASSAGES


def _text(pieces: list[tuple[Passage, str]], unit: OffsetUnit, file: str) -> _PlacedText:
    """The text of all pieces at their offsets. Raises NoteError at the first piece that can't be placed."""
    texts: list[str] = []
    base = length = gaps = 0
    for number, (piece, filling) in enumerate(pieces):
        offset = whole(piece.offset)
        if offset is None:
            message = _("The passage has no valid offset. Expected: a whole number.")
            raise NoteError([Problem(file, piece.line, "offsets", message)])
        if not isinstance(piece.text, str | None):
            raise NoteError([Problem(file, piece.line, "no text", _("The text of the passage is not text."))])
        base = offset if number == 0 else base
        gap = offset - base - length
        if gap < 0:
            message = _(
                "The passage at offset {at} begins before the one before it ends ({end}).", offset, base + length
            )
            raise NoteError([Problem(file, piece.line, "order", message)])
        if gaps + gap > _WIDEST:
            message = _(
                "The passage at offset {offset} begins {gap} characters after the end of the one before it.",
                *(offset, gap),
            )
            most = _("At most {most} are allowed in a document.", _WIDEST)
            raise NoteError([Problem(file, piece.line, "offsets", f"{message} {most}")])
        text = piece.text or ""
        texts += [filling * gap, text]
        gaps += gap
        length += gap + size(text, unit)
    return _PlacedText(unit, "".join(texts), base, gaps)
