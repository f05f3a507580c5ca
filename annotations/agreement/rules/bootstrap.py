"""Bootstrap intervals over notes: each sample draws notes with replacement and adds up their contributions.

All figures are sums over notes, so that all samples together are one matrix product: how often each sample drew each
note, times the contribution of each note. numpy is imported with the first interval, so that other callers don't pay
for the import.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from annotations.agreement.rules.capture import COUNTS, AnnotatorGroup, CaptureSums
from annotations.agreement.rules.coefficients import Facts, apart
from annotations.text.bio import OUTSIDE

if TYPE_CHECKING:
    from numpy import dtype, float64, ndarray

    Array = ndarray[Any, Any]

SAMPLES: Final = 1000
SEED: Final = 1971
LEVEL: Final = 0.95
# The matrix of draws is processed in pieces of this many cells (8 MB).
CELLS: Final = 1_000_000
# An interval needs a defined coefficient in at least this share of the samples.
DEFINED: Final = 0.95


Between = Callable[[], None]
"""A function that is called between two pieces of work of at most a second. Its exceptions stop the work."""


def nothing() -> None:
    """Do nothing: the default for callers that don't need to stop the work."""


@dataclass(frozen=True, slots=True)
class Interval:
    """The 95% percentile interval. If there is none, `low` and `high` are None and `why` says why."""

    low: float | None = None
    high: float | None = None
    why: str = ""


def resample(added: "Array", between: Between = nothing) -> "Array":
    """The sums of each sample (samples × columns) from the contributions `added` (notes × columns); a fixed seed."""
    import numpy as np

    notes = len(added)
    pieces = []
    for piece in _draws(np, notes):
        between()
        pieces.append(piece.astype(float) @ added)
    result: Array = np.concatenate(pieces)
    return result


