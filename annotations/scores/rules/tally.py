"""Counts over notes, from which `table` computes the figures."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from annotations.scores.rules.errors import Error
from annotations.scores.rules.intervals import FEW_NOTES
from annotations.scores.rules.rates import NOTHING, Rates

Cell = tuple[str, str]
"""Gold label and predicted label; empty for unmarked text."""


class Criterion(StrEnum):
    """When a gold span counts as found, for all-or-nothing recall and the residual risk.

    covered: every token lies in predicted spans, whatever their labels, so that nothing would stay readable.
    exact: a prediction has the same bounds and label. tolerant: the span is paired with an overlapping prediction that
    has the same label and a similar text (Singh et al. 2025, section 4.3); tolerant_category: with the same category
    (table 3); tolerant_any: with any label (table 1).
    """

    COVERED = "covered"
    EXACT = "exact"
    TOLERANT = "tolerant"
    TOLERANT_CATEGORY = "tolerant_category"
    TOLERANT_ANY = "tolerant_any"


@dataclass(slots=True)
class Lone:
    """Counts of spans with one label that overlap no other span except an equal one, for all figures alike."""

    spans: int = 0
    tokens: int = 0


def _lones() -> defaultdict[str, Lone]:
    return defaultdict(Lone)


def _by_criterion() -> dict[Criterion, Counter[str]]:
    return {criterion: Counter() for criterion in Criterion}


@dataclass(slots=True)
class ScoreCounts:
    """Counts over notes. `fold` adds the counts in `lone_*` to the others after the last note."""

    notes: int = 0
    notes_with_gold: int = 0
    notes_with_miss: int = 0
    all_found: Counter[Criterion] = field(default_factory=Counter)
    label_notes: Counter[str] = field(default_factory=Counter)
    label_all_found: dict[Criterion, Counter[str]] = field(default_factory=_by_criterion)
    category_notes: Counter[str] = field(default_factory=Counter)
    category_all_found: dict[Criterion, Counter[str]] = field(default_factory=_by_criterion)
    # Notes with gold spans of the chosen labels, and those in which all of these spans were found.
    chosen_notes: int = 0
    chosen_all_found: Counter[Criterion] = field(default_factory=Counter)
    found_spans: dict[Criterion, Counter[str]] = field(default_factory=_by_criterion)

    outside_tokens: int = 0
    sentences: int = 0
    # The counts of exact spans of each note, for the interval on few notes (`intervals`); no more notes than it needs.
    exact: list[Rates] = field(default_factory=list)
    lone_right: defaultdict[str, Lone] = field(default_factory=_lones)
    lone_missed: defaultdict[str, Lone] = field(default_factory=_lones)
    lone_spurious: defaultdict[str, Lone] = field(default_factory=_lones)

    gold_spans: Counter[str] = field(default_factory=Counter)
    gold_tokens: Counter[str] = field(default_factory=Counter)
    predicted_spans: Counter[str] = field(default_factory=Counter)
    right_spans: Counter[str] = field(default_factory=Counter)
    # Spans by class at coarser granularities, as (predicted, right, gold); equal bounds and class count once.
    categories: defaultdict[str, list[int]] = field(default_factory=lambda: defaultdict(lambda: [0, 0, 0]))
    binary: list[int] = field(default_factory=lambda: [0, 0, 0])

    # The gold labels and the predicted labels of tokens, each by precedence.
    token_labels: Counter[tuple[tuple[str, ...], tuple[str, ...]]] = field(default_factory=Counter)
    span_cells: Counter[Cell] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    overlap_spans: Rates = NOTHING
    overlap_tokens: Rates = NOTHING
    tolerant: Rates = NOTHING
    tolerant_label: Rates = NOTHING
    # Pairs with tolerance whose labels have the same category.
    tolerant_categories: Counter[str] = field(default_factory=Counter)
    merged: Rates = NOTHING

    def add_exact(self, right: int, predicted: int, gold: int) -> None:
        """Keep a note's counts of exact spans as long as the notes are few."""
        if len(self.exact) < FEW_NOTES:
            self.exact.append(Rates.paired(right, predicted, gold))

    def fold(self, category_of: "dict[str, str]") -> None:
        """Add the lone spans to all other counts."""
        for label, lone in self.lone_right.items():
            self._lone(label, lone, category_of, Rates.paired(lone.spans, lone.spans, lone.spans), (label, label))
            self.overlap_tokens += Rates.paired(lone.tokens, lone.tokens, lone.tokens)
            self.tolerant_categories[category_of[label]] += lone.spans
            for criterion in Criterion:
                self.found_spans[criterion][label] += lone.spans
        for label, lone in self.lone_missed.items():
            self._lone(label, lone, category_of, Rates.paired(0, 0, lone.spans), (label, ""))
            self.overlap_tokens += Rates.paired(0, 0, lone.tokens)
            self.kinds["missed"] += lone.spans
        for label, lone in self.lone_spurious.items():
            self._lone(label, lone, category_of, Rates.paired(0, lone.spans, 0), ("", label))
            self.overlap_tokens += Rates.paired(0, lone.tokens, 0)
            self.kinds["spurious"] += lone.spans
        self.lone_right, self.lone_missed, self.lone_spurious = _lones(), _lones(), _lones()

    def _lone(self, label: str, lone: Lone, category_of: "dict[str, str]", rates: Rates, cell: Cell) -> None:
        self.predicted_spans[label] += rates.predicted
        self.right_spans[label] += rates.right
        self.gold_spans[label] += rates.gold
        if rates.gold:
            self.gold_tokens[label] += lone.tokens
        for counts in (self.binary, self.categories[category_of[label]]):
            for at, count in enumerate((rates.predicted, rates.right, rates.gold)):
                counts[at] += count
        gold, predicted = (tuple(filter(None, [one])) for one in cell)
        self.token_labels[gold, predicted] += lone.tokens
        self.span_cells[cell] += lone.spans
        self.overlap_spans += rates
        self.tolerant += rates
        self.tolerant_label += rates


@dataclass(slots=True)
class NoteFlags:
    """The errors of one note, and the labels of its gold spans that were not found, by criterion."""

    labels: set[str] = field(default_factory=set)
    unfound: dict[Criterion, set[str]] = field(default_factory=lambda: {c: set() for c in Criterion})
    errors: list[Error] = field(default_factory=list)

    def not_found(self, label: str, criteria: Iterable[Criterion] = Criterion) -> None:
        for criterion in criteria:
            self.unfound[criterion].add(label)

    def add_to(self, tally: ScoreCounts, category_of: Mapping[str, str], chosen: frozenset[str]) -> None:
        tally.notes += 1
        tally.notes_with_miss += bool(self.unfound[Criterion.COVERED])
        if not self.labels:
            return
        of_chosen = not chosen.isdisjoint(self.labels)
        categories = {category_of[label] for label in self.labels}
        tally.notes_with_gold += 1
        tally.chosen_notes += of_chosen
        tally.label_notes.update(self.labels)
        tally.category_notes.update(categories)
        for criterion in Criterion:
            unfound = self.unfound[criterion]
            tally.all_found[criterion] += not unfound
            tally.chosen_all_found[criterion] += of_chosen and chosen.isdisjoint(unfound)
            tally.label_all_found[criterion].update(self.labels - unfound if unfound else self.labels)
            tally.category_all_found[criterion].update(
                categories - {category_of[label] for label in unfound} if unfound else categories
            )
