"""Matching of predicted to gold spans: one to one, exact pairs first, then most pairs, then most overlap.

This is an assignment problem on the pairs that overlap, solved exactly by the shortest augmenting path method of Jonker
and Volgenant (*Computing* 38, 1987) on the sparse graph. The gain of a pair is one integer with tiers, so that a lower
tier can't outweigh a higher one; a span may stay unpaired at a gain of 0. A search ends at the nearest free span and so
stays within its own group of overlapping spans: thousands of spans take milliseconds, unless hundreds overlap.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from heapq import heappop, heappush

from annotations.text.spans import Span, overlap_length

Compatible = Callable[[Span, Span], bool]
_Edges = list[list[tuple[int, int]]]  # row -> (column, gain)


def match(
    predicted: Sequence[Span], gold: Sequence[Span], *, compatible: Compatible | None = None
) -> list[tuple[int, int]]:
    """Pairs of indexes (into `predicted`, into `gold`), in order of the first; each index is in at most one pair.

    Only overlapping spans are paired, and only those that are `compatible`, if given (it may depend on bounds and label
    alone). The result has the most pairs with equal bounds and label; among such results, the most pairs with equal
    bounds; then the most pairs; then the most shared code points; then the most pairs with the same label.
    """
    pairs = list(_certain_pairs(predicted, gold, compatible))
    taken_p, taken_g = {p for p, _ in pairs}, {g for _, g in pairs}
    rows = [p for p in range(len(predicted)) if p not in taken_p]
    columns = [g for g in range(len(gold)) if g not in taken_g]
    found: list[list[tuple[int, int]]] = [[] for _ in rows]  # row -> (column, code points shared)
    for row, column in _overlapping([predicted[p] for p in rows], [gold[g] for g in columns]):
        p, g = predicted[rows[row]], gold[columns[column]]
        if compatible is None or compatible(p, g):
            found[row].append((column, overlap_length(p, g)))
    most = sum(max((shared for _, shared in row), default=0) for row in found)
    gain = _gain_of(len(rows), most)
    edges = [
        [(column, gain(predicted[p], gold[columns[column]], shared)) for column, shared in row]
        for p, row in zip(rows, found, strict=True)
    ]
    pairs += [(rows[row], columns[column]) for column, row in _Assignment(edges).row_of.items()]
    return sorted(pairs)


def _gain_of(pairs: int, most: int) -> Callable[[Span, Span, int], int]:
    """The gain of a pair that shares so many code points: each tier outweighs all that lower tiers can add.

    `pairs`, `most`: upper bounds on the number of pairs and on the code points that all of them share.
    """
    one_shared = pairs + 1
    one_pair = one_shared * (most + 1)
    same_bounds = one_pair * (pairs + 1)
    equal = same_bounds * (pairs + 1)

    def gain(p: Span, g: Span, shared: int) -> int:
        alike = p.label == g.label
        more = same_bounds + alike * equal if (p.start, p.end) == (g.start, g.end) else 0
        return one_pair + one_shared * shared + alike + more

    return gain


def _certain_pairs(
    predicted: Sequence[Span], gold: Sequence[Span], compatible: Compatible | None
) -> Iterator[tuple[int, int]]:
    """Pairs that some best matching contains: equal spans, then spans that alone have certain bounds on both sides."""
    used: tuple[set[int], set[int]] = (set(), set())
    for by_label in (True, False):
        ours, theirs = _by_bounds(predicted, used[0], by_label), _by_bounds(gold, used[1], by_label)
        for bounds, ps in ours.items():
            gs = theirs.get(bounds, [])
            if not by_label and not len(ps) == len(gs) == 1:
                continue
            for p, g in zip(ps, gs, strict=False):
                if compatible is None or compatible(predicted[p], gold[g]):
                    used[0].add(p)
                    used[1].add(g)
                    yield p, g


def _by_bounds(spans: Sequence[Span], without: set[int], by_label: bool) -> dict[tuple[int, int, str], list[int]]:
    """Indexes by start and end, and by label if `by_label`."""
    found: dict[tuple[int, int, str], list[int]] = defaultdict(list)
    for at, span in enumerate(spans):
        if at not in without:
            found[span.start, span.end, span.label if by_label else ""].append(at)
    return found


def _overlapping(a: Sequence[Span], b: Sequence[Span]) -> Iterator[tuple[int, int]]:
    """Every pair of indexes whose spans overlap, by a sweep over the starts with the open spans of each side."""
    order = sorted((span.start, side, at) for side, spans in enumerate((a, b)) for at, span in enumerate(spans))
    open_spans: tuple[list[int], list[int]] = ([], [])
    for start, side, at in order:
        others = b if side == 0 else a
        still = [other for other in open_spans[1 - side] if others[other].end > start]
        open_spans[1 - side][:] = still
        for other in still:
            yield (at, other) if side == 0 else (other, at)
        open_spans[side].append(at)


class _Assignment:
    """The one-to-one assignment with the greatest sum of gains, all of which are positive: `row_of` each column.

    Rows are inserted one by one, each along the cheapest augmenting path; a cost is the negative of a gain.

    `price` is the dual of each column (never positive, 0 while the column is free). Under these prices every row is
    paired with its cheapest column.
    """

    def __init__(self, edges: _Edges) -> None:
        self.edges = edges
        self.row_of: dict[int, int] = {}
        self.column_of: dict[int, int] = {}
        self.price: dict[int, int] = {}
        self.cost_of: dict[int, int] = {}  # column -> cost of its pair
        for row in range(len(edges)):
            self._insert(row)

    def _insert(self, row: int) -> None:
        """Pair the row; leave unpaired the row for which that costs least, which may be another one.

        This is Dijkstra's algorithm over the columns.
        """
        price, row_of = self.price, self.row_of
        best, best_row, best_column = 0, row, -1  # the end of the best path; column -1: the row stays unpaired
        distance: dict[int, int] = {}
        came_from: dict[int, tuple[int, int]] = {}  # column -> (row, cost) before it on the path
        done: dict[int, int] = {}
        heap: list[tuple[int, int]] = []
        base = 0
        while True:
            for column, gain in self.edges[row]:
                reached = base - gain - price.get(column, 0)
                if reached >= best or reached >= distance.get(column, best):
                    continue
                distance[column] = reached
                came_from[column] = (row, -gain)
                if column in row_of:
                    heappush(heap, (reached, column))
                else:
                    best, best_row, best_column = reached, row, column
            while heap and heap[0][0] != distance[heap[0][1]]:
                heappop(heap)  # This entry is outdated: a shorter path to the column was found.
            if not heap or heap[0][0] >= best:
                break
            reached, column = heappop(heap)
            done[column] = reached
            row = row_of[column]
            base = reached - (self.cost_of[column] - price.get(column, 0))
            if base < best:
                best, best_row, best_column = base, row, -1
        for column, reached in done.items():
            price[column] = price.get(column, 0) + reached - best
        self._shift(best_row, best_column, came_from)

    def _shift(self, row: int, column: int, came_from: dict[int, tuple[int, int]]) -> None:
        """Follow the path back from its end to the inserted row, and pair each column with the row before it."""
        if column < 0:
            if row not in self.column_of:  # the inserted row itself stays unpaired
                return
            column = self.column_of.pop(row)
        while True:
            row, cost = came_from[column]
            before = self.column_of.get(row)
            self.row_of[column], self.column_of[row], self.cost_of[column] = row, column, cost
            if before is None:
                return
            column = before
