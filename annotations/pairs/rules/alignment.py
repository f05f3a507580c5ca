"""Alignment of a clear text with its published version, and spans of what the published version hides.

Tokens are those of `annotations.text.spans`. Offsets are code points of the clear text, end-exclusive.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import groupby
from typing import Final

from rapidfuzz.distance import LCSseq

from annotations.pairs.rules.numbers import OMISSIS
from annotations.text.spans import Token, tokenize

WINDOW: Final = 10
"""W of Salierno et al. 2024, section 5.1.2."""
MOST_WINDOW: Final = 1000


class AlignmentMethod(StrEnum):
    """How a clear text is aligned with its published version."""

    DIFF = "diff"
    WINDOW = "window"


@dataclass(frozen=True)
class HiddenSpan:
    """What one OMISSIS (`diff`) or a run of labeled tokens (`window`) stands for.

    `confidence` is the share of matched tokens among the `window` tokens before and the `window` tokens after.
    """

    start: int
    end: int
    confidence: float


@dataclass(frozen=True)
class AlignedPair:
    """The hidden spans, the share of the clear text's tokens that matched, and the numbers of tokens by BIO tag."""

    spans: list[HiddenSpan]
    aligned: float
    outside: int
    begin: int
    inside: int


def align(clear: str, published: str, method: str = AlignmentMethod.DIFF, window: int = WINDOW) -> AlignedPair:
    """Find what the published version of a clear text hides. `window` also bounds what a span's confidence looks at."""
    tokens = tokenize(clear)
    words = [clear[start:end] for start, end in tokens]
    others = [published[start:end] for start, end in tokenize(published)]
    if method == AlignmentMethod.WINDOW:
        matched = match_in_window(words, others, window)
        hidden = _runs(matched)
    else:
        matched, hidden = match_by_diff(words, others)
    return _aligned(tokens, matched, hidden, window)


def match_in_window(clear: Sequence[str], published: Sequence[str], window: int = WINDOW) -> list[bool]:
    """For each clear token whether it is matched, by the algorithm of Salierno et al. 2024, section 5.1.2, as printed.

    A token is searched at latest_match + 1 to latest_match + `window` of the published tokens, and what is found there
    becomes the latest match. A token that isn't found is matched too if it occurs equally often in both texts
    (C_common). Such a match has no position, so it does NOT move latest_match: the printed formula gives none, and the
    text moves it only for a match in the window. Hence the algorithm loses its place where the published text has at
    least `window` tokens more, and later only C_common matches.
    """
    counts, others = Counter(clear), Counter(published)
    common = {token for token, count in counts.items() if others[token] == count}
    latest = -1
    matched = []
    for token in clear:
        found = _index(published, token, latest + 1, latest + 1 + window)
        if found is not None:
            latest = found
        matched.append(found is not None or token in common)
    return matched


def _index(tokens: Sequence[str], token: str, start: int, end: int) -> int | None:
    return next((at for at in range(start, min(end, len(tokens))) if tokens[at] == token), None)


def _runs(matched: Sequence[bool]) -> list[tuple[int, int]]:
    """Runs of tokens without a match: the first and past the last."""
    runs, at = [], 0
    for is_matched, group in groupby(matched):
        past = at + len(list(group))
        if not is_matched:
            runs.append((at, past))
        at = past
    return runs


# Alignment by `diff`: the longest common subsequence gives long runs of equal tokens, whose insides are kept. Between
# them, a dynamic program looks for the alignment with the fewest tokens that are lost or added, where each OMISSIS
# takes any number of clear tokens. Of equally good alignments, the one counts in which an earlier OMISSIS hides less:
# in “Roma, Via Nuova, 6” behind “OMISSIS, OMISSIS”, the first comma stands for the first one.
_MARGIN: Final = 6
# More cells than this are aligned by the longest common subsequence alone.
_MOST_CELLS: Final = 400_000
_HIDDEN: Final = 1
_LOST: Final = 100
_MATCH, _LOSE, _ADD, _BEGIN, _STAY = range(5)
_NEVER: Final = 1 << 40


def match_by_diff(clear: Sequence[str], published: Sequence[str]) -> tuple[list[bool], list[tuple[int, int]]]:
    """For each clear token whether it is matched, and for each OMISSIS the clear tokens that it hides, if any.

    A clear token that the published text lost is neither matched nor hidden.
    """
    matched = [False] * len(clear)
    hidden: list[tuple[int, int]] = []
    at, other = 0, 0
    for first, second, length in [*_anchors(clear, published), (len(clear), len(published), 0)]:
        part = _aligned_part(clear[at:first], published[other:second])
        for index in part[0]:
            matched[at + index] = True
        hidden += [(at + start, at + end) for start, end in part[1]]
        matched[first : first + length] = [True] * length
        at, other = first + length, second + length
    return matched, hidden


