"""How readers and writers of all formats treat a span: label, offsets, quote, white space, duplicates."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Final, TypedDict, Unpack

from annotations.formats.base import BAD_CODE, LabelFinder, written_code
from annotations.formats.notes import Loss, NoteError, OutNote, ParsedNote, Problem, check_name
from annotations.formats.quotes import MisplacedSpan, place, same_quote
from annotations.text.characters import WHITE_SPACE, Utf16
from annotations.text.names import bad_character
from annotations.text.segments import BREAK
from annotations.text.spans import Bounds, Span, check_bounds, trim
from annotations.text.wording import gettext as _

# Discontinuous spans: the pieces of a span that a line break cut, and all others.


def joined(text: str, pieces: Sequence[Bounds]) -> list[Bounds]:
    """The spans that pieces make, in order: more than one if they are discontinuous. Bounds are code points.

    Pieces of one span touch, or there is only white space with a line break between them.
    """
    spans = [pieces[0]]
    for start, end in pieces[1:]:
        gap = text[spans[-1][1] : start]
        if spans[-1][1] == start or (BREAK.search(gap) and WHITE_SPACE.issuperset(gap)):
            spans[-1] = (spans[-1][0], end)
        else:
            spans.append((start, end))
    return spans


_DIGITS: Final = re.compile(r"-?[0-9]{1,18}", re.ASCII)
_MOST: Final = 2**63 - 1
SpanKey = tuple[int, int, str]
"""The start, the end and the code of a span."""
SpanRow = tuple[int | None, str | None, float | None, Mapping[str, str | bool] | None]
"""The line, the code, the confidence and the attributes of a span."""


class SpanFacts(TypedDict, total=False):
    """What a file says of a span besides its label and its bounds."""

    line: int | None
    quote: str | None
    attributes: Mapping[str, str | bool] | None
    confidence: float | None


class SpanTaker:
    """Takes the spans of one note as a file gives them, and collects all problems and warnings.

    Offsets are end-exclusive; they count code points, or UTF-16 code units with `utf16`. `file` and the line of a span
    are named in problems; `line` is the line of spans that are taken without one. `same` says whether a text equals a
    quote, by default `same_quote`.
    """

    def __init__(
        self,
        text: str,
        file: str,
        find_label: LabelFinder,
        *,
        line: int | None = None,
        utf16: bool = False,
        same: Callable[[str, str], bool] | None = None,
    ) -> None:
        self.text = text
        self.file = file
        self._line = line
        self.problems: list[Problem] = []
        self.warnings: list[Problem] = []
        self._find_label = find_label
        self._same = same or same_quote
        self._counts_units = utf16
        # Texts without a character of two units need no conversion.
        self._units = Utf16(text) if utf16 and not text.isascii() else None
        self._length = self._units.length if self._units else len(text)
        self._spans: dict[SpanKey, Span] = {}
        self._said: set[str] = set()
        self._skipped: Counter[str] = Counter()
        self._misplaced: list[MisplacedSpan] = []
        find_label.used.clear()  # A note may be read twice, with offsets that count another unit.

    def skips(self, label: object) -> bool:
        """Whether the spans of a label are left out; this one is then counted."""
        code = self._find_label(label) if isinstance(label, str) and self._find_label.skipped else None
        if code is None or code not in self._find_label.skipped:
            return False
        self._skipped[code] += 1
        return True

    def take(self, label: object, start: object, end: object, **about: Unpack[SpanFacts]) -> None:
        """Take a span in one piece; see `take_pieces`."""
        self.take_pieces(label, [(start, end)], **about)

    def take_pieces(
        self, label: object, pieces: Sequence[tuple[object, object]], **about: Unpack[SpanFacts]
    ) -> list[SpanKey]:
        """Take a span that a file may give in pieces, or report all its problems; the keys of what was kept.

        Offsets may be whole numbers or their digits. The quote, if given, must be the text of the span; line breaks
        count as equal to each other and to a space. White space at the ends is removed with the warning “trimmed”, and
        of equal spans with the same label the first is taken with the warning “twice”. Each part of a discontinuous
        span becomes a span, with a warning. A span that is moved to its quote gets its key in `settle`.
        """
        kept: list[SpanKey] = []
        if self._find_label.skipped and self.skips(label):
            return kept
        line, quote = about.get("line"), about.get("quote")
        more = (line, self._code(label, line), about.get("confidence"), about.get("attributes"))
        if quote and self._find_label.repair and self._is_misplaced(pieces, quote, more, kept):
            return kept
        bounds = [found for piece in pieces if (found := self._bounds(*piece, line))]
        if len(bounds) < len(pieces):
            return kept
        parts = joined(self.text, sorted(bounds)) if len(bounds) > 1 else bounds
        if quote is not None and not self._quoted(bounds, parts, quote):
            message = _(
                "The text at {start}-{end} differs from the text that the file gives for this span. Check that the "
                "text is unchanged and that offsets count {units}.",
                *(pieces[0][0], pieces[-1][1], self._counted()),
            )
            self.refuse("quote", message, line)
            return kept
        if len(parts) > 1:
            message = _(
                "The span has {n} parts with other text between them. Each part was imported as a span of its own.",
                len(parts),
            )
            self.warn("discontinuous", message, line)
        for start, end in parts:
            self._keep(start, end, more, kept)
        return kept

    def _quoted(self, bounds: Sequence[Bounds], parts: Sequence[Bounds], quote: str) -> bool:
        """Whether a quote is that of a span. Programs join the parts of a discontinuous one by spaces or dots."""
        if len(parts) == 1:
            return self._same(self.text[slice(*parts[0])], quote)
        return _letters("".join(self.text[start:end] for start, end in parts)) == _letters(quote)

    def _is_misplaced(
        self, pieces: Sequence[tuple[object, object]], quote: str, more: SpanRow, kept: list[SpanKey]
    ) -> bool:
        """Whether a span in one piece is to be moved, since its quote isn't there. It is then held for that."""
        first, past = whole(pieces[0][0]), whole(pieces[-1][1])
        if len(pieces) > 1 or first is None or past is None or not 0 <= first < past:
            return False
        start, end = (self._units.points(at) if self._units else at for at in (first, past))
        if start is not None and end is not None and end <= len(self.text) and self._same(self.text[start:end], quote):
            return False
        self._hold(first if start is None else start, past if end is None else end, quote, more, kept)
        return True

    def _hold(self, start: int, end: int, quote: str, more: SpanRow, kept: list[SpanKey]) -> None:
        """Hold a span until it is moved to its quote."""
        self._misplaced.append(MisplacedSpan(start, end, quote, more[0], partial(self._keep, more=more, kept=kept)))

    def _keep(self, first: int, past: int, more: SpanRow, kept: list[SpanKey]) -> None:
        """Keep a span without white space at its ends, or report why not. Its key, also if it was there before."""
        text, start, end = self.text, first, past
        line, code, confidence, attributes = more
        if text[first] in WHITE_SPACE or text[past - 1] in WHITE_SPACE:
            first, past = trim(text, first, past)
            if first == past:
                self.refuse("white", _("The span {from}-{to} contains only white space. Remove it.", start, end), line)
                return
            message = _(
                "White space at the ends of the span {start}-{end} was removed; it is now {first}-{past}.",
                *(start, end, first, past),
            )
            self.warn("trimmed", message, line)
        if code is None:
            return
        key = (first, past, code)
        kept.append(key)
        if key in self._spans:
            self.warn(
                "twice", _("The span {start}-{end} {code} occurs twice and is imported once.", start, end, code), line
            )
            return
        held = tuple(sorted(attributes.items())) if attributes else ()
        self._spans[key] = Span(first, past, code, confidence, attributes=held)

    def refuse_span(self, label: object, code: str, message: str, line: int | None = None) -> None:
        """Report a problem of a span that can't be taken."""
        if isinstance(label, str):
            self._find_label.used[label] += 1
        self.refuse(code, message, line)

    def refuse(self, code: str, message: str, line: int | None = None) -> None:
        """Report a problem: the note can't be read."""
        self.problems.append(Problem(self.file, line or self._line, code, message))

    def warn(self, code: str, message: str, line: int | None = None) -> None:
        """Report a warning: the note can be read."""
        self.warnings.append(Problem(self.file, line or self._line, code, message))

    def not_kept(self, message: str, line: int | None = None) -> None:
        """Warn of a part of the file that is not imported, once per note and message."""
        if message not in self._said:
            self._said.add(message)
            self.warn("not kept", message, line)

    def name_of(self, identity: object, numbered: str, line: int | None = None) -> str:
        """The id or name of a document as the name of its note, or another name, with a warning if it can't be one."""
        if not identity or not isinstance(identity, str):
            return numbered
        try:
            return check_name(identity)
        except NoteError as error:
            found = error.problems[0].message
            message = _(
                "The note is named “{name}”, because its name in the file is not valid. {reason}",
                *(numbered, found),
            )
            self.warn("name", message, line)
            return numbered

    def settle(self) -> None:
        """Move the spans whose quotes don't stand at their offsets."""
        if self._misplaced:
            place(self.text, self._misplaced, [key[0] for key in self._spans], warn=self.warn, refuse=self.refuse)
            self._misplaced.clear()

    def note(self, name: str, *, patient_id: str = "") -> ParsedNote:
        """The note with its spans in text order. Raises NoteError with all problems, if there are any."""
        self.settle()
        if self.problems:
            raise NoteError(self.problems)
        spans = [self._spans[key] for key in sorted(self._spans)]
        return ParsedNote(name, self.text, spans, self.warnings, patient_id, dict(self._skipped))

    def _code(self, label: object, line: int | None) -> str | None:
        if not isinstance(label, str):
            self.refuse("label", _("A span has a label that is not text. Expected: the name of a label."), line)
            return None
        self._find_label.used[label] += 1
        code = self._find_label(label)
        if code is None:
            self.refuse("label", self._find_label.unknown(label), line)
        return code

    def _bounds(self, start: object, end: object, line: int | None) -> Bounds | None:
        """The bounds in code points, not empty and inside the text; None after a problem was reported."""
        first, past = whole(start), whole(end)
        if first is None or past is None:
            message = _(
                "A span has offsets that are not valid. Expected: two whole numbers that count {units}.",
                self._counted(),
            )
            self.refuse("offsets", message, line)
            return None
        if first >= past:
            message = _(
                "The span {first}-{past} is empty: the start must be before the end, which is exclusive.", first, past
            )
            self.refuse("empty", message, line)
            return None
        if first < 0 or past > self._length:
            message = _(
                "The span {first}-{past} is not inside the text, which has {length} {units}. Check that the text "
                "belongs to the annotations and is unchanged.",
                *(first, past, self._length, self._counted()),
            )
            self.refuse("outside", message, line)
            return None
        if self._units is None:
            return first, past
        begins, ends = self._units.points(first), self._units.points(past)
        if begins is None or ends is None:
            message = _(
                "The span {first}-{past} cuts a character in two. Check that offsets count UTF-16 code units.",
                *(first, past),
            )
            self.refuse("offsets", message, line)
            return None
        return begins, ends

    def _counted(self) -> str:
        return _("UTF-16 code units") if self._counts_units else _("characters (code points)")


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text))


