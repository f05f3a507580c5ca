"""A note in pieces of at most ω words, cut where sentences and lines end (004, A.4). Offsets are code points."""

import re
from typing import Final

from annotations.domain.sentences import sentences

# A run without white space counts as so many words of this length.
_WORD: Final = re.compile(r"\S{1,100}")
OVERLAP: Final = 16
"""So many words at most stand in both pieces of a sentence that is too long: an entity at the cut is whole in one."""

Piece = tuple[int, int]


def chunks(text: str, words: int) -> list[Piece]:
    """Start and end of each piece, in order; together they hold every character but white space between sentences."""
    found: list[Piece] = []
    open_words = 0
    for start, end in sentences(text):
        here = [match.span() for match in _WORD.finditer(text, start, end)]
        if open_words and open_words + len(here) <= words:
            found[-1] = (found[-1][0], end)
            open_words += len(here)
        elif len(here) <= words:
            found.append((start, end))
            open_words = len(here)
        else:
            found += _cut(here, words)
            open_words = 0
    return found


def _cut(here: list[Piece], words: int) -> list[Piece]:
    """A sentence that is too long, in overlapping pieces."""
    step = words - min(OVERLAP, words // 4)
    past = max(len(here) - (words - step), 1)
    return [(here[at][0], here[min(at + words, len(here)) - 1][1]) for at in range(0, past, step)]
