"""The identifiers that the rules find in a text, of all kinds and languages, without regard to a label set."""

from functools import cache

from models_runtime.backends.rules.backend import RULES
from models_runtime.backends.rules.engine import scan
from models_runtime.backends.rules.kinds import RuleKind
from models_runtime.backends.rules.reading import Tables, read, tables
from models_runtime.backends.rules.rule import Hit


def identifiers(text: str) -> list[Hit]:
    """The rules' hits in a text, in order and without overlaps. Offsets are code points, end-exclusive."""
    return read(text, _all())


def traps(text: str) -> list[Hit]:
    """Text that looks like an identifier and is none, such as eponyms and doses, in order and without overlaps."""
    found: list[Hit] = []
    for hit in sorted(
        (hit for hit in scan(text, _all().known).hits if hit.kind is RuleKind.TRAP),
        key=lambda hit: (hit.start, -hit.end),
    ):
        if not found or found[-1].end <= hit.start:
            found.append(hit)
    return found


@cache
def _all() -> Tables:
    return tables(RULES)
