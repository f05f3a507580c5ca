"""What rules find in one text, with offsets in the text as it is written."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Final, NamedTuple

from models_runtime.backends.rules import abroad as other_languages
from models_runtime.backends.rules import codes, contacts, numerals
from models_runtime.backends.rules.broken import mended
from models_runtime.backends.rules.engine import Table, resolve_overlaps, scan, table
from models_runtime.backends.rules.foreign import is_foreign
from models_runtime.backends.rules.kinds import Kind
from models_runtime.backends.rules.memory import remember
from models_runtime.backends.rules.recasing import recased
from models_runtime.backends.rules.rule import Hit, Rule

_ABROAD: Final = frozenset(rule.id for rule in other_languages.RULES)
# Contacts, numbers with check digits, dates in figures and long numbers look alike in all languages.
_ANYWHERE: Final = _ABROAD.union(
    (rule.id for family in (codes, contacts, numerals) for rule in family.RULES), ("date.figures", "id.form")
)


class Tables(NamedTuple):
    """The rules for texts in the languages that they know, and those for texts in other languages."""

    known: Table
    other: Table


def tables(rules: Iterable[Rule]) -> Tables:
    """Index the rules."""
    rules = tuple(rules)
    return Tables(
        table(rule for rule in rules if rule.id not in _ABROAD), table(rule for rule in rules if rule.id in _ANYWHERE)
    )


def read(text: str, rules: Tables, unwanted: frozenset[Kind] = frozenset(), *, abroad: bool = False) -> list[Hit]:
    """The rules' hits in a text, in order and without overlaps, except those of `unwanted` kinds.

    Offsets are code points, end-exclusive. In other languages than the rules', only what has a shape is found.
    `abroad`: the text is in one of them, whatever its words are.
    """
    whole = mended(text)
    foreign = abroad or is_foreign(whole.text)
    scanned_text = whole.text if foreign else recased(whole.text)
    scanned = scan(scanned_text, rules.other if foreign else rules.known)
    kept = resolve_overlaps([hit for hit in scanned.hits if hit.kind not in unwanted], len(scanned_text))
    kept = sorted(kept + remember(scanned_text, scanned, kept), key=lambda hit: hit.start)
    if not whole.at:
        return kept
    bounds = (whole.bounds(hit.start, hit.end) for hit in kept)
    return [replace(hit, start=start, end=end) for hit, (start, end) in zip(kept, bounds, strict=True)]