def _anchors(clear: Sequence[str], published: Sequence[str]) -> list[tuple[int, int, int]]:
    """The insides of long runs of equal tokens: index in the clear text, index in the published one, and length."""
    return [
        (first + _MARGIN, second + _MARGIN, length - 2 * _MARGIN)
        for first, second, length in _equal_runs(clear, published)
        if length > 2 * _MARGIN
    ]


def _equal_runs(clear: Sequence[str], published: Sequence[str]) -> list[tuple[int, int, int]]:
    """The runs of the longest common subsequence: index in both texts, and length."""
    return [
        (block.src_start, block.dest_start, block.src_end - block.src_start)
        for block in LCSseq.opcodes(list(clear), list(published))
        if block.tag == "equal"
    ]


def _aligned_part(clear: Sequence[str], published: Sequence[str]) -> tuple[list[int], list[tuple[int, int]]]:
    """The indexes of matched clear tokens, and what each OMISSIS hides."""
    if not published or not clear:
        return [], []
    if len(clear) * len(published) > _MOST_CELLS:
        return _by_subsequence(clear, published)
    return _walked(_rows(clear, published), len(clear))


def _by_subsequence(clear: Sequence[str], published: Sequence[str]) -> tuple[list[int], list[tuple[int, int]]]:
    matched: list[int] = []
    hidden = []
    at, other = 0, 0
    for first, second, length in [*_equal_runs(clear, published), (len(clear), len(published), 0)]:
        matched += range(first, first + length)
        if first > at and OMISSIS in published[other:second]:
            hidden.append((at, first))
        at, other = first + length, second + length
    return matched, hidden


@dataclass(frozen=True)
class _Row:
    """The last steps of the best alignments of some published tokens with 0, 1, 2, … clear tokens.

    `plain` is for alignments that don't end inside an OMISSIS, `hiding` for those that do; `ends_hiding` says which of
    the two is better.
    """

    plain: list[int]
    hiding: list[int]
    ends_hiding: list[bool]


def _rows(clear: Sequence[str], published: Sequence[str]) -> list[_Row]:
    """A row for each number of published tokens, from none to all."""
    size = len(clear) + 1
    plain, hiding = [_LOST * at for at in range(size)], [_NEVER] * size
    rows = [_Row([_LOSE] * size, [_STAY] * size, [False] * size)]
    for token in published:
        best = [min(pair) for pair in zip(plain, hiding, strict=True)]
        row = _Row([_ADD] * size, [_STAY] * size, [False] * size)
        plain, hiding = [cost + _LOST for cost in best], [_NEVER] * size
        for at in range(1, size):
            if token == OMISSIS:
                begin, stay = best[at - 1] + _HIDDEN, hiding[at - 1] + _HIDDEN
                hiding[at], row.hiding[at] = (stay, _STAY) if stay <= begin else (begin, _BEGIN)
            elif clear[at - 1] == token and best[at - 1] <= plain[at]:
                plain[at], row.plain[at] = best[at - 1], _MATCH
            lose = min(plain[at - 1], hiding[at - 1]) + _LOST
            if lose < plain[at]:
                plain[at], row.plain[at] = lose, _LOSE
            row.ends_hiding[at] = hiding[at] < plain[at]
        rows.append(row)
    return rows


def _walked(rows: Sequence[_Row], at: int) -> tuple[list[int], list[tuple[int, int]]]:
    """Follow the steps back from the alignment of all published tokens with `at` clear tokens."""
    matched: list[int] = []
    hidden: list[tuple[int, int]] = []
    number, past = len(rows) - 1, at
    hiding = rows[number].ends_hiding[at]
    while at or number:
        row = rows[number]
        step = row.hiding[at] if hiding else row.plain[at]
        if step == _BEGIN:
            hidden.append((at - 1, past))
        elif step == _MATCH:
            matched.append(at - 1)
        at -= step != _ADD
        number -= step in (_MATCH, _ADD, _BEGIN)
        if step != _STAY:
            hiding, past = rows[number].ends_hiding[at], at
    return matched, hidden[::-1]


def _aligned(
    tokens: Sequence[Token], matched: Sequence[bool], hidden: Sequence[tuple[int, int]], window: int
) -> AlignedPair:
    spans = []
    for first, past in hidden:
        around = [*matched[max(0, first - window) : first], *matched[past : past + window]]
        confidence = sum(around) / len(around) if around else 1.0
        spans.append(HiddenSpan(tokens[first].start, tokens[past - 1].end, round(confidence, 4)))
    labeled = sum(past - first for first, past in hidden)
    return AlignedPair(
        spans=spans,
        aligned=sum(matched) / len(matched) if matched else 0.0,
        outside=len(tokens) - labeled,
        begin=len(hidden),
        inside=labeled - len(hidden),
    )