def _draws(np: Any, notes: int) -> "Iterator[Array]":
    """How often each sample drew each note (samples × notes), in pieces of some samples."""
    random = np.random.default_rng(SEED)
    step = max(1, CELLS // notes)
    for at in range(0, SAMPLES, step):
        rows = min(step, SAMPLES - at)
        drawn = random.integers(0, notes, size=(rows, notes)) + notes * np.arange(rows)[:, None]
        yield np.bincount(drawn.ravel(), minlength=rows * notes).reshape(rows, notes)


def interval(values: "Array") -> Interval:
    """The interval over the samples in which a coefficient is defined (not NaN), if these are nearly all samples."""
    import numpy as np

    defined = values[~np.isnan(values)]
    if len(defined) < DEFINED * len(values):
        missing = len(values) - len(defined)
        return Interval(why=f"The figure is undefined in {missing:,} of {len(values):,} samples of the notes.")
    low, high = np.quantile(defined, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Interval(float(low), float(high))


FEW = Interval(why="An interval over notes needs at least two notes.")


class Intervals(NamedTuple):
    """The intervals of the coefficients of one set of notes by name, and those of labels by value."""

    named: Mapping[str, Interval]
    labels: Mapping[str, Interval]


def intervals(
    facts: Sequence[Facts],
    notes: Sequence[Sequence[tuple[int, int]]],
    values: Sequence[str],
    between: Between = nothing,
) -> Intervals:
    """The intervals of all coefficients over `notes`.

    `notes` lists for each note its patterns, as (index in `facts`, count). `values` are all values except `O`.
    """
    if len(notes) < 2:
        few: Mapping[str, Interval] = defaultdict(lambda: FEW)
        return Intervals(few, few)
    import numpy as np

    sums = _Sums(np, resample(_added(np, facts, notes, values), between), values)
    with np.errstate(divide="ignore", invalid="ignore"):
        named = {
            "observed": sums.agreeing / sums.units,
            "alpha": sums.alpha(0),
            "observed_marked": (sums.agreeing - sums.unmarked) / (sums.units - sums.unmarked),
            "alpha_marked": sums.alpha(sums.unmarked_values),
            "full": sums.full / sums.units,
            "majority": sums.majority / sums.units,
        }
        labels = {value: interval(sums.alpha_of(at)) for at, value in enumerate(values)}
    return Intervals({name: interval(found) for name, found in named.items()}, labels)


HEAD: Final = 8


def _added(
    np: Any, facts: Sequence[Facts], notes: Sequence[Sequence[tuple[int, int]]], values: Sequence[str]
) -> "Array":
    """The contributions of each note: notes × columns.

    The columns are the HEAD sums, then for each value how often it was given, then for each value its disagreement.
    """
    column_of = {value: at for at, value in enumerate(values)}
    table = np.zeros((len(facts), HEAD + 2 * len(values)))
    for row, fact in zip(table, facts, strict=True):
        unmarked = 0 if fact.marked else 1
        row[:7] = 1, fact.agreeing, fact.differing, unmarked, unmarked * fact.size, fact.full, fact.majority
        for value, n in fact.values:
            if value == OUTSIDE:
                row[7] = n
            else:
                row[HEAD + column_of[value]] = n
                row[HEAD + len(values) + column_of[value]] = apart(n, fact.size)
    note_of = np.repeat(np.arange(len(notes)), [len(entries) for entries in notes])
    flat = np.array([entry for entries in notes for entry in entries], dtype=np.int64).reshape(-1, 2)
    pattern_of, times = flat[:, 0], flat[:, 1].astype(float)
    added: ndarray[tuple[int, int], dtype[float64]] = np.empty((len(notes), table.shape[1]))
    for column in range(table.shape[1]):
        amounts = table[pattern_of, column]
        used = np.flatnonzero(amounts)
        added[:, column] = np.bincount(note_of[used], weights=amounts[used] * times[used], minlength=len(notes))
    return added


class _Sums:
    """The columns of the samples' sums, by name."""

    def __init__(self, np: Any, sums: "Array", values: Sequence[str]) -> None:
        self.units, self.agreeing, self.differing = sums[:, 0], sums[:, 1], sums[:, 2]
        self.unmarked, self.unmarked_values = sums[:, 3], sums[:, 4]
        self.full, self.majority, self.outside = sums[:, 5], sums[:, 6], sums[:, 7]
        self.given = sums[:, HEAD : HEAD + len(values)]
        self.apart = sums[:, HEAD + len(values) :]
        self.all = self.outside + self.given.sum(axis=1)
        self.np = np

    def alpha(self, without: "Array | int") -> "Array":
        """Krippendorff's alpha, leaving out this many values `O`."""
        outside, n = self.outside - without, self.all - without
        expected = n * n - outside * outside - (self.given * self.given).sum(axis=1)
        return self._ratio((n - 1) * self.differing, expected)

    def alpha_of(self, at: int) -> "Array":
        """Krippendorff's alpha of one value against all others."""
        given = self.given[:, at]
        return self._ratio((self.all - 1) * self.apart[:, at], 2 * given * (self.all - given))

    def _ratio(self, weight: "Array", expected: "Array") -> "Array":
        # `expected` comes from products of whole numbers below 2^53, so that no expected disagreement is exactly 0.
        result: Array = self.np.where(expected > 0, 1 - weight / expected, self.np.nan)
        return result


@dataclass(frozen=True, slots=True)
class RecallIntervals:
    """Intervals of the recall of one, two and three annotators, and of each annotator by name."""

    annotators: Mapping[int, Interval]
    each: Mapping[str, Interval]


def recall_intervals(
    groups: Mapping[tuple[str, ...], AnnotatorGroup], notes: int, names: Sequence[str], between: Between = nothing
) -> RecallIntervals:
    """Intervals of the shares that annotators find, over `notes` notes in all."""
    if notes < 2:
        return RecallIntervals(dict.fromkeys(COUNTS, FEW), dict.fromkeys(names, FEW))
    import numpy as np

    widths = [3 * len(group.annotators) for group in groups.values()]
    added = np.zeros((notes, sum(widths)))
    ends = np.cumsum(widths)
    for group, end, width in zip(groups.values(), ends, widths, strict=True):
        added[np.array(group.notes), end - width : end] = np.hstack([group.found_by, group.alone, group.found])
    sums = resample(added, between)
    found = CaptureSums()
    for group, end, width in zip(groups.values(), ends, widths, strict=True):
        columns = list(sums[:, end - width : end].T)
        size = len(group.annotators)
        found.add(group.annotators, columns[:size], columns[size : 2 * size], columns[2 * size :])
    return _recalls(np, found, names)


def _recalls(np: Any, found: CaptureSums, names: Sequence[str]) -> RecallIntervals:
    """The intervals from `found`, whose fields are arrays over the samples instead of numbers."""
    defined = np.asarray(found.twice) > 0

    def ratio(part: Any, whole: Any) -> "Array":
        whole = np.asarray(whole) + np.zeros(len(defined))
        result: Array = np.where(defined & (whole > 0), part / np.where(whole > 0, whole, 1), np.nan)
        return result

    by = {j: ratio(found.by[j], found.of[j]) for j in COUNTS}
    if found.projected_for(COUNTS[-1]):
        by[3] = 1 - (1 - by[2]) * (1 - by[1])
    each = {name: interval(ratio(found.annotator_by[name], found.annotator_of[name])) for name in names}
    return RecallIntervals({j: interval(values) for j, values in by.items()}, each)
