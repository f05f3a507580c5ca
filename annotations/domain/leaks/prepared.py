"""Needles in the form in which the gate looks for them."""

from dataclasses import dataclass

from annotations.domain.leaks.digits import Numbers
from annotations.domain.leaks.needles import Sought

ByWord = dict[str, dict[tuple[int, int], dict[tuple[str, ...], list[Sought]]]]
"""Strings by their longest word that isn't generic, by its place among their words and their number, and by all words.

A text is searched in time that doesn't depend on how many strings share a word.
"""


@dataclass(frozen=True, slots=True)
class Prepared:
    """The needles by their words, and the long numbers in them."""

    by_word: ByWord
    numbers: Numbers
