"""All-or-nothing recall: the share of notes in which every gold span was found (Scaiano et al. 2016).

It is computed over all gold spans, over those of chosen labels, and for each label and category.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypedDict

from annotations.scores.rules.binomial import exact
from annotations.scores.rules.rates import NOTHING, Rates, RatesData
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


class CategoryData(TypedDict):
    """All-or-nothing recall of one category, by criterion; `tolerant` are its rates of text and position."""

    category: str
    notes: int
    tolerant: RatesData
    all_or_nothing: dict[str, AllOrNothing]


class Pooled(TypedDict):
    """All-or-nothing recall over all pairs of a note and a label or category in its gold (Singh et al. 2025, table 3).

    `notes` counts these pairs; a note counts once for each label or category in its gold.
    """

    labels: dict[str, NotesAllFound]
    categories: dict[str, NotesAllFound]


class _Row(Protocol):
    """A label or category with the number of notes with gold of it, and in how many all its gold spans were found."""

    @property
    def notes(self) -> int: ...

    @property
    def all_found(self) -> Mapping[Criterion, int]: ...


@dataclass(frozen=True, slots=True)
class CategoryScore:
    """A category, the notes with gold of it, and how many of them have all its gold spans found.

    `tolerant` are its rates of text and position, for the same category (Singh et al. 2025, table 2).
    """

    category: str
    notes: int
    all_found: dict[Criterion, int]
    tolerant: Rates = NOTHING

    def as_dict(self) -> CategoryData:
        return {
            "category": self.category,
            "notes": self.notes,
            "tolerant": self.tolerant.as_dict(),
            "all_or_nothing": all_or_nothing(self.all_found, self.notes),
        }


@dataclass(frozen=True, slots=True)
class ChosenScore:
    """The chosen labels, the notes with gold of them, and how many of them have all these gold spans found."""

    labels: list[str]
    notes: int
    all_found: dict[Criterion, int]

    def as_dict(self) -> ChosenAllOrNothing:
        return {"labels": self.labels, "found": of_notes(self.all_found, self.notes)}


def all_or_nothing(all_found: Mapping[Criterion, int], notes: int) -> dict[str, AllOrNothing]:
    return {
        str(criterion): {"all_found": n, "share": n / notes if notes else None} for criterion, n in all_found.items()
    }


def of_notes(all_found: Mapping[Criterion, int], notes: int) -> dict[str, NotesAllFound]:
    return {
        criterion: {"all_found": one["all_found"], "notes": notes, "share": one["share"]}
        for criterion, one in all_or_nothing(all_found, notes).items()
    }


def fully_masked(row: _Row) -> FullyMasked:
    """The interval (Clopper and Pearson 1934) is exact for notes that are a random sample; None without notes."""
    interval = exact(row.all_found[Criterion.COVERED], row.notes)
    low, high = interval or (None, None)
    return {**of_notes(row.all_found, row.notes)[Criterion.COVERED], "low": low, "high": high}


def pooled(rows: Sequence[_Row]) -> dict[str, NotesAllFound]:
    """The sums over labels or categories."""
    all_found = {criterion: sum(row.all_found[criterion] for row in rows) for criterion in Criterion}
    return of_notes(all_found, sum(row.notes for row in rows))


def category_score(tally: ScoreCounts, category: str, labels: Iterable[str]) -> CategoryScore:
    """The figures of a category with these labels."""
    all_found = {criterion: tally.category_all_found[criterion][category] for criterion in Criterion}
    spans = [(tally.predicted_spans[label], tally.gold_spans[label]) for label in labels]
    predicted, gold = (sum(counts) for counts in zip(*spans, strict=True))
    tolerant = Rates.paired(tally.tolerant_categories[category], predicted, gold)
    return CategoryScore(category, tally.category_notes[category], all_found, tolerant)


def chosen_score(tally: ScoreCounts, labels: list[str]) -> ChosenScore | None:
    """The figures of the chosen labels; None if none were chosen."""
    all_found = {criterion: tally.chosen_all_found[criterion] for criterion in Criterion}
    return ChosenScore(labels, tally.chosen_notes, all_found) if labels else None
