"""A rule: its trigger words, and the function that looks for spans at a trigger word.

The engine goes through a note once, token by token, and tries a rule only at its trigger words. Patterns are anchored,
look a bounded distance ahead and behind, and repeat without ambiguity, so the time is linear in the note's length.
"""

import re
import tomllib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final

from models_runtime.backends.rules.gazetteers import RuleKind as RuleKind
from models_runtime.backends.rules.gazetteers import groups
from models_runtime.backends.rules.phrases import LETTER, UP, before

CODE_TRIGGER: Final = "?code"
"""Trigger for every word of six letters, because an Italian tax code begins with six letters."""

Found = tuple[int, int, RuleKind]
"""Start and end (code points, end-exclusive), and kind."""

Finder = Callable[[str, int, int], Iterable[Found]]
"""Takes the text, and start and end of the trigger word; yields what it finds there."""

DIGITS: Final = tuple(f"#{length}" for length in range(10))
"""Triggers for a run of ASCII digits, by its length. The last trigger stands for 9 digits and more."""


@dataclass(frozen=True, slots=True, eq=False)
class Rule:
    """One rule.

    `triggers`: the words at which the rule is tried; by default those in the group of `words.txt` with the rule's id.
    `capital`: only words with a capital first letter trigger it. `language`: the only one that it is for, if any.

    A `strong` rule rests on a field, a title or a checksum. Its hits count even inside an eponym or a lab value, and
    the names that it finds are searched in the whole note. Of overlapping hits the one with the higher `rank` stays,
    then the longer one.
    """

    id: str
    find: Finder
    rank: int = 50
    triggers: Collection[str] = ()
    strong: bool = False
    capital: bool = False
    language: str = ""


def strong(id: str, find: Finder, rank: int, triggers: Collection[str] = (), **more: Any) -> Rule:
    """A strong rule."""
    return Rule(id, find, rank, triggers, strong=True, **more)


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


_PROPERTIES: Final = frozenset({"rank", "triggers", "strong", "capital", "language"})


@cache
def declarations() -> Mapping[str, Mapping[str, Mapping[str, Any]]]:
    """The tables of `rules.toml`, with their rows by id."""
    text = (Path(__file__).with_name("data") / "rules.toml").read_text(encoding="utf-8")
    return tomllib.loads(text.replace(r"\p{Lu}", UP).replace(r"\p{L}", LETTER))


def declared(name: str, make: Callable[..., Finder], **common: Any) -> Iterator[Rule]:
    """The rules of a table of `rules.toml`. `make` gets all of a row that is no property of the rule.

    `common`: the properties that the rules of the table share.
    """
    for id, row in declarations()[name].items():
        given = {key: RuleKind(row[key]) if key == "kind" else row[key] for key in row if key not in _PROPERTIES}
        yield Rule(id, make(**given), **common | {key: row[key] for key in row if key in _PROPERTIES})


def shape(expression: str, kinds: Mapping[str, str], limits: Sequence[int] = (), behind: str = "") -> Finder:
    """A finder that matches an expression at the trigger word. `kinds`: the kind of each named group.

    `limits`: the least and the greatest number that the group `number` may have. `behind` must match in the line's end
    before the trigger word, in lower case.
    """
    leading = re.compile(behind)

    def check(match: re.Match[str]) -> bool:
        fits = not limits or limits[0] <= int(match["number"]) <= limits[1]
        return fits and leading.search(before(match.string, match.start())) is not None

    return pattern(expression, check=check, **{name: RuleKind(kind) for name, kind in kinds.items()})


def nothing(text: str, start: int, end: int) -> Iterable[Found]:
    """The finder of a rule without trigger words, whose hits come from other hits in the note."""
    return ()


# Go through a note once: try rules at their trigger words, then resolve overlaps.


TOKEN: Final = re.compile(r"[0-9]+|[^\W\d_]+(?:[\u0300-\u036f]+[^\W\d_]*)*|[@+(]")
_LONGEST: Final = 40
"""A word of more letters triggers no rule."""
_MOST_REMEMBERED: Final = 1 << 16


class TriggerTable(dict[str, tuple[tuple[Rule, ...], str]]):
    """The rules that a word triggers, and the word in lower case if it begins with a capital, else an empty string.

    Filled on demand.
    """

    def __init__(self, rules: Iterable[Rule]) -> None:
        self._anyhow: dict[str, tuple[Rule, ...]] = {}
        self._capital: dict[str, tuple[Rule, ...]] = {}
        for rule in rules:
            by_word = self._capital if rule.capital else self._anyhow
            for trigger in set(rule.triggers or groups().get(rule.id, ())):
                by_word[trigger] = (*by_word.get(trigger, ()), rule)

    def __missing__(self, word: str) -> tuple[tuple[Rule, ...], str]:
        found = self._look_up(word)
        if len(self) < _MOST_REMEMBERED and len(word) <= _LONGEST:
            self[word] = found
        return found

    def _look_up(self, word: str) -> tuple[tuple[Rule, ...], str]:
        if word.isdigit():
            return self._anyhow.get(DIGITS[min(len(word), 9)], ()), ""
        if len(word) > _LONGEST:
            return (), ""
        lower = word.lower()
        triggered, capital = self._anyhow.get(lower, ()), word[0] != lower[0]
        if capital:
            triggered += self._capital.get(lower, ())
        if word != lower and len(word) == 6:
            triggered += self._anyhow.get(CODE_TRIGGER, ())
        return triggered, lower if capital else ""


@dataclass(slots=True)
class Scan:
    """All hits of a note, overlaps included, and its capitalized words (lower-cased, start, end)."""

    hits: list[Hit] = field(default_factory=list)
    capitals: list[tuple[str, int, int]] = field(default_factory=list)


def scan(text: str, rules: TriggerTable) -> Scan:
    """All hits of the rules in a text."""
    found = Scan()
    for token in TOKEN.finditer(text):
        triggered, capital = rules[token[0]]
        if capital:
            found.capitals.append((capital, *token.span()))
        if triggered:
            start, end = token.span()
            for rule in triggered:
                for at, stop, kind in rule.find(text, start, end):
                    found.hits.append(Hit(at, stop, kind, rule))
    return found


def resolve_overlaps(hits: Sequence[Hit], length: int) -> list[Hit]:
    """The hits that remain when overlaps are resolved, in order of their start.

    Of overlapping hits the one with the higher rank stays, then the longer one, then the earlier one. Traps remove the
    hits of rules that are not strong, and are removed themselves.
    """
    taken = bytearray(length)
    trapped = bytearray(length)
    for hit in hits:
        if hit.kind is RuleKind.TRAP:
            trapped[hit.start : hit.end] = b"\1" * (hit.end - hit.start)
    kept = []
    for hit in sorted(hits, key=lambda h: (-h.rule.rank, h.start - h.end, h.start)):
        if hit.kind is RuleKind.TRAP or taken.find(1, hit.start, hit.end) >= 0:
            continue
        if not hit.rule.strong and trapped.find(1, hit.start, hit.end) >= 0:
            continue
        taken[hit.start : hit.end] = b"\1" * (hit.end - hit.start)
        kept.append(hit)
    kept.sort(key=lambda h: h.start)
    return kept