def whole(value: object) -> int | None:
    """A whole number that a file gives as a number or as digits; None for anything else."""
    if type(value) is int:
        return value if abs(value) <= _MOST else None
    if isinstance(value, str):
        return int(value) if _DIGITS.fullmatch(value) else None
    if isinstance(value, float):
        return int(value) if value.is_integer() and abs(value) < _MOST else None
    return None


# How writers of all formats give spans and their attributes, and list what a file can't hold.


ANY_NAME: Final = re.compile(r".+", re.DOTALL)
"""Names of attributes in formats that hold any."""
_YES: Final = "true"


def given_spans(note: OutNote, labels: Mapping[str, str]) -> tuple[list[tuple[Span, str]], list[Loss]]:
    """The spans to write in text order, each with the code to write, and the losses that all formats share.

    Spans have no white space at their ends, and none has the bounds and the code of another.
    """
    given: dict[tuple[int, int, str], Span] = {}
    losses: list[Loss] = []
    for span in sorted(note.spans):
        check_bounds(span, len(note.text))
        code = written_code(span, labels)
        start, end = trim(note.text, span.start, span.end)
        if code is None:
            losses.append(Loss(note.name, span, _(BAD_CODE)))
        elif start == end:
            losses.append(Loss(note.name, span, _("The span contains only white space.")))
        elif (start, end, code) in given:
            losses.append(Loss(note.name, span, _("The span occurs twice and is exported once.")))
        else:
            given[start, end, code] = span
            if (start, end) != (span.start, span.end):
                losses.append(Loss(note.name, span, _("White space at the ends of the span is not exported.")))
                given[start, end, code] = replace(span, start=start, end=end)
    return [(span, code) for (_, _, code), span in given.items()], losses


