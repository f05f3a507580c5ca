"""All figures of a score, computed from one tally for pages and commands alike."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from typing_extensions import TypedDict

from annotations.agreement.rules.units import Granularity
from annotations.scores.rules.intervals import FewNotes, exact, few_notes, wilson
from annotations.scores.rules.rates import AverageData, Rates, RatesData, macro, micro, weighted
from annotations.scores.rules.tally import Cell, Criterion, ScoreCounts

# All-or-nothing recall: the share of notes in which every gold span was found (Scaiano et al. 2016).
#
# It is computed over all gold spans, over those of chosen labels, and for each label and category.


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


GRANULARITIES: Final = (Granularity.SUBCATEGORY, Granularity.CATEGORY, Granularity.BINARY)
_ALL: Final = "all"


class LevelData(TypedDict):
    """One of the six levels: the unit (`entity` for exact spans, or `token`), the granularity, and the rates by class.

    At each granularity, spans with equal bounds and class count once: for binary scores, two labels with the same
    bounds are one span. A token with several labels counts for each of them.
    """

    unit: str
    granularity: str
    micro: RatesData
    macro: AverageData
    weighted: AverageData
    classes: dict[str, RatesData]


class LabelData(ClassData):
    """The figures of one label; `tokens_per_span`, the ratio of Catelli 2021 (table 4.2), is None without gold."""

    label: str
    category: str
    entity: RatesData
    token: RatesData
    tokens_per_span: float | None
    found_spans: dict[str, int]
    fully_masked: FullyMasked


class ConfusionData(TypedDict):
    """Gold labels (rows) by predicted labels (columns). The last column counts missed spans, the last row spurious."""

    labels: list[str]
    rows: list[list[int]]


class Tolerant(TypedDict):
    threshold: float
    any_label: RatesData
    same_label: RatesData
    same_category: RatesData


class Meddocan(TypedDict):
    """Scores of the shared task. `leak`: missed entities (bounds and label) per sentence; None without sentences."""

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
    """A score table. `few_notes` is the interval of the F1 of exact spans on fewer than 20 notes; else None.

    `confusion` and `overlap` have the keys `entity` and `token`.
    """

    notes: int
    few_notes: FewNotes | None
    notes_with_gold: int
    sentences: int
    tokens: int
    accuracy: float | None
    levels: list[LevelData]
    labels: list[LabelData]
    categories: list[CategoryData]
    confusion: dict[str, ConfusionData]
    kinds: dict[str, int]
    overlap: dict[str, RatesData]
    tolerant: Tolerant
    all_or_nothing: dict[str, NotesAllFound]
    all_or_nothing_chosen: ChosenAllOrNothing | None
    all_or_nothing_pooled: PooledRecall
    meddocan: Meddocan
    residual: Residual


def table_of(
    tally: ScoreCounts, label_order: Sequence[str], category_of: Mapping[str, str], *, has_labels: bool,
    threshold: float, chosen: frozenset[str],
) -> TableData:  # fmt: skip
    """Compute the figures from a complete tally (after `fold`). `threshold` and `chosen` as for `Scorer`."""
    used = [label for label in label_order if tally.gold_spans[label] or tally.predicted_spans[label]]
    spans = {
        label: Rates.paired(tally.right_spans[label], tally.predicted_spans[label], tally.gold_spans[label])
        for label in used
    }
    tokens = _token_classes(tally, used, {label: label for label in used})
    names = list(dict.fromkeys(category_of[label] for label in used))
    classes: dict[tuple[str, Granularity], dict[str, Rates]] = {
        ("entity", Granularity.SUBCATEGORY): spans,
        ("entity", Granularity.CATEGORY): {name: _paired(tally.categories[name]) for name in names},
        ("entity", Granularity.BINARY): {_ALL: _paired(tally.binary)},
        ("token", Granularity.SUBCATEGORY): tokens,
        ("token", Granularity.CATEGORY): _token_classes(tally, names, category_of),
        ("token", Granularity.BINARY): _token_classes(tally, [_ALL], dict.fromkeys(used, _ALL)),
    }
    cells = _token_cells(tally, used)
    right = sum(n for (gold, predicted), n in cells.items() if gold == predicted)
    all_tokens = sum(cells.values()) + tally.outside_tokens
    labels = [_label(tally, label, category_of[label], spans[label], tokens[label]) for label in used]
    categories = [category_data(tally, name, [one for one in used if category_of[one] == name]) for name in names]
    entities, wanted = micro(spans.values()), [label for label in label_order if label in chosen]
    low, high = wilson(tally.notes_with_miss, tally.notes) or (None, None)
    tolerant_of_categories = Rates.paired(tally.tolerant_categories.total(), entities.predicted, entities.gold)
    return {
        "notes": tally.notes,
        "few_notes": few_notes(tally.exact),
        "notes_with_gold": tally.notes_with_gold,
        "sentences": tally.sentences,
        "tokens": all_tokens,
        "accuracy": (right + tally.outside_tokens) / all_tokens if all_tokens else None,
        "levels": [
            _level(unit, granularity, classes[unit, granularity])
            for unit in ("entity", "token")
            for granularity in GRANULARITIES
            if has_labels or granularity is not Granularity.SUBCATEGORY
        ],
        "labels": labels,
        "categories": categories,
        "confusion": {"entity": _confusion(tally.span_cells, used), "token": _confusion(cells, used)},
        "kinds": {kind: tally.kinds[kind] for kind in ("missed", "spurious", "label", "boundary", "both")},
        "overlap": {"entity": tally.overlap_spans.as_dict(), "token": tally.overlap_tokens.as_dict()},
        "tolerant": {
            "threshold": threshold,
            "any_label": tally.tolerant.as_dict(),
            "same_label": tally.tolerant_label.as_dict(),
            "same_category": tolerant_of_categories.as_dict(),
        },
        "all_or_nothing": _of_notes(tally.all_found, tally.notes_with_gold),
        "all_or_nothing_chosen": {"labels": wanted, "found": _of_notes(tally.chosen_all_found, tally.chosen_notes)}
        if wanted
        else None,
        "all_or_nothing_pooled": {"labels": pooled(labels), "categories": pooled(categories)},
        "meddocan": {
            "ner": entities.as_dict(),
            "leak": entities.missed / tally.sentences if tally.sentences else None,
            "strict": _paired(tally.binary).as_dict(),
            "merged": tally.merged.as_dict(),
        },
        "residual": {
            "notes": tally.notes,
            "with_miss": tally.notes_with_miss,
            "share": tally.notes_with_miss / tally.notes if tally.notes else None,
            "low": low,
            "high": high,
        },
    }


def _of_notes(all_found: Mapping[Criterion, int], notes: int) -> dict[str, NotesAllFound]:
    return of_notes(all_or_nothing({criterion: all_found[criterion] for criterion in Criterion}, notes), notes)


def _level(unit: str, granularity: Granularity, classes: Mapping[str, Rates]) -> LevelData:
    return {
        "unit": unit,
        "granularity": str(granularity),
        "micro": micro(classes.values()).as_dict(),
        "macro": macro(classes.values()),
        "weighted": weighted(classes.values()),
        "classes": {name: rates.as_dict() for name, rates in classes.items()},
    }


def _label(tally: ScoreCounts, label: str, category: str, entity: Rates, token: Rates) -> LabelData:
    notes = tally.label_notes[label]
    found = all_or_nothing({one: tally.label_all_found[one][label] for one in Criterion}, notes)
    tolerant = tally.found_spans[Criterion.TOLERANT][label]
    return {
        "label": label,
        "category": category,
        "entity": entity.as_dict(),
        "token": token.as_dict(),
        "tolerant": Rates.paired(tolerant, entity.predicted, entity.gold).as_dict(),
        "tokens_per_span": tally.gold_tokens[label] / entity.gold if entity.gold else None,
        "notes": notes,
        "found_spans": {str(one): tally.found_spans[one][label] for one in Criterion},
        "all_or_nothing": found,
        "fully_masked": fully_masked(found[Criterion.COVERED], notes),
    }


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


def _confusion(cells: Counter[Cell], labels: Sequence[str]) -> ConfusionData:
    names = [*labels, ""]
    return {"labels": names, "rows": [[cells[gold, predicted] for predicted in names] for gold in names]}


class AfterPass(TypedDict):
    """Figures of a run after `passes` passes (Singh et al. 2025, section 4.7 and figure 2).

    `exact`: spans with the same bounds and label; `tolerant`: text and position. `all_or_nothing` counts notes; the
    others count pairs of a note and a label or category in its gold.
    """

    passes: int
    exact: RatesData
    tolerant: Tolerant
    all_or_nothing: dict[str, NotesAllFound]
    all_or_nothing_pooled: PooledRecall
    labels: dict[str, dict[str, NotesAllFound]]
    categories: dict[str, dict[str, NotesAllFound]]


def after_pass(passes: int, found: TableData) -> AfterPass:
    """The figures of the suggestions of the first passes, which `found` scores.

    The suggestions of the first n passes are those of a run with n passes, because a pass adds suggestions and changes
    none. Only chunks that overlap can differ: if they disagree about a text, the longest suggestion of all passes is
    kept.
    """
    return {
        "passes": passes,
        "exact": found["levels"][0]["micro"],  # spans at the finest level
        "tolerant": found["tolerant"],
        "all_or_nothing": found["all_or_nothing"],
        "all_or_nothing_pooled": found["all_or_nothing_pooled"],
        "labels": {
            row["label"]: of_notes(row["all_or_nothing"], row["notes"]) for row in found["labels"] if row["notes"]
        },
        "categories": {
            row["category"]: of_notes(row["all_or_nothing"], row["notes"])
            for row in found["categories"]
            if row["notes"]
        },
    }
