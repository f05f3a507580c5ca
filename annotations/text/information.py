"""Expected information, in bits, of reviewing a note, from the confidences of its suggestions.

A suggestion that is right with probability p gives H(p) = -p log2 p - (1-p) log2 (1-p). A string counts once per note,
and counts less the more decisions on it there are already, because little new is learned from it.
"""

from collections.abc import Iterable, Mapping
from math import log2

String = tuple[int, int]
"""String key and label id."""


def bits(confidence: float | None) -> float:
    """H of a confidence; 1 without a confidence, since nothing is known then."""
    if confidence is None:
        return 1.0
    if confidence <= 0.0 or confidence >= 1.0:
        return 0.0
    return -confidence * log2(confidence) - (1 - confidence) * log2(1 - confidence)


def expected_bits(
    suggestions: Iterable[tuple[String, float | None]], decided: Mapping[String, int] | None = None
) -> float:
    """The expected bits of a note's suggestions; `decided` counts earlier decisions on each string."""
    best: dict[String, float] = {}
    for string, confidence in suggestions:
        best[string] = max(best.get(string, 0.0), bits(confidence))
    known = decided or {}
    return sum(most / (1 + known.get(string, 0)) for string, most in best.items())
