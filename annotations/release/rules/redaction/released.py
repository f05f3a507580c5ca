"""A note's text before and after a release, and the places that correspond.

A release makes millions of mentions and pieces. A named tuple is made in a quarter of the time of a frozen dataclass.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import Final, NamedTuple

from annotations.release.rules.redaction.policy import PEOPLE, Action, IdentifierType
from annotations.text.attributes import Attributes
from annotations.text.search import folded, word_groups, words
from annotations.text.spans import Bounds, Span, replaced


class Mention(NamedTuple):
    """An identifier in a note: `text` is the note's text from `start` to `end`."""

    start: int
    end: int
    label: str
    kind: IdentifierType
    text: str


class ReplacedPiece(NamedTuple):
    """A stretch that a release replaced (or kept by a rule): its bounds in the original and in the released text."""

    start: int
    end: int
    new_start: int
    new_end: int
    label: str
    action: Action


Pieces = Sequence[ReplacedPiece]


@dataclass(frozen=True, slots=True)
class RedactedText:
    """A released text. `pieces` are in order and don't overlap; between them, both texts are equal."""

    text: str
    pieces: Pieces


BARRIER: Final = "\0"


def blanked(text: str, pieces: Iterable[ReplacedPiece]) -> str:
    """A released text with a barrier in place of each character of these pieces, which are in order."""
    bounds = ((piece.new_start, piece.new_end) for piece in pieces)
    return replaced(text, ((start, end, BARRIER * (end - start)) for start, end in bounds))


@dataclass(frozen=True, slots=True)
class OperatorContext:
    """What operators need beyond the mention, for one note: nothing here is shared with another patient.

    `language`: en, es, it; empty if unknown. `days`: the secret offset of this patient's dates, never 0. `month_first`:
    whether dates in figures have the month first, as other dates tell; None if nothing tells it. `latest_year`: the
    latest year in figures in the notes of this patient, whether or not somebody labeled it. `hashed`: a keyed hash in a
    few hexadecimal digits, the same for equal folded texts of a kind in the project. `number`: that of the mentioned
    entity among those with its label in this note, from 1. `surrogate`: what to write in place of the mention.
    """

    language: str
    days: int
    month_first: bool | None
    latest_year: int | None
    hashed: Callable[[Mention], str]
    number: Callable[[Mention], int]
    surrogate: Callable[[Mention], str]


# Places in a note and in its released text that correspond, in both directions.
#
# Outside the pieces the map is exact. Inside a piece no place corresponds to another, so a start goes to the start of
# the piece, and an end to its end. Offsets are code points, end-exclusive.


_start: Callable[[ReplacedPiece], int] = attrgetter("start")
_new_start: Callable[[ReplacedPiece], int] = attrgetter("new_start")


def span_to_released(pieces: Pieces, start: int, end: int) -> Bounds:
    """The bounds in the released text of a span of the note. A span that touches a piece's inside covers all of it.

    The result is empty if everything in the span was removed.
    """
    new_start = _moved(pieces, start, back=False, end=False)
    return new_start, max(new_start, _moved(pieces, end, back=False, end=True))


def span_to_original(pieces: Pieces, start: int, end: int) -> Bounds:
    """The bounds in the note of a span of the released text. A span that touches a piece's inside covers all of it.

    Where text was removed, several places of the note correspond to an empty span: it is the one after that text.
    """
    return _moved(pieces, start, back=True, end=False), _moved(pieces, end, back=True, end=start < end)


def piece_around(pieces: Pieces, start: int, end: int) -> ReplacedPiece | None:
    """The piece that has all of this span of the released text; None if there is none."""
    at = bisect_right(pieces, start, key=_new_start) - 1
    return pieces[at] if at >= 0 and end <= pieces[at].new_end else None


