"""One reading of a note: tokens wake rules, overlaps are settled, names that were found are looked for everywhere."""

import re
from collections.abc import Iterable, Sequence
from typing import Final

from models_runtime.backends.rules.kinds import Kind
from models_runtime.backends.rules.rule import CODE_TRIGGER, DIGITS, Hit, Rule

TOKEN: Final = re.compile(r"([0-9]+)|[^\W\d_]+(?:[\u0300-\u036f]+[^\W\d_]*)*|[@+(]")
_LONGEST: Final = 40

Table = dict[str, tuple[Rule, ...]]


def table(rules: Iterable[Rule]) -> Table:
    """The rules by trigger word."""
    found: dict[str, list[Rule]] = {}
    for rule in rules:
        for trigger in rule.triggers:
            found.setdefault(trigger, []).append(rule)
    return {trigger: tuple(woken) for trigger, woken in found.items()}


def scan(text: str, rules: Table) -> list[Hit]:
    """Everything that the rules find, overlaps and all."""
    hits: list[Hit] = []
    get = rules.get
    coded = get(CODE_TRIGGER, ())
    for token in TOKEN.finditer(text):
        start, end = token.span()
        if token.lastindex:
            woken = get(DIGITS[min(end - start, 9)])
        elif end - start > _LONGEST:
            continue
        else:
            woken = get(token[0].lower())
            if end - start == 6 and coded:
                woken = (*(woken or ()), *coded)
        if not woken:
            continue
        for rule in woken:
            hits += [Hit(at, stop, kind, rule) for at, stop, kind in rule.find(text, start, end)]
    return hits


def settle(hits: Sequence[Hit], length: int) -> list[Hit]:
    """The hits that stay, none overlapping another, in order: first the higher rank, then the longer, then the earlier.

    Traps keep weak hits away and are gone afterwards.
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
