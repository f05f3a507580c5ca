"""All-or-nothing recall: the share of notes in which every gold span was found (Scaiano et al. 2016).

It is computed over all gold spans, over those of chosen labels, and for each label and category.
"""

from collections.abc import Iterable, Mapping, Sequence

from typing_extensions import TypedDict

from annotations.scores.rules.intervals import exact
from annotations.scores.rules.rates import Rates, RatesData
from annotations.scores.rules.tally import Criterion, ScoreCounts


class AllOrNothing(TypedDict):
    """The number of notes in which all gold spans were found, and its share of notes with gold (None without any)."""

    all_found: int
    share: float | None


class NotesAllFound(AllOrNothing):
    notes: int


class FullyMasked(NotesAllFound):
    """The notes with gold of a label in which masking leaves none of it readable, and the exact 95% interval.

    Predicted spans, whatever their labels, cover every character of the label's gold spans except white space.
    """

    low: float | None
    high: float | None


class ChosenAllOrNothing(TypedDict):
    """All-or-nothing recall of the gold spans of chosen labels, by criterion."""

    labels: list[str]
    found: dict[str, NotesAllFound]


class ClassData(TypedDict):
    """The notes with gold of a label or category, and its all-or-nothing recall by criterion.

    `tolerant` are its rates of text and position, for the same label or category (Singh et al. 2025, table 2).
    """

    notes: int
    tolerant: RatesData
    all_or_nothing: dict[str, AllOrNothing]


class CategoryData(ClassData):
    category: str


class PooledRecall(TypedDict):
    """All-or-nothing recall over all pairs of a note and a label or category in its gold (Singh et al. 2025, table 3).

    `notes` counts these pairs; a note counts once for each label or category in its gold.
    """

    labels: dict[str, NotesAllFound]
    categories: dict[str, NotesAllFound]


def all_or_nothing(all_found: Mapping[Criterion, int], notes: int) -> dict[str, AllOrNothing]:
    return {
        str(criterion): {"all_found": n, "share": n / notes if notes else None} for criterion, n in all_found.items()
    }


def of_notes(found: Mapping[str, AllOrNothing], notes: int) -> dict[str, NotesAllFound]:
    return {criterion: {**one, "notes": notes} for criterion, one in found.items()}


def fully_masked(covered: AllOrNothing, notes: int) -> FullyMasked:
    """The interval (Clopper and Pearson 1934) is exact for notes that are a random sample; None without notes."""
    low, high = exact(covered["all_found"], notes) or (None, None)
    return {**covered, "notes": notes, "low": low, "high": high}


def pooled(rows: Sequence[ClassData]) -> dict[str, NotesAllFound]:
    """The sums over labels or categories."""
    notes = sum(row["notes"] for row in rows)
    sums = {one: sum(row["all_or_nothing"][one]["all_found"] for row in rows) for one in Criterion}
    return of_notes(all_or_nothing(sums, notes), notes)


def category_data(counts: ScoreCounts, category: str, labels: Iterable[str]) -> CategoryData:
    """The figures of a category with these labels."""
    notes = counts.category_notes[category]
    spans = [(counts.predicted_spans[label], counts.gold_spans[label]) for label in labels]
    predicted, gold = (sum(side) for side in zip(*spans, strict=True))
    return {
        "category": category,
        "notes": notes,
        "tolerant": Rates.paired(counts.tolerant_categories[category], predicted, gold).as_dict(),
        "all_or_nothing": all_or_nothing({one: counts.category_all_found[one][category] for one in Criterion}, notes),
    }
