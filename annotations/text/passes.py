"""The pass of a language model in which a suggestion was found, as the suggestion's source names it."""

import re
from typing import Final

_PASS: Final = re.compile(r" pass ([1-9])$")


def in_pass(source: str, number: int) -> str:
    """The source of a suggestion that was found in a pass. `number` counts from 1 to 9."""
    return f"{source} pass {number}"


def pass_of(source: str) -> int | None:
    """The number of the pass that a source names; None if the suggestion is not from a run with passes."""
    found = _PASS.search(source)
    return int(found[1]) if found else None
