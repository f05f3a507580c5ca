"""Matching of predicted to gold spans: one to one, exact pairs first, then most pairs, then most overlap.

This is an assignment problem on the pairs that overlap, solved exactly by the shortest augmenting path method of Jonker
and Volgenant (Computing 38, 1987) on the sparse graph. The gain of a pair is one integer whose tiers can't outweigh
each other, and a span may stay alone at a gain of 0. A search ends at the nearest free span, so that it stays within
its own knot of overlapping spans: thousands of spans take milliseconds, unless hundreds of them lie over one another.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from heapq import heappop, heappush

from annotations.domain.spans import Span, overlap_length

Compatible = Callable[[Span, Span], bool]
_Edges = list[list[tuple[int, int]]]  # row -> (column, gain)


def match(
    predicted: Sequence[Span], gold: Sequence[Span], *, compatible: Compatible | None = None
) -> list[tuple[int, int]]:
    """Pairs of indexes (into `predicted`, into `gold`), in order of the first; each index is in one pair at most.

    Only spans that overlap make a pair, and where `compatible` is given only those for which it holds (it must depend
    on place and label alone). Of all ways to pair them this is one with the most pairs that have the same place and
    label; among these the most with the same place; then the most pairs at all; then the most code points shared; then
    the most pairs with the same label.
    """
    pairs = list(_settled(predicted, gold, compatible))
    taken_p, taken_g = {p for p, _ in pairs}, {g for _, g in pairs}
    rows = [p for p in range(len(predicted)) if p not in taken_p]
    columns = [g for g in range(len(gold)) if g not in taken_g]
    found: list[list[tuple[int, int]]] = [[] for _ in rows]  # row -> (column, code points shared)
    for row, column in _overlapping([predicted[p] for p in rows], [gold[g] for g in columns]):
        p, g = predicted[rows[row]], gold[columns[column]]
        if compatible is None or compatible(p, g):
            found[row].append((column, overlap_length(p, g)))
    most = sum(max((shared for _, shared in row), default=0) for row in found)
    gain = _Gain(len(rows), most)
    edges = [
        [(column, gain(predicted[p], gold[columns[column]], shared)) for column, shared in row]
        for p, row in zip(rows, found, strict=True)
    ]
    pairs += [(rows[row], columns[column]) for row, column in _assign(edges)]
    return sorted(pairs)


class _Gain:
    """What a pair is worth: each tier outweighs all that the lower tiers can add up to."""

    def __init__(self, pairs: int, shared: int) -> None:
        """At most this many pairs, and this many code points shared by all of them together."""
        self._shared = pairs + 1
        self._pair = self._shared * (shared + 1)
        self._place = self._pair * (pairs + 1)
        self._exact = self._place * (pairs + 1)

    def __call__(self, p: Span, g: Span, shared: int) -> int:
        gain = self._pair + self._shared * shared
        if p.label == g.label:
            gain += 1
        if p.start == g.start and p.end == g.end:
            gain += self._place
            if p.label == g.label:
                gain += self._exact
        return gain


def _settled(
    predicted: Sequence[Span], gold: Sequence[Span], compatible: Compatible | None
) -> Iterator[tuple[int, int]]:
    """Pairs that a best matching has anyhow: equal spans, then the only ones left of either side in a place."""
    used: tuple[set[int], set[int]] = (set(), set())
    for by_label in (True, False):
        ours, theirs = _by_place(predicted, used[0], by_label), _by_place(gold, used[1], by_label)
        for place, ps in ours.items():
            gs = theirs.get(place, [])
            if not by_label and not len(ps) == len(gs) == 1:
                continue
            for p, g in zip(ps, gs, strict=False):
                if compatible is None or compatible(predicted[p], gold[g]):
                    used[0].add(p)
                    used[1].add(g)
                    yield p, g


def _by_place(spans: Sequence[Span], without: set[int], by_label: bool) -> dict[tuple[int, int, str], list[int]]:
    """Indexes by start and end, and by label where that is asked for."""
    places: dict[tuple[int, int, str], list[int]] = defaultdict(list)
    for at, span in enumerate(spans):
        if at not in without:
            places[span.start, span.end, span.label if by_label else ""].append(at)
    return places


def _overlapping(a: Sequence[Span], b: Sequence[Span]) -> Iterator[tuple[int, int]]:
    """Every pair of indexes whose spans overlap; each span looks back at the open ones of the other side."""
    order = sorted((span.start, side, at) for side, spans in enumerate((a, b)) for at, span in enumerate(spans))
    open_spans: tuple[list[int], list[int]] = ([], [])
    for start, side, at in order:
        others = b if side == 0 else a
        still = [other for other in open_spans[1 - side] if others[other].end > start]
        open_spans[1 - side][:] = still
        for other in still:
            yield (at, other) if side == 0 else (other, at)
        open_spans[side].append(at)


def _assign(edges: _Edges) -> list[tuple[int, int]]:
    """The (row, column) pairs of a one-to-one assignment with the greatest sum of gains, all of which are positive."""
    assignment = _Assignment(edges)
    for row in range(len(edges)):
        if edges[row]:
            assignment.insert(row)
    return [(row, column) for column, row in assignment.row_of.items()]


class _Assignment:
    """Rows are inserted one by one, each by the cheapest augmenting path; a cost is the negative of a gain.

    `price` is the dual of each column (never positive, 0 while it is free); under the prices every pair made is the
    cheapest for its row.
    """

    def __init__(self, edges: _Edges) -> None:
        self.edges = edges
        self.row_of: dict[int, int] = {}
        self.column_of: dict[int, int] = {}
        self.price: dict[int, int] = {}
        self.cost_of: dict[int, int] = {}  # of the pair that a column is in

    def insert(self, row: int) -> None:
        """Pair the row, or leave alone whichever row of its knot costs least alone (Dijkstra over the columns)."""
        price, row_of = self.price, self.row_of
        best, best_row, best_column = 0, row, -1  # the end of the best path; column -1: its row is left alone
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
                heappop(heap)  # a shorter way to it was found later
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
        """Walk the path back from its end to the inserted row, handing each column to the row before it."""
        if column < 0:
            if row not in self.column_of:  # the inserted row itself stays alone
                return
            column = self.column_of.pop(row)
        while True:
            row, cost = came_from[column]
            before = self.column_of.get(row)
            self.row_of[column], self.column_of[row], self.cost_of[column] = row, column, cost
            if before is None:
                return
            column = before
