"""Levenshtein similarity of two spans' texts: the tolerance of 004 (section 4.1)."""

from typing import Final

THRESHOLD: Final = 0.6


def distance(a: str, b: str) -> int:
    """The Levenshtein distance: fewest insertions, deletions and substitutions of single code points.

    Bit-parallel (H. Hyyrö, A Bit-Vector Algorithm for Computing Levenshtein and Damerau Edit Distances, 2003): a column
    of the table is one integer, so that two texts of 10,000 characters take a fraction of a second.
    """
    if a == b:
        return 0
    if not a or not b:
        return len(a) or len(b)
    places: dict[str, int] = {}
    for at, ch in enumerate(a):
        places[ch] = places.get(ch, 0) | 1 << at
    mask, last = (1 << len(a)) - 1, 1 << (len(a) - 1)
    up, down, score = mask, 0, len(a)
    for ch in b:
        same = places.get(ch, 0)
        diagonal = (((same & up) + up) ^ up) | same | down
        rises, falls = down | (mask & ~(diagonal | up)), diagonal & up
        if rises & last:
            score += 1
        elif falls & last:
            score -= 1
        rises = (rises << 1 | 1) & mask
        falls = (falls << 1) & mask
        up = falls | (mask & ~(diagonal | rises))
        down = rises & diagonal
    return score


def similarity(a: str, b: str) -> float:
    """1 minus the distance, in parts of the longer text; 1 for two empty ones."""
    longest = max(len(a), len(b))
    return 1 - distance(a, b) / longest if longest else 1.0


def close(text: str, a: tuple[int, int], b: tuple[int, int], threshold: float = THRESHOLD) -> bool:
    """Whether the texts of two stretches of one note that overlap are similar enough; settled by their ends if it can.

    What only one of them has can be taken away and added: that bounds the distance from above, and the difference in
    length from below. Of two stretches that lie in each other both bounds are the same.
    """
    (a_start, a_end), (b_start, b_end) = a, b
    longest = max(a_end - a_start, b_end - b_start)
    most = abs(a_start - b_start) + abs(a_end - b_end)
    if 1 - most / longest >= threshold:
        return True
    least = abs((a_end - a_start) - (b_end - b_start))
    if least == most or 1 - least / longest < threshold:
        return False
    return similarity(text[a_start:a_end], text[b_start:b_end]) >= threshold