def attribute_words(
    note: OutNote, span: Span, names: re.Pattern[str], taken: Iterable[str] = ()
) -> tuple[dict[str, str], list[Loss]]:
    """The attributes of a span as words by name: its choice, or “true” if it has no choice; and the loss of others.

    Names must match `names` and not be one of `taken`, in lower case. An empty choice and the choice “true” would be
    read as another value.
    """
    words: dict[str, str] = {}
    lost: list[str] = []
    for name, value in span.attributes:
        word = _YES if value is True else str(value)
        same = word and attribute_value(word) == value and not bad_character(word)
        if same and names.fullmatch(name) and name.lower() not in taken:
            words[name] = word
        else:
            lost.append(name)
    losses = [Loss(note.name, span, _("Attributes are not exported: {names}.", ", ".join(lost)))] if lost else []
    return words, losses


def given_rows(
    note: OutNote, labels: Mapping[str, str], names: re.Pattern[str], taken: Iterable[str] = ()
) -> tuple[list[tuple[Span, str, dict[str, str]]], list[Loss]]:
    """The spans of `given_spans`, each with its attributes as words (`attribute_words`), and the losses of both."""
    rows = []
    spans, losses = given_spans(note, labels)
    for span, code in spans:
        words, lost = attribute_words(note, span, names, taken)
        losses += lost
        rows.append((span, code, words))
    return rows, losses


def attribute_value(word: str) -> str | bool:
    """The value of an attribute that a file gives as a word: True for “true” in any case, else the word itself."""
    return True if word.lower() == _YES else word
