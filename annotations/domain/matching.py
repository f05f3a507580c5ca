"""Matching of predicted to gold spans: one to one, exact pairs first, then most pairs, then most overlap.

Pairs with the same place are made first and never given up, those with the same label too before the others. What is
left is an assignment problem on the pairs that overlap: the shortest augmenting path method of Jonker and Volgenant
(Computing 38, 1987) on the sparse graph, in exact integers. Each predicted span may stay alone at a cost above any
overlap that could be gained, which makes the number of pairs count before their overlap. A search ends at the nearest
free span, so that it stays within its own knot of overlapping spans.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from heapq import heappop, heappush

from annotations.domain.spans import Span, overlap_length

Compatible = Callable[[Span, Span], bool]
_Edges = list[list[tuple[int, int]]]  # row -> (column, gain)


def match(
    predicted: Sequence[Span], gold: Sequence[Span], *, compatible: Compatible | None = None
) -> list[tuple[int, int]]:
    """Pairs of indexes (into `predicted`, into `gold`), in order of the first; each index is in one pair at most.

    Only spans that overlap, and that are `compatible` where that is given, make a pair. Exact pairs (same start, same
    end) are made first; then comes the greatest number of pairs, among these the most code points shared, and among
    these the most pairs with the same label.
    """
    pairs = _exact_pairs(predicted, gold, compatible)
    taken_p, taken_g = {p for p, _ in pairs}, {g for _, g in pairs}
    rows = [p for p in range(len(predicted)) if p not in taken_p]
    columns = [g for g in range(len(gold)) if g not in taken_g]
    edges: _Edges = [[] for _ in rows]
    scale = len(rows) + 1  # one shared code point outweighs the same label on every pair
    for row, column in _overlapping([predicted[p] for p in rows], [gold[g] for g in columns]):
        p, g = predicted[rows[row]], gold[columns[column]]
        if compatible is None or compatible(p, g):
            edges[row].append((column, scale * overlap_length(p, g) + (p.label == g.label)))
    pairs += [(rows[row], columns[column]) for row, column in _assign(edges)]
    return sorted(pairs)


def _exact_pairs(
    predicted: Sequence[Span], gold: Sequence[Span], compatible: Compatible | None
) -> list[tuple[int, int]]:
    """The most pairs with the same start and end; in each place those with the same label come first."""
    here: dict[tuple[int, int], list[int]] = defaultdict(list)
    for g, span in enumerate(gold):
        here[span.start, span.end].append(g)
    there: dict[tuple[int, int], list[int]] = defaultdict(list)
    for p, span in enumerate(predicted):
        if (span.start, span.end) in here:
            there[span.start, span.end].append(p)
    pairs = []
    for place, ps in there.items():
        gs = here[place]
        same = _same_label(predicted, gold, ps, gs, compatible)
        pairs += same
        ps = sorted(set(ps) - {p for p, _ in same})
        gs = sorted(set(gs) - {g for _, g in same})
        edges = [
            [(at, 1) for at, g in enumerate(gs) if compatible is None or compatible(predicted[p], gold[g])] for p in ps
        ]
        pairs += [(ps[row], gs[column]) for row, column in _assign(edges)]
    return pairs


def _same_label(
    predicted: Sequence[Span], gold: Sequence[Span], ps: Iterable[int], gs: Iterable[int], compatible: Compatible | None
) -> list[tuple[int, int]]:
    waiting: dict[str, list[int]] = defaultdict(list)
    for g in gs:
        waiting[gold[g].label].append(g)
    pairs = []
    for p in ps:
        queue = waiting.get(predicted[p].label)
        if queue and (compatible is None or compatible(predicted[p], gold[queue[0]])):
            pairs.append((p, queue.pop(0)))
    return pairs


def _overlapping(a: Sequence[Span], b: Sequence[Span]) -> Iterable[tuple[int, int]]:
    """Every pair of indexes whose spans overlap; each span looks back at the open ones of the other side."""
    order = sorted(
        (span.start, span.end, side, at) for side, spans in enumerate((a, b)) for at, span in enumerate(spans)
    )
    open_spans: tuple[list[tuple[int, int]], list[tuple[int, int]]] = ([], [])  # (end, index) of either side
    for start, end, side, at in order:
        others = [other for other in open_spans[1 - side] if other[0] > start]
        open_spans[1 - side][:] = others
        for _, other_at in others:
            yield (at, other_at) if side == 0 else (other_at, at)
        open_spans[side].append((end, at))


def _assign(edges: _Edges) -> list[tuple[int, int]]:
    """The (row, column) pairs of the one-to-one assignment with most pairs, then the greatest sum of gains."""
    alone = 1 + sum(max((gain for _, gain in row), default=0) for row in edges)
    state = _Assignment(edges, alone)
    for row in range(len(edges)):
        if edges[row]:
            state.insert(row)
    return sorted((row, column) for column, row in state.row_of.items())


class _Assignment:
    """Rows are inserted one by one, each by the cheapest augmenting path; a cost is the negative of a gain.

    `price` holds the dual of each column (never positive, 0 while it is free); every pair made is tight under the
    prices.
    """

    def __init__(self, edges: _Edges, alone: int) -> None:
        self.edges = edges
        self.alone = alone  # the cost of leaving a row without a column
        self.row_of: dict[int, int] = {}
        self.column_of: dict[int, int] = {}
        self.price: dict[int, int] = {}
        self.cost_of: dict[int, int] = {}  # of the pair that a column is in

    def insert(self, row: int) -> None:
        """Pair the row, or leave alone whichever row of its knot that is cheapest."""
        price = self.price
        best, best_row, best_column = self.alone, row, -1  # -1: best_row is left alone
        distance: dict[int, int] = {}
        came_from: dict[int, tuple[int, int]] = {}  # column -> (row, cost) before it on the path
        done: dict[int, int] = {}
        heap: list[tuple[int, int]] = []
        base = 0
        while True:
            for column, gain in self.edges[row]:
                reached = base - gain - price.get(column, 0)
                if reached >= best or column in done or reached >= distance.get(column, best):
                    continue
                distance[column] = reached
                came_from[column] = (row, -gain)
                if column in self.row_of:
                    heappush(heap, (reached, column))
                else:
                    best, best_row, best_column = reached, row, column
            while heap and (heap[0][1] in done or heap[0][0] > distance[heap[0][1]]):
                heappop(heap)
            if not heap or heap[0][0] >= best:
                break
            reached, column = heappop(heap)
            done[column] = reached
            row = self.row_of[column]
            base = reached - (self.cost_of[column] - price.get(column, 0))
            if base + self.alone < best:
                best, best_row, best_column = base + self.alone, row, -1
        for column, reached in done.items():
            price[column] = price.get(column, 0) + reached - best
        self._shift(best_row, best_column, came_from)

    def _shift(self, row: int, column: int, came_from: dict[int, tuple[int, int]]) -> None:
        """Walk the path back from its end to the inserted row, handing each column to the row before it."""
        if column < 0:
            if row not in self.column_of:  # the inserted row stays alone itself
                return
            column = self.column_of.pop(row)
        while True:
            row, cost = came_from[column]
            before = self.column_of.get(row)
            self.row_of[column], self.column_of[row], self.cost_of[column] = row, column, cost
            if before is None:
                return
            column = before
