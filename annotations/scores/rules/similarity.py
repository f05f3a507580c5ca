"""Levenshtein similarity of two spans' texts (Singh et al. 2025, section 4.3)."""

from typing import Final

from rapidfuzz.distance.Levenshtein import normalized_similarity

THRESHOLD: Final = 0.6


def close(text: str, a: tuple[int, int], b: tuple[int, int], threshold: float = THRESHOLD) -> bool:
    """Whether the texts of two overlapping stretches of one note are similar enough.

    The bounds of the stretches often decide this without comparing texts. The distance is at most the number of
    characters that only one stretch has, and at least the difference in length. If one stretch contains the other,
    these two numbers are equal.
    """
    (a_start, a_end), (b_start, b_end) = a, b
    longest = max(a_end - a_start, b_end - b_start)
    most = abs(a_start - b_start) + abs(a_end - b_end)
    if 1 - most / longest >= threshold:
        return True
    least = abs((a_end - a_start) - (b_end - b_start))
    if least == most or 1 - least / longest < threshold:
        return False
    return normalized_similarity(text[a_start:a_end], text[b_start:b_end]) >= threshold
