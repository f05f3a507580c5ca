"""Annotations that a refiner proposes to remove. The feature that refines registers how to read them."""

from collections.abc import Callable
from typing import NamedTuple

from annotations.models import Author, Document


class ProposedRemoval(NamedTuple):
    """An annotation that a refiner removed. `number` is unique in the note. Offsets in code points, end-exclusive.

    `origin` is the author who annotated it, as “kind:name”. `reason` is the refiner's.
    """

    number: int
    start: int
    end: int
    label_id: int
    reason: str
    origin: str


Reader = Callable[[Author, Document], list[ProposedRemoval]]
_READERS: list[Reader] = []


def register(reader: Reader) -> None:
    """Register a function that returns what a refiner removed from a note, in the order of the text."""
    _READERS.append(reader)


def removals_of(author: Author, document: Document) -> list[ProposedRemoval]:
    """Return the annotations that this author proposes to remove from the note. Only refiners propose any."""
    if author.kind != Author.Kind.REFINED:
        return []
    return [one for read in _READERS for one in read(author, document)]
