"""Go through a note once: try rules at their trigger words, then resolve overlaps."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from models_runtime.backends.rules.kinds import Kind
from models_runtime.backends.rules.rule import CODE_TRIGGER, DIGITS, Hit, Rule

TOKEN: Final = re.compile(r"([0-9]+)|[^\W\d_]+(?:[\u0300-\u036f]+[^\W\d_]*)*|[@+(]")
_LONGEST: Final = 40


@dataclass(frozen=True, slots=True)
class Table:
    """Rules by trigger word. `plain`: tried however the word is written; `capital`: only with a capital letter."""

    plain: dict[str, tuple[Rule, ...]]
    capital: dict[str, tuple[Rule, ...]]


@dataclass(slots=True)
class Scan:
    """All hits of a note, overlaps included, and its capitalized words (lower-cased, start, end)."""

    hits: list[Hit] = field(default_factory=list)
    capitals: list[tuple[str, int, int]] = field(default_factory=list)


def table(rules: Iterable[Rule]) -> Table:
    """Index the rules by trigger word."""
    plain: dict[str, list[Rule]] = {}
    capital: dict[str, list[Rule]] = {}
    for rule in rules:
        for trigger in rule.triggers:
            (capital if rule.capital else plain).setdefault(trigger, []).append(rule)
    return Table(
        {trigger: tuple(triggered) for trigger, triggered in plain.items()},
        {trigger: tuple(triggered) for trigger, triggered in capital.items()},
    )


def scan(text: str, rules: Table) -> Scan:
    """All hits of the rules in a text."""
    found = Scan()
    plain, capital = rules.plain.get, rules.capital.get
    for_codes = plain(CODE_TRIGGER, ())
    nothing: tuple[Rule, ...] = ()
    for token in TOKEN.finditer(text):
        start, end = token.span()
        if token.lastindex:
            triggered = plain(DIGITS[min(end - start, 9)], nothing)
        elif end - start > _LONGEST:
            continue
        else:
            word = token[0]
            lower = word.lower()
            triggered = plain(lower, nothing)
            if word != lower:
                if word[0] != lower[0]:
                    found.capitals.append((lower, start, end))
                    triggered += capital(lower, nothing)
                if end - start == 6:
                    triggered += for_codes
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
        if hit.kind is Kind.TRAP:
            trapped[hit.start : hit.end] = b"\1" * (hit.end - hit.start)
    kept = []
    for hit in sorted(hits, key=lambda h: (-h.rule.rank, h.start - h.end, h.start)):
        if hit.kind is Kind.TRAP or taken.find(1, hit.start, hit.end) >= 0:
            continue
        if not hit.rule.strong and trapped.find(1, hit.start, hit.end) >= 0:
            continue
        taken[hit.start : hit.end] = b"\1" * (hit.end - hit.start)
        kept.append(hit)
    kept.sort(key=lambda h: h.start)
    return kept
