"""A note as words and numbers, with an index of where each stands."""

import re
from functools import cached_property
from typing import Final

from annotations.release.rules.known.folding import fold
from annotations.text.search import DROPPED

_TOKEN: Final = re.compile(rf"[^\W\d_]+(?:[{DROPPED}]+[^\W\d_]*)*|\d+")


class FoldedText:
    """The words (runs of letters) and numbers (runs of digits) of a text, and the folded form of each.

    `starts` and `ends` are code points of the text, end-exclusive.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        bounds = [match.span() for match in _TOKEN.finditer(text)]
        self.starts = [start for start, _end in bounds]
        self.ends = [end for _start, end in bounds]
        self.words = [fold(text[start:end]) for start, end in bounds]
        self.places: dict[str, list[int]] = {}
        places = self.places
        for at, word in enumerate(self.words):
            if word in places:
                places[word].append(at)
            else:
                places[word] = [at]

    def gap(self, at: int) -> str:
        """The text between token `at` and the next one."""
        return self.text[self.ends[at] : self.starts[at + 1]]

    def first(self, at: int) -> str:
        """The first character of a token, as it is written."""
        return self.text[self.starts[at]]

    def capital(self, at: int) -> bool:
        """Whether a word begins with a capital letter."""
        return self.text[self.starts[at]].isupper()

    @cached_property
    def heads(self) -> dict[str, list[str]]:
        """The distinct words of four letters or more by their first two letters."""
        return self._by(slice(0, 2))

    @cached_property
    def tails(self) -> dict[str, list[str]]:
        """The distinct words of four letters or more by their last two letters."""
        return self._by(slice(-2, None))

    def _by(self, part: slice) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for word in self.places:
            if len(word) >= 4 and word[0] > "9":
                found.setdefault(word[part], []).append(word)
        return found


def lone_capital(note: FoldedText, at: int) -> bool:
    """Whether a word is capitalized where an ordinary one is not: after a word in lower case, in the same sentence."""
    start, end = note.starts[at], note.ends[at]
    if at == 0 or not note.text[start].isupper() or note.text[start:end].isupper():
        return False
    if note.gap(at - 1) != " " or not note.first(at - 1).islower():
        return False
    following = note.gap(at) if at + 1 < len(note.words) else ""
    return not (following == " " and note.capital(at + 1))
