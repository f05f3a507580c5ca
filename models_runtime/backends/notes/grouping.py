"""Group sentences, to give the network context (sentence grouping factor 1 to 32, Catelli 2021)."""

from collections.abc import Sequence
from typing import Protocol

from annotations.text.segments import sentences
from annotations.text.tokens import Token, covered

# Limit of the tokens in one sequence, however few its sentences.
MOST = 512


class Tokenized(Protocol):
    """A text with its tokens."""

    @property
    def text(self) -> str: ...

    @property
    def tokens(self) -> Sequence[Token]: ...


def groups(note: Tokenized, factor: int, most: int = MOST) -> list[tuple[int, int]]:
    """First and past-the-last token of each group of `factor` sentences, cut after `most` tokens.

    Every token is in exactly one group.
    """
    found: list[tuple[int, int]] = []
    first = 0
    for number, (start, end) in enumerate(sentences(note.text), start=1):
        past = covered(note.tokens, start, end)[1]
        if number % factor == 0 or past - first >= most:
            found += _cut(first, past, most)
            first = past
    return found + _cut(first, len(note.tokens), most)


def _cut(first: int, past: int, most: int) -> list[tuple[int, int]]:
    return [(at, min(at + most, past)) for at in range(first, past, most)]
