"""Needles in the form in which the gate looks for them."""

from dataclasses import dataclass

from annotations.domain.leaks.digits import Numbers
from annotations.domain.leaks.needles import Sought


@dataclass(frozen=True, slots=True)
class Prepared:
    """Needles by a word that a text must contain to contain the needle, and the numbers in them.

    The word is the longest one that isn't generic.
    """

    by_word: dict[str, list[Sought]]
    numbers: Numbers
