"""A rule: the words that wake it, and what it does where it is woken.

A note is read once, token by token; a rule is tried only where one of its trigger words stands. Patterns are therefore
anchored, look a bounded stretch ahead and behind, and repeat without ambiguity, so that time grows with length alone.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from models_runtime.backends.rules.kinds import Kind

CODE_TRIGGER: Final = "?code"
"""Trigger for any word of six letters: an Italian tax code begins so."""

Found = tuple[int, int, Kind]
"""Start, end (code points, end-exclusive) and kind."""

Finder = Callable[[str, int, int], Iterable[Found]]
"""Given the text and the place of the trigger word, yields what is found there."""

DIGITS: Final = tuple(f"#{length}" for length in range(10))
"""Triggers for a run of ASCII digits by its length; the last one stands for 9 digits and more."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. `confidence` holds where no data says better (`data/confidences.json`).

    `strong` evidence (a field, a title, a checksum) counts even inside an eponym or a lab value, and names found by it
    are remembered for the whole note. Of overlapping finds the higher `rank` wins, then the longer one.
    """

    id: str
    triggers: frozenset[str]
    find: Finder
    confidence: float
    rank: int = 50
    strong: bool = False
    capital: bool = False
    """Whether only a trigger word with a capital wakes it."""
    languages: frozenset[str] = frozenset()
    """The languages it is for; none: all."""


@dataclass(frozen=True, slots=True)
class Hit:
    """What a rule found, before overlaps are settled."""

    start: int
    end: int
    kind: Kind
    rule: Rule


def words(text: str) -> frozenset[str]:
    """Trigger words, written with blanks between them."""
    return frozenset(text.split())


def pattern(expression: str, *, check: Callable[[re.Match[str]], bool] | None = None, **groups: Kind) -> Finder:
    """A finder that matches an expression at the trigger word; each group named in `groups` is found as its kind."""
    compiled = re.compile(expression)

    def find(text: str, start: int, end: int) -> Iterable[Found]:
        match = compiled.match(text, start)
        if match is None or (check is not None and not check(match)):
            return ()
        return [(*match.span(group), kind) for group, kind in groups.items() if match.start(group) < match.end(group)]

    return find


def nothing(text: str, start: int, end: int) -> Iterable[Found]:
    """The finder of a rule that wakes at no word: what was found elsewhere in the note wakes it."""
    return ()
