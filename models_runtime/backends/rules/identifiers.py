"""The identifiers that the rules find in a text, of all kinds and languages, without regard to a label set."""

from functools import cache

from models_runtime.backends.rules.backend import RULES
from models_runtime.backends.rules.engine import Table, resolve_overlaps, scan, table
from models_runtime.backends.rules.memory import remember
from models_runtime.backends.rules.rule import Hit


def identifiers(text: str) -> list[Hit]:
    """The rules' hits in a text, in order and without overlaps. Offsets are code points, end-exclusive."""
    scanned = scan(text, _all())
    kept = resolve_overlaps(scanned.hits, len(text))
    return sorted(kept + remember(text, scanned, kept), key=lambda hit: hit.start)


@cache
def _all() -> Table:
    return table(RULES)
