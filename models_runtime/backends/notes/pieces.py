"""Split a note into sequences of a bounded number of tokens."""

from collections.abc import Iterator, Sequence
from typing import Final

from annotations.text.spans import Bounds
from annotations.text.tokens import covered
from models_runtime.backends.notes.note import Note

# A longer note is cut at line ends where possible, so that memory stays bounded.
MOST: Final = 2000


def pieces(note: Note, most: int = MOST) -> Iterator[tuple[int, int]]:
    """First and past-the-last token of each sequence of at most `most` tokens."""
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


def sure_pieces(note: Note, sure: Sequence[Bounds], most: int = MOST) -> Iterator[tuple[int, int]]:
    """First and past-the-last token of each sequence of at most `most` tokens in the stretches `sure` of the text."""
    for start, end in sure:
        first, past = covered(note.tokens, start, end)
        for at in range(first, past, most):
            yield at, min(at + most, past)
