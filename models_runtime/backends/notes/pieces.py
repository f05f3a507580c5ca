"""Stretches of a note that are read as one sequence each."""

from collections.abc import Iterator
from typing import Final

from models_runtime.backends.notes.note import Note

# Whole notes are one sequence; longer ones are cut at line ends, else anywhere, so that a megabyte needs no gigabyte.
MOST: Final = 2000


def pieces(note: Note, most: int = MOST) -> Iterator[tuple[int, int]]:
    """The half-open stretches of at most so many tokens that are tagged as one sequence each."""
    first = 0
    for start, past in note.edges:
        if past - first > most and start > first:
            yield first, start
            first = start
        while past - first > most:
            yield first, first + most
            first += most
    if first < len(note.tokens):
        yield first, len(note.tokens)
