"""Split a note into pieces of at most ω words at the ends of sentences and lines (Singh et al. 2025, section A.4)."""

import re
from bisect import bisect_left
from typing import Final

from annotations.text.segments import sentences

# A longer run without white space counts as several words.
_WORD: Final = re.compile(r"\S{1,100}")
OVERLAP: Final = 16
"""Words that two pieces of a long sentence share by default, so that an entity at the cut is complete in one piece."""

Piece = tuple[int, int]


def chunks(text: str, words: int, overlap: int = OVERLAP) -> list[Piece]:
    """Start and end of each piece (code points), in order. They cover everything but white space between sentences.

    `overlap`: the most words that two pieces of a sentence share.
    """
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
            found += _cut(here, words, min(overlap, words // 4))
            open_words = 0
    return found


def overlapping(text: str, words: int, overlap: int) -> list[Piece]:
    """Pieces of at most `words` words, as of `chunks`, that each begin with the last `overlap` words of the one before.

    So a mention that the end of a piece cuts is complete in the next one (Singh et al. 2025, section A.4.1). `overlap`
    is less than `words`.
    """
    starts = [match.start() for one in sentences(text) for match in _WORD.finditer(text, *one)]
    return [
        (starts[max(0, bisect_left(starts, start) - overlap)], end)
        for start, end in chunks(text, words - overlap, overlap=0)
    ]


def _cut(here: list[Piece], words: int, overlap: int) -> list[Piece]:
    """Overlapping pieces of a sentence that is too long."""
    step = words - overlap
    past = max(len(here) - overlap, 1)
    return [(here[at][0], here[min(at + words, len(here)) - 1][1]) for at in range(0, past, step)]
