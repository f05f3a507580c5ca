"""Bootstrap intervals over notes: each sample draws notes with replacement and adds up their contributions.

All figures are sums over notes, so that all samples together are one matrix product: how often each sample drew each
note, times the contribution of each note. numpy is imported with the first interval, so that other callers don't pay
for the import.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from annotations.agreement.rules.coefficients import COUNTS, AnnotatorGroup, CaptureSums, Facts, apart
from annotations.text.bio import OUTSIDE

if TYPE_CHECKING:
    from numpy import ndarray

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
    return resample_each([added], between)[0]


def resample_each(matrices: "Sequence[Array]", between: Between = nothing) -> "list[Array]":
    """The same as `resample` for several contributions of the same notes, with one draw of the samples."""
    import numpy as np

    pieces = []
    for piece in _draws(np, len(matrices[0])):
        between()
        drawn = piece.astype(float)
        pieces.append([drawn @ added for added in matrices])
    return [np.concatenate(sums) for sums in zip(*pieces, strict=True)]


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


def intervals(samples: "Array | None", values: Sequence[str]) -> Intervals:
    """The intervals of all coefficients from the samples' sums of contributions; None with fewer than two notes.

    `values` are all values except `O`.
    """
    if samples is None:
        few: Mapping[str, Interval] = defaultdict(lambda: FEW)
        return Intervals(few, few)
    import numpy as np

    sums = ContributionSums(samples, values)
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


def contributions(facts: Sequence[Facts], entries: "Sequence[Array]", notes: int, values: Sequence[str]) -> "Array":
    """The contributions of each note: notes × columns.

    `entries`: notes, their patterns' indexes in `facts`, and counts. The columns are the HEAD sums, then for each value
    how often it was given, then for each value its disagreement.
    """
    import numpy as np

    note_of, pattern_of, times = entries
    column_of = {value: at for at, value in enumerate(values)}
    head = np.zeros((len(facts), HEAD))
    given: list[tuple[int, int, int, float]] = []  # pattern, value, how often it was given, its disagreement
    for at, fact in enumerate(facts):
        unmarked, values_of = 0 if fact.marked else 1, dict(fact.values)
        head[at] = (
            1, fact.agreeing, fact.differing, unmarked, unmarked * fact.size, fact.full, fact.majority,
            values_of.pop(OUTSIDE, 0),
        )  # fmt: skip
        given += [(at, column_of[value], n, apart(n, fact.size)) for value, n in values_of.items()]
    added = np.zeros((notes, HEAD + 2 * len(values)))
    for column in range(HEAD):
        added[:, column] = np.bincount(note_of, head[pattern_of, column] * times, notes)
    pattern, value, n, disagreement = np.array(given).reshape(-1, 4).T
    number = np.bincount(pattern.astype(int), minlength=len(facts))
    first = np.cumsum(number) - number
    for place in range(number.max(initial=0)):  # the first value of each pattern, then the second …
        used = np.flatnonzero(number[pattern_of] > place)
        row = first[pattern_of[used]] + place
        cells = note_of[used] * len(values) + value.astype(int)[row]
        for weight, block in ((n, HEAD), (disagreement, HEAD + len(values))):
            sums = np.bincount(cells, weight[row] * times[used], notes * len(values))
            added[:, block : block + len(values)] += sums.reshape(notes, len(values))
    return added


class ContributionSums:
    """The columns of contributions, or of the sums of samples, by name."""

    def __init__(self, sums: "Array", values: Sequence[str]) -> None:
        self.units, self.agreeing, self.differing = sums[:, 0], sums[:, 1], sums[:, 2]
        self.unmarked, self.unmarked_values = sums[:, 3], sums[:, 4]
        self.full, self.majority, self.outside = sums[:, 5], sums[:, 6], sums[:, 7]
        self.given = sums[:, HEAD : HEAD + len(values)]
        self.apart = sums[:, HEAD + len(values) :]
        self.all = self.outside + self.given.sum(axis=1)

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
        import numpy as np

        with np.errstate(divide="ignore", invalid="ignore"):
            result: Array = np.where(expected > 0, 1 - weight / expected, np.nan)
        return result


@dataclass(frozen=True, slots=True)
class RecallIntervals:
    """Intervals of the recall of one, two and three annotators, and of each annotator by name."""

    annotators: Mapping[int, Interval]
    each: Mapping[str, Interval]


def recall_contributions(groups: Mapping[tuple[str, ...], AnnotatorGroup], notes: int) -> "Array":
    """The contributions of each of `notes` notes: for each group the columns of what its annotators found."""
    import numpy as np

    added = [np.zeros((notes, 0))]
    for group in groups.values():
        rows = np.zeros((notes, 3 * len(group.annotators)))
        rows[group.notes] = np.hstack([group.found_by, group.alone, group.found])
        added.append(rows)
    return np.hstack(added)


def recall_intervals(
    groups: Mapping[tuple[str, ...], AnnotatorGroup], samples: "Array | None", names: Sequence[str]
) -> RecallIntervals:
    """Intervals of the shares that annotators find, from the samples' sums; None with fewer than two notes."""
    if samples is None:
        return RecallIntervals(dict.fromkeys(COUNTS, FEW), dict.fromkeys(names, FEW))
    import numpy as np

    found, end = CaptureSums(), 0
    for group in groups.values():
        size, begin = len(group.annotators), end
        end += 3 * size
        columns = list(samples[:, begin:end].T)
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
