"""What an error is, so that its causes are found again in another score, and the errors by category.

By category: their causes, their shares of the false positives and false negatives, and tokens per span, as in table 4.9
and figures 4.1 and 4.2 of Catelli 2021.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple, TypedDict

from annotations.agreement.rules.units import Granularity
from annotations.scores.rules.errors import LabeledBounds
from annotations.scores.rules.rates import RatesData
from annotations.scores.rules.table import LabelData, LevelData

StoredError = tuple[int, str, LabeledBounds | None, LabeledBounds | None]
"""An error as a score stores it: note, kind, gold span, predicted span."""


class ErrorId(NamedTuple):
    """An error of one author: the note, the gold span and the predicted span, each with bounds and label.

    Two scores have the same error if all of these are equal. An error with other bounds or another label is another
    error. As text: `12:0-11-PATIENT:0-5-PATIENT`, with nothing in place of a span that the error lacks.
    """

    note: int
    gold: LabeledBounds | None
    predicted: LabeledBounds | None

    @classmethod
    def of(cls, row: StoredError) -> "ErrorId":
        note, _kind, gold, predicted = row
        return cls(note, _bounds(gold), _bounds(predicted))

    def __str__(self) -> str:
        return ":".join([str(self.note), *(_written(span) for span in (self.gold, self.predicted))])

    @property
    def label(self) -> str:
        """The gold label; the predicted label of a spurious span."""
        span = self.gold or self.predicted
        return span[2] if span else ""


def _bounds(span: Sequence[int | str] | None) -> LabeledBounds | None:
    """A span as a tuple: after it was stored as JSON, it is a list."""
    return (int(span[0]), int(span[1]), str(span[2])) if span else None


def _written(span: LabeledBounds | None) -> str:
    return "-".join(map(str, span)) if span else ""


Causes = Mapping[ErrorId, Collection[str]]


class ErrorCounts(TypedDict):
    """How many of the listed errors have each cause, and how many have none."""

    errors: int
    causes: dict[str, int]
    without_cause: int


def counts_by_category(
    rows: Collection[StoredError], causes: Causes, category_of: Mapping[str, str], kinds: Iterable[str]
) -> tuple[Mapping[str, ErrorCounts], ErrorCounts]:
    """Count errors by category and cause, and all errors by cause. An error with several causes counts for each.

    Its category is that of its gold label; without a gold span, that of the predicted label. A category without errors
    has counts of 0.
    """

    def nothing() -> ErrorCounts:
        return {"errors": 0, "causes": dict.fromkeys(kinds, 0), "without_cause": 0}

    by_category: defaultdict[str, ErrorCounts] = defaultdict(nothing)
    total = nothing()
    for label, n in Counter(span[2] if (span := row[2] or row[3]) else "" for row in rows).items():
        for counts in (by_category[category_of.get(str(label), str(label))], total):
            counts["errors"] += n
            counts["without_cause"] += n
    # Few errors have a cause: only those of their notes are looked at one by one.
    notes = {error.note for error in causes}
    for error in (ErrorId.of(row) for row in rows if row[0] in notes):
        found = causes.get(error, ())
        for counts in (by_category[category_of.get(error.label, error.label)], total):
            counts["without_cause"] -= bool(found)
            for kind in found:
                counts["causes"][kind] += 1
    return by_category, total


class UnitShares(TypedDict):
    """False positives and false negatives of a category, and their shares of those of all categories.

    A share is None if no category has any.
    """

    spurious: int
    spurious_share: float | None
    missed: int
    missed_share: float | None


class CategoryShares(TypedDict):
    """The errors of one category, by exact spans and by tokens. `tokens_per_span` is None without gold spans."""

    category: str
    entity: UnitShares
    token: UnitShares
    tokens_per_span: float | None


def category_shares(levels: Sequence[LevelData], labels: Sequence[LabelData]) -> list[CategoryShares]:
    """The shares of each category that gold or the predictions have, in the order of the score."""
    by_unit = {level["unit"]: level["classes"] for level in levels if level["granularity"] == Granularity.CATEGORY}
    units = {unit: _shares(classes) for unit, classes in by_unit.items()}
    return [
        {
            "category": name,
            "entity": units["entity"][name],
            "token": units["token"][name],
            "tokens_per_span": _tokens_per_span([label for label in labels if label["category"] == name]),
        }
        for name in units["entity"]
    ]


def _shares(classes: dict[str, RatesData]) -> dict[str, UnitShares]:
    spurious = {name: rates["predicted"] - rates["right"] for name, rates in classes.items()}
    missed = {name: rates["gold"] - rates["found"] for name, rates in classes.items()}
    all_spurious, all_missed = sum(spurious.values()), sum(missed.values())
    return {
        name: {
            "spurious": spurious[name],
            "spurious_share": spurious[name] / all_spurious if all_spurious else None,
            "missed": missed[name],
            "missed_share": missed[name] / all_missed if all_missed else None,
        }
        for name in classes
    }


def _tokens_per_span(labels: Sequence[LabelData]) -> float | None:
    """The gold tokens of a category by its gold spans: the mean of its labels' ratios, weighted by gold spans."""
    spans = sum(label["entity"]["gold"] for label in labels)
    tokens = sum((label["tokens_per_span"] or 0.0) * label["entity"]["gold"] for label in labels)
    return tokens / spans if spans else None