def _moved(pieces: Pieces, offset: int, *, back: bool, end: bool) -> int:
    """The place of an offset in the released text or, `back`, in the note; inside a piece, its start or its end.

    The end of a span belongs to the character before it.
    """
    at = bisect_right(pieces, offset - end, key=_new_start if back else _start) - 1
    if at < 0:
        return offset
    bounds, new_bounds = pieces[at][:2], pieces[at][2:4]
    if back:
        bounds, new_bounds = new_bounds, bounds
    inside = offset <= bounds[1] if end else offset < bounds[1]
    return new_bounds[end] if inside else offset - bounds[1] + new_bounds[1]


# The attributes of spans in a released text.


def attributes_of_pieces(pieces: Pieces, spans: Iterable[Span]) -> list[Attributes]:
    """The attributes of each piece: those of the longest, then earliest span there that has the piece's label.

    `pieces` are those of one note, in order; `spans` are the annotations of the original.
    """
    ends = [piece.end for piece in pieces]
    found: list[Span | None] = [None] * len(pieces)
    for span in sorted(spans):
        at = bisect_right(ends, span.start)
        while at < len(pieces) and pieces[at].start < span.end:
            before = found[at]
            longer = before is None or span.end - span.start > before.end - before.start
            if longer and span.label == pieces[at].label:
                found[at] = span
            at += 1
    return [span.attributes if span else () for span in found]


# Numbers of entities for placeholders such as "[NAME 1]": equal entities of a note have the same number.


# Titles don't tell people apart. They are compared after folding.
TITLES: Final = frozenset(word_groups(Path(__file__).with_name("data") / "words.txt")["titles"])


def numbered(mentions: Iterable[Mention]) -> dict[Bounds, int]:
    """The number of each mention's entity among those with its label, from 1, by the bounds of the mention.

    Mentions of a label are one entity if their folded texts are equal. People are also one entity if one name is part
    of a longer one: "Wilson", "A. Wilson" and "Dr. Adam Wilson" have the same number. A name that is part of several
    longer ones gets the number of the first of them. Numbers follow the order of the note.
    """
    by_label: dict[str, list[Mention]] = defaultdict(list)
    for mention in sorted(mentions, key=lambda each: (each.start, each.end)):
        by_label[mention.label].append(mention)
    return {
        (mention.start, mention.end): number
        for same in by_label.values()
        for mention, number in zip(same, _numbers(same), strict=True)
    }


def _numbers(mentions: list[Mention]) -> list[int]:
    names = [_name(mention) for mention in mentions]
    owners = _owners(dict.fromkeys(name for mention, name in zip(mentions, names, strict=True)
                                   if mention.kind in PEOPLE))  # fmt: skip
    numbers: dict[tuple[str, ...], int] = {}
    return [numbers.setdefault(owners.get(name, name), len(numbers) + 1) for name in names]


def _owners(names: Iterable[tuple[str, ...]]) -> dict[tuple[str, ...], tuple[str, ...]]:
    """For each name, the longest name that it is a part of: the first of them in the order of the note."""
    order = list(names)
    owners: dict[tuple[str, ...], tuple[str, ...]] = {}
    longer: list[tuple[str, ...]] = []
    for name in sorted(order, key=lambda each: -len(each)):  # stable: names of equal length stay in the note's order
        owner = next((whole for whole in longer if _is_part(name, whole)), name)
        owners[name] = owner
        if owner is name:
            longer.append(name)
    return owners


def _is_part(name: tuple[str, ...], whole: tuple[str, ...]) -> bool:
    """Whether all words of a name are in the longer name. An initial may stand for a word, but not for all of them."""
    left = list(whole)
    full = 0
    for word in sorted(name, key=len, reverse=True):
        found = next((each for each in left if each == word or (len(word) == 1 and each[0] == word)), None)
        if found is None:
            return False
        left.remove(found)
        full += len(word) > 1
    return full > 0


def _name(mention: Mention) -> tuple[str, ...]:
    """The words of the mention, for people without titles; of other mentions the folded text without extra space."""
    if mention.kind not in PEOPLE:
        return tuple(folded(mention.text).split())
    found = words(mention.text)
    return tuple(word for word in found if word not in TITLES) or found
