"""A rule: its trigger words, and the function that looks for spans at a trigger word.

The engine goes through a note once, token by token, and tries a rule only at its trigger words. Patterns are anchored,
look a bounded distance ahead and behind, and repeat without ambiguity, so the time is linear in the note's length.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from models_runtime.backends.rules.kinds import RuleKind

CODE_TRIGGER: Final = "?code"
"""Trigger for every word of six letters, because an Italian tax code begins with six letters."""

Found = tuple[int, int, RuleKind]
"""Start and end (code points, end-exclusive), and kind."""

Finder = Callable[[str, int, int], Iterable[Found]]
"""Takes the text, and start and end of the trigger word; yields what it finds there."""

DIGITS: Final = tuple(f"#{length}" for length in range(10))
"""Triggers for a run of ASCII digits, by its length. The last trigger stands for 9 digits and more."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. `confidence` is used where `data/confidences.json` has no measured value.

    A `strong` rule rests on a field, a title or a checksum. Its hits count even inside an eponym or a lab value, and
    the names that it finds are searched in the whole note. Of overlapping hits the one with the higher `rank` stays,
    then the longer one.
    """

    id: str
    triggers: frozenset[str]
    find: Finder
    confidence: float
    rank: int = 50
    strong: bool = False
    capital: bool = False
    """Whether the rule is tried only at trigger words with a capital first letter."""
    languages: frozenset[str] = frozenset()
    """The languages that the rule is for. Empty: all languages."""


@dataclass(frozen=True, slots=True)
class Hit:
    """What a rule found, before overlaps are resolved."""

    start: int
    end: int
    kind: RuleKind
    rule: Rule


def words(text: str) -> frozenset[str]:
    """The trigger words of a string, separated by blanks."""
    return frozenset(text.split())


def pattern(expression: str, *, check: Callable[[re.Match[str]], bool] | None = None, **groups: RuleKind) -> Finder:
    """A finder that matches an expression at the trigger word. `groups` gives the kind of each named group."""
    compiled = re.compile(expression)

    def find(text: str, start: int, end: int) -> Iterable[Found]:
        match = compiled.match(text, start)
        if match is None or (check is not None and not check(match)):
            return ()
        return [(*match.span(group), kind) for group, kind in groups.items() if match.start(group) < match.end(group)]

    return find


def nothing(text: str, start: int, end: int) -> Iterable[Found]:
    """The finder of a rule without trigger words, whose hits come from other hits in the note."""
    return ()
