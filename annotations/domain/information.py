"""How much a reviewer's decisions on a note are expected to tell, in bits, from its proposals' confidences.

A proposal that is right with probability p tells H(p) = -p log2 p - (1-p) log2 (1-p). A string counts once in a note,
and the less, the more often it was decided on before (diversity): what has been said of it is known.
"""

from collections.abc import Iterable, Mapping
from math import log2

String = tuple[int, int]
"""String key and label id."""


def bits(confidence: float | None) -> float:
    """H of a confidence; one where there is none, since nothing is known."""
    if confidence is None:
        return 1.0
    if confidence <= 0.0 or confidence >= 1.0:
        return 0.0
    return -confidence * log2(confidence) - (1 - confidence) * log2(1 - confidence)


def expected_bits(
    proposals: Iterable[tuple[String, float | None]], decided: Mapping[String, int] | None = None
) -> float:
    """Of a note's proposals; `decided` is how often each string was decided on. More decisions never make it more."""
    best: dict[String, float] = {}
    for string, confidence in proposals:
        best[string] = max(best.get(string, 0.0), bits(confidence))
    known = decided or {}
    return sum(most / (1 + known.get(string, 0)) for string, most in best.items())
