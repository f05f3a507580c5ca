"""All figures of a score, computed from one tally for pages and commands alike."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypedDict

from annotations.agreement.rules import Granularity
from annotations.scores.rules.all_or_nothing import (
    AllOrNothing,
    CategoryData,
    CategoryScore,
    ChosenAllOrNothing,
    ChosenScore,
    FullyMasked,
    NotesAllFound,
    Pooled,
    all_or_nothing,
    category_score,
    chosen_score,
    fully_masked,
    of_notes,
    pooled,
)
from annotations.scores.rules.intervals import FewNotes, few_notes, wilson
from annotations.scores.rules.rates import AverageData, Rates, RatesData, macro, micro, weighted
from annotations.scores.rules.tally import Cell, Criterion, ScoreCounts

GRANULARITIES: Final = (Granularity.SUBCATEGORY, Granularity.CATEGORY, Granularity.BINARY)
_ALL: Final = "all"


class LevelData(TypedDict):
    unit: str
    granularity: str
    micro: RatesData
    macro: AverageData
    weighted: AverageData
    classes: dict[str, RatesData]


class LabelData(TypedDict):
    label: str
    category: str
    entity: RatesData
    token: RatesData
    tolerant: RatesData
    tokens_per_span: float | None
    notes: int
    found_spans: dict[str, int]
    all_or_nothing: dict[str, AllOrNothing]
    fully_masked: FullyMasked


class ConfusionData(TypedDict):
    labels: list[str]
    rows: list[list[int]]


class ByUnit(TypedDict):
    entity: RatesData
    token: RatesData


class Confusions(TypedDict):
    entity: ConfusionData
    token: ConfusionData


class Tolerant(TypedDict):
    threshold: float
    any_label: RatesData
    same_label: RatesData
    same_category: RatesData


class Meddocan(TypedDict):
    ner: RatesData
    leak: float | None
    strict: RatesData
    merged: RatesData


class Residual(TypedDict):
    """The number and share of notes that still show an identifier, with a 95% interval; None without notes."""

    notes: int
    with_miss: int
    share: float | None
    low: float | None
    high: float | None


class TableData(TypedDict):
    """A score table in its JSON form. `few_notes` is the interval of the F1 of exact spans on fewer than 20 notes."""

    notes: int
    few_notes: FewNotes | None
    notes_with_gold: int
    sentences: int
    tokens: int
    accuracy: float | None
    levels: list[LevelData]
    labels: list[LabelData]
    categories: list[CategoryData]
    confusion: Confusions
    kinds: dict[str, int]
    overlap: ByUnit
    tolerant: Tolerant
    all_or_nothing: dict[str, NotesAllFound]
    all_or_nothing_chosen: ChosenAllOrNothing | None
    all_or_nothing_pooled: Pooled
    meddocan: Meddocan
    residual: Residual


@dataclass(frozen=True, slots=True)
class Level:
    """One of the six levels: the unit (`entity` for exact spans, or `token`), the granularity, and the rates by class.

    At each granularity, spans with equal bounds and class count once: for binary scores, two labels with the same
    bounds are one span. A token with several labels counts for each of them.
    """

    unit: str
    granularity: Granularity
    classes: dict[str, Rates]

    def as_dict(self) -> LevelData:
        rates = list(self.classes.values())
        return {
            "unit": self.unit,
            "granularity": str(self.granularity),
            "micro": micro(rates).as_dict(),
            "macro": macro(rates).as_dict(),
            "weighted": weighted(rates).as_dict(),
            "classes": {name: found.as_dict() for name, found in self.classes.items()},
        }


@dataclass(frozen=True, slots=True)
class LabelScore:
    """The figures of one label; None or 0 if it has no gold or was never predicted."""

    label: str
    category: str
    entity: Rates
    token: Rates
    gold_tokens: int
    notes: int
    all_found: dict[Criterion, int]
    found_spans: dict[Criterion, int]

    @property
    def tolerant(self) -> Rates:
        """The rates of text and position, for the same label (Singh et al. 2025, table 2)."""
        return Rates.paired(self.found_spans[Criterion.TOLERANT], self.entity.predicted, self.entity.gold)

    @property
    def tokens_per_span(self) -> float | None:
        """The token/entity ratio of the gold spans (Catelli 2021, tables 4.2 and 4.13); None without gold."""
        return self.gold_tokens / self.entity.gold if self.entity.gold else None

    def as_dict(self) -> LabelData:
        return {
            "label": self.label,
            "category": self.category,
            "entity": self.entity.as_dict(),
            "token": self.token.as_dict(),
            "tolerant": self.tolerant.as_dict(),
            "tokens_per_span": self.tokens_per_span,
            "notes": self.notes,
            "found_spans": {str(criterion): n for criterion, n in self.found_spans.items()},
            "all_or_nothing": all_or_nothing(self.all_found, self.notes),
            "fully_masked": fully_masked(self),
        }


@dataclass(frozen=True, slots=True)
class Confusion:
    """Gold labels (rows) by predicted labels (columns). The last column counts missed spans, the last row spurious."""

    labels: list[str]
    rows: list[list[int]]

    def as_dict(self) -> ConfusionData:
        return {"labels": self.labels, "rows": self.rows}


@dataclass(frozen=True, slots=True)
class ScoreTable:
    """Every figure of a score. `as_dict` is the form that pages show and commands print.

    `few_notes`: with fewer than 20 notes, the interval of the F1 of exact spans (`intervals.few_notes`); else None.
    """

    notes: int
    few_notes: FewNotes | None
    notes_with_gold: int
    sentences: int
    tokens: int
    accuracy: float | None
    levels: list[Level]
    labels: list[LabelScore]
    categories: list[CategoryScore]
    spans: Confusion
    token_confusion: Confusion
    kinds: dict[str, int]
    overlap_spans: Rates
    overlap_tokens: Rates
    tolerant: Rates
    tolerant_label: Rates
    threshold: float
    all_found: dict[Criterion, int]
    chosen: ChosenScore | None
    strict: Rates
    merged: Rates
    entities: Rates
    notes_with_miss: int

    def level(self, unit: str, granularity: Granularity) -> Level:
        """Find a level. Raises LookupError if there is none (label level of a set with categories only)."""
        for level in self.levels:
            if (level.unit, level.granularity) == (unit, granularity):
                return level
        raise LookupError(f"There is no level {unit} {granularity}.")

    @property
    def leak(self) -> float | None:
        """Missed entities (bounds and label) per sentence, as in MEDDOCAN; None without sentences."""
        return self.entities.missed / self.sentences if self.sentences else None

    def as_dict(self) -> TableData:
        interval = wilson(self.notes_with_miss, self.notes)
        return {
            "notes": self.notes,
            "few_notes": self.few_notes,
            "notes_with_gold": self.notes_with_gold,
            "sentences": self.sentences,
            "tokens": self.tokens,
            "accuracy": self.accuracy,
            "levels": [level.as_dict() for level in self.levels],
            "labels": [label.as_dict() for label in self.labels],
            "categories": [category.as_dict() for category in self.categories],
            "confusion": {"entity": self.spans.as_dict(), "token": self.token_confusion.as_dict()},
            "kinds": self.kinds,
            "overlap": {"entity": self.overlap_spans.as_dict(), "token": self.overlap_tokens.as_dict()},
            "tolerant": {
                "threshold": self.threshold,
                "any_label": self.tolerant.as_dict(),
                "same_label": self.tolerant_label.as_dict(),
                "same_category": micro(category.tolerant for category in self.categories).as_dict(),
            },
            "all_or_nothing": of_notes(self.all_found, self.notes_with_gold),
            "all_or_nothing_chosen": self.chosen.as_dict() if self.chosen else None,
            "all_or_nothing_pooled": {"labels": pooled(self.labels), "categories": pooled(self.categories)},
            "meddocan": {
                "ner": self.entities.as_dict(),
                "leak": self.leak,
                "strict": self.strict.as_dict(),
                "merged": self.merged.as_dict(),
            },
            "residual": {
                "notes": self.notes,
                "with_miss": self.notes_with_miss,
                "share": self.notes_with_miss / self.notes if self.notes else None,
                "low": interval[0] if interval else None,
                "high": interval[1] if interval else None,
            },
        }


def table_of(
    tally: ScoreCounts, label_order: Sequence[str], category_of: Mapping[str, str], *, has_labels: bool,
    threshold: float,
    chosen: frozenset[str],
) -> ScoreTable:  # fmt: skip
    """Compute the figures from a complete tally (after `fold`). `threshold` and `chosen` as for `Scorer`."""
    used = [label for label in label_order if tally.gold_spans[label] or tally.predicted_spans[label]]
    spans = {label: _rates(tally, label) for label in used}
    tokens = _token_classes(tally, used, {label: label for label in used})
    categories = list(dict.fromkeys(category_of[label] for label in used))
    by_category = {name: tally.categories[name] for name in categories}
    binary_tokens = _token_classes(tally, [_ALL], dict.fromkeys(used, _ALL))
    classes: dict[tuple[str, Granularity], dict[str, Rates]] = {
        ("entity", Granularity.SUBCATEGORY): spans,
        ("entity", Granularity.CATEGORY): {name: _paired(counts) for name, counts in by_category.items()},
        ("entity", Granularity.BINARY): {_ALL: _paired(tally.binary)},
        ("token", Granularity.SUBCATEGORY): tokens,
        ("token", Granularity.CATEGORY): _token_classes(tally, categories, category_of),
        ("token", Granularity.BINARY): binary_tokens,
    }
    cells = _token_cells(tally, used)
    inside = sum(cells.values())
    right = sum(n for (gold, predicted), n in cells.items() if gold == predicted)
    all_tokens = inside + tally.outside_tokens
    return ScoreTable(
        notes=tally.notes,
        few_notes=few_notes(tally.exact),
        notes_with_gold=tally.notes_with_gold,
        sentences=tally.sentences,
        tokens=all_tokens,
        accuracy=(right + tally.outside_tokens) / all_tokens if all_tokens else None,
        levels=[
            Level(unit, granularity, classes[unit, granularity])
            for unit in ("entity", "token")
            for granularity in GRANULARITIES
            if has_labels or granularity is not Granularity.SUBCATEGORY
        ],
        labels=[
            LabelScore(
                label=label,
                category=category_of[label],
                entity=spans[label],
                token=tokens[label],
                gold_tokens=tally.gold_tokens[label],
                notes=tally.label_notes[label],
                all_found={criterion: tally.label_all_found[criterion][label] for criterion in Criterion},
                found_spans={criterion: tally.found_spans[criterion][label] for criterion in Criterion},
            )
            for label in used
        ],
        categories=[
            category_score(tally, category, [label for label in used if category_of[label] == category])
            for category in categories
        ],
        spans=_confusion(tally.span_cells, used),
        token_confusion=_confusion(cells, used),
        kinds={kind: tally.kinds[kind] for kind in ("missed", "spurious", "label", "boundary", "both")},
        overlap_spans=tally.overlap_spans,
        overlap_tokens=tally.overlap_tokens,
        tolerant=tally.tolerant,
        tolerant_label=tally.tolerant_label,
        threshold=threshold,
        all_found={criterion: tally.all_found[criterion] for criterion in Criterion},
        chosen=chosen_score(tally, [label for label in label_order if label in chosen]),
        strict=_paired(tally.binary),
        merged=tally.merged,
        entities=micro(spans.values()),
        notes_with_miss=tally.notes_with_miss,
    )


def _rates(tally: ScoreCounts, label: str) -> Rates:
    return Rates.paired(tally.right_spans[label], tally.predicted_spans[label], tally.gold_spans[label])


def _paired(counts: Sequence[int]) -> Rates:
    predicted, right, gold = counts
    return Rates.paired(right, predicted, gold)


def _token_classes(tally: ScoreCounts, classes: Sequence[str], class_of: Mapping[str, str]) -> dict[str, Rates]:
    """Token rates by class. A token with several classes counts for each."""
    counts: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    for sides, n in tally.token_labels.items():
        gold, predicted = ({class_of[label] for label in side} for side in sides)
        for at, found in enumerate((predicted, gold & predicted, gold)):
            for name in found:
                counts[name][at] += n
    return {name: _paired(counts[name]) for name in classes}


def _token_cells(tally: ScoreCounts, labels: Sequence[str]) -> Counter[Cell]:
    """One cell for each token: the first label that gold and prediction share, else the first one of each side."""
    cells: Counter[Cell] = Counter()
    for (gold, predicted), n in tally.token_labels.items():
        both = next((label for label in labels if label in gold and label in predicted), "")
        cells[both or "".join(gold[:1]), both or "".join(predicted[:1])] += n
    return cells


def _confusion(cells: Counter[Cell], labels: Sequence[str]) -> Confusion:
    names = [*labels, ""]
    return Confusion(names, [[cells[gold, predicted] for predicted in names] for gold in names])
