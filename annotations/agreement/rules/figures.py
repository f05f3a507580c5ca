"""All figures of agreement that the page shows and the command prints, computed from annotation sets."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import combinations
from typing import Final

from annotations.agreement.rules import bootstrap, coefficients, units
from annotations.agreement.rules import shown as shown_rules
from annotations.agreement.rules.bootstrap import Between, Interval, Intervals, intervals, nothing, recall_intervals
from annotations.agreement.rules.capture import COUNTS, Captures, MatchCriterion, found_in
from annotations.text.bio import OUTSIDE
from annotations.text.matching import match
from annotations.text.spans import Span

# The estimated recall of annotators, with intervals, ready for JSON.


def recall(captures: Captures, annotators: Sequence[str], between: Between) -> dict[str, shown_rules.Recall]:
    """For each matching: the spans found, the estimated spans that nobody found, and the recall of annotators."""
    result: dict[str, shown_rules.Recall] = {}
    for matching in MatchCriterion:
        groups = captures.groups[matching]
        around, found = recall_intervals(groups, captures.notes, annotators, between), found_in(groups)
        result[str(matching)] = {
            "found": found.known,
            "hidden": found.hidden if found.twice else None,
            "annotators": [
                {
                    "annotators": number,
                    "projected": found.projected_for(number),
                    **shown_rules.shown(found.recall(number), around.annotators[number]),
                }
                for number in COUNTS
            ],
            "each": [
                {"annotator": name, **shown_rules.shown(found.recall_of(name), around.each[name])}
                for name in annotators
            ],
        }
    return result


# Pairwise F1 over spans: how many spans two annotators share, exactly and by overlap. The figure is symmetric.


ValuedBounds = tuple[int, int, str]
"""Start, end (code points, end-exclusive) and the value that is compared."""


@dataclass(slots=True)
class PairCounts:
    """Counts of two annotators' spans in their common notes; `overlapping` counts one-to-one pairs with exact ones."""

    notes: int = 0
    ours: int = 0
    theirs: int = 0
    exact: int = 0
    overlapping: int = 0

    def add(self, ours: set[ValuedBounds], theirs: set[ValuedBounds]) -> None:
        """Add one note's spans. Pairs overlap and have the same value: exact pairs first, then as many as possible."""
        same = len(ours & theirs)
        self.notes += 1
        self.ours += len(ours)
        self.theirs += len(theirs)
        self.exact += same
        self.overlapping += same
        if len(ours) > same and len(theirs) > same:
            self.overlapping += _paired(sorted(ours - theirs), sorted(theirs - ours))

    def f1(self, matched: int) -> coefficients.Value:
        """The F1, 2 · matched / (ours + theirs). Undefined if neither annotator marked anything."""
        spans = self.ours + self.theirs
        if not self.notes:
            return coefficients.Value(None, coefficients.NOT_IN_COMMON)
        if not spans:
            return coefficients.Value(None, coefficients.NEITHER_MARKED)
        return coefficients.Value(2 * matched / spans)


def _paired(ours: Sequence[ValuedBounds], theirs: Sequence[ValuedBounds]) -> int:
    """The largest number of pairs of overlapping spans with the same value; the input has no exact pairs."""
    edges = list(_touching(ours, theirs))
    first, second = {a for a, _ in edges}, {b for _, b in edges}
    if len(edges) == len(first) == len(second):
        return len(edges)  # each span overlaps a single other one, so there is no choice
    chosen, others = [Span(*ours[a]) for a in sorted(first)], [Span(*theirs[b]) for b in sorted(second)]
    return len(match(chosen, others, compatible=lambda p, g: p.label == g.label))


def _touching(ours: Sequence[ValuedBounds], theirs: Sequence[ValuedBounds]) -> Iterator[tuple[int, int]]:
    """Indexes of spans that overlap and have the same value; both lists are in order."""
    open_spans: list[int] = []
    at = 0
    for index, (start, end, value) in enumerate(ours):
        while at < len(theirs) and theirs[at][0] < end:
            open_spans.append(at)
            at += 1
        open_spans = [other for other in open_spans if theirs[other][1] > start]
        for other in open_spans:
            if theirs[other][2] == value and theirs[other][0] < end:
                yield index, other


VERSION: Final = 5
"""The version of this computation; stored figures with another version are computed again."""


@dataclass(frozen=True, slots=True)
class Setup:
    """The annotators who are compared, in order, the label codes in order, and each label's category."""

    annotators: Sequence[str]
    labels: Sequence[str] = ()
    category_of: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class _Note:
    """A note with its patterns; `entries` are (index in the list of all patterns, count)."""

    note: int
    round: int
    mixed: bool
    annotators: int
    entries: list[tuple[int, int]]


class AgreementCounts:
    """One pass over the annotation sets: patterns of tags by note, spans shared by pairs, and who found which span."""

    def __init__(self, notes: Iterable[units.NoteAnnotationSets], setup: Setup, unit: units.ComparedUnit) -> None:
        self.setup = setup
        self.patterns: list[units.Pattern] = []
        self.notes: list[_Note] = []
        # The spans of each pair of annotators; for spans, BIO is the same as labels.
        self.shared: dict[units.Granularity, dict[tuple[str, str], PairCounts]] = {
            _span_granularity(granularity): defaultdict(PairCounts) for granularity in units.granularities(unit)
        }
        self._values = {granularity: _values(granularity, setup.category_of) for granularity in self.shared}
        self.captures = Captures()
        self._known: dict[units.Pattern, int] = {}
        counted = units.tagged_by_note(notes, setup.annotators, unit=unit, label_order=setup.labels)
        for note, found in counted:
            self._add(note, found)

    def _add(self, note: units.NoteAnnotationSets, found: Mapping[units.Pattern, int]) -> None:
        annotators = [name for name in self.setup.annotators if name in note.annotation_sets]
        entries = [(self._index(pattern), times) for pattern, times in found.items()]
        self.notes.append(_Note(note.note, note.round, note.mixed, len(annotators), entries))
        for granularity, pairs in self.shared.items():
            value = self._values[granularity]
            spans = [{(s.start, s.end, value(s.label)) for s in note.annotation_sets[name]} for name in annotators]
            for (a, ours), (b, theirs) in combinations(zip(annotators, spans, strict=True), 2):
                pairs[a, b].add(ours, theirs)
        self.captures.add(note, annotators)

    def _index(self, pattern: units.Pattern) -> int:
        index = self._known.get(pattern)
        if index is None:
            index = self._known[pattern] = len(self.patterns)
            self.patterns.append(pattern)
        return index


def _values(granularity: units.Granularity, category_of: Mapping[str, str]) -> Callable[[str], str]:
    """A function from a label to the value that is compared."""
    value = units.valuer(granularity, category_of)
    return cache(lambda label: value(f"B-{label}"))


def _span_granularity(granularity: units.Granularity) -> units.Granularity:
    return units.Granularity.SUBCATEGORY if granularity is units.Granularity.BIO else granularity


def figures(
    notes: Iterable[units.NoteAnnotationSets], setup: Setup, unit: units.ComparedUnit, *, between: Between = nothing
) -> shown_rules.AgreementFigures:
    """All figures for one unit, at all its granularities, ready for JSON.

    `between` is called while samples are drawn, so that long work can be stopped.
    """
    tally = AgreementCounts(notes, setup, unit)
    return {
        "version": VERSION,
        "unit": str(unit),
        "notes": len(tally.notes),
        "annotators": list(setup.annotators),
        "mixed": sum(note.mixed for note in tally.notes),
        "interval": {"level": bootstrap.LEVEL, "samples": bootstrap.SAMPLES, "seed": bootstrap.SEED, "over": "notes"},
        "granularities": {str(each): _Report(tally, each, between).all() for each in units.granularities(unit)},
        "recall": recall(tally.captures, setup.annotators, between),
    }


class _Report:
    """The figures at one granularity."""

    def __init__(self, tally: AgreementCounts, granularity: units.Granularity, between: Between) -> None:
        self.tally, self.granularity, self.between = tally, granularity, between
        merged = units.compared(tally.patterns, granularity, tally.setup.category_of)
        self.facts: list[coefficients.Facts] = []
        self.patterns: list[units.Pattern] = []
        known: dict[units.Pattern, int] = {}
        self.index_of: list[int] = []  # the index in `facts` for each pattern of the tally
        for pattern in merged:
            if pattern not in known:
                facts = coefficients.facts_of(pattern)
                assert facts is not None, "notes with fewer than two annotators were left out before"
                known[pattern] = len(self.facts)
                self.facts.append(facts)
                self.patterns.append(pattern)
            self.index_of.append(known[pattern])
        self.values = sorted({value for fact in self.facts for value, _ in fact.values} - {OUTSIDE})

    def all(self) -> shown_rules.GranularityFigures:
        counted, sums = self._over(self.tally.notes)
        found = self._intervals(self.tally.notes)
        around = found.named
        kappa, complete = coefficients.fleiss(counted, sums.empty)
        marked = sums.without_unmarked()
        return {
            "units": sums.units,
            "unmarked": sums.unmarked,
            "observed": shown_rules.shown(sums.observed(), around["observed"]),
            "alpha": shown_rules.shown(sums.alpha(), around["alpha"]),
            "marked": {
                "units": marked.units,
                "observed": shown_rules.shown(marked.observed(), around["observed_marked"]),
                "alpha": shown_rules.shown(marked.alpha(), around["alpha_marked"]),
            },
            "fleiss": {**shown_rules.shown(kappa), "units": complete},
            "full": shown_rules.shown(sums.share(sums.full), around["full"]),
            "majority": shown_rules.shown(sums.share(sums.majority), around["majority"]),
            "labels": self._labels(counted, sums, found.labels),
            "pairs": self._pairs(counted),
            "rounds": self._rounds(around),
            "per_note": self._per_note(),
        }

    def _over(self, notes: Sequence[_Note]) -> tuple[Counter[units.Pattern], coefficients.Sums]:
        totals = [0] * len(self.facts)
        for note in notes:
            for pattern, times in note.entries:
                totals[self.index_of[pattern]] += times
        sums = coefficients.Sums(empty=coefficients.NOTHING_MARKED if notes else coefficients.NO_UNITS)
        for facts, times in zip(self.facts, totals, strict=True):
            if times:
                sums.add(facts, times)
        return Counter({p: times for p, times in zip(self.patterns, totals, strict=True) if times}), sums

    def _intervals(self, notes: Sequence[_Note]) -> Intervals:
        entries = [[(self.index_of[pattern], times) for pattern, times in note.entries] for note in notes]
        return intervals(self.facts, entries, self.values, self.between)

    def _labels(
        self, counted: Mapping[units.Pattern, int], sums: coefficients.Sums, around: Mapping[str, Interval]
    ) -> list[shown_rules.AgreementOfLabel]:
        """The figures of each value that anybody gave, against all others; in label order."""
        total = sum(sums.totals.values())
        order = {value: at for at, value in enumerate(self._values())}
        ones = coefficients.one_by_one(counted)
        return [
            {
                "value": value,
                "units": ones[value].units,
                "full": ones[value].full,
                "alpha": shown_rules.shown(ones[value].alpha(total), around[value]),
            }
            for value in sorted(ones, key=lambda value: (order.get(value, len(order)), value))
        ]

    def _values(self) -> list[str]:
        value = units.valuer(self.granularity, self.tally.setup.category_of)
        marks = "BI" if self.granularity is units.Granularity.BIO else "B"
        return list(dict.fromkeys(value(f"{mark}-{label}") for label in self.tally.setup.labels for mark in marks))

    def _pairs(self, counted: Mapping[units.Pattern, int]) -> list[shown_rules.AgreementOfPair]:
        names = self.tally.setup.annotators
        shared = self.tally.shared[_span_granularity(self.granularity)]
        rows: list[shown_rules.AgreementOfPair] = []
        for a, b in combinations(range(len(names)), 2):
            spans = shared[names[a], names[b]]
            both = coefficients.cohen(
                counted, a, b, coefficients.NEITHER_MARKED if spans.notes else coefficients.NOT_IN_COMMON
            )
            rows.append(
                {
                    "a": names[a],
                    "b": names[b],
                    "notes": spans.notes,
                    "units": both.units,
                    "observed": shown_rules.shown(both.observed),
                    "kappa": shown_rules.shown(both.kappa),
                    "exact": shown_rules.shown(spans.f1(spans.exact)),
                    "overlap": shown_rules.shown(spans.f1(spans.overlapping)),
                    "spans": [spans.ours, spans.theirs],
                }
            )
        return rows

    def _rounds(self, of_all: Mapping[str, Interval]) -> list[shown_rules.RoundFigures]:
        by_round: dict[int, list[_Note]] = {}
        for note in self.tally.notes:
            by_round.setdefault(note.round, []).append(note)
        rows: list[shown_rules.RoundFigures] = []
        for number in sorted(by_round):
            notes = by_round[number]
            _, sums = self._over(notes)
            around = self._intervals(notes).named if len(by_round) > 1 else of_all
            marked = sums.without_unmarked()
            rows.append(
                {
                    "round": number,
                    "notes": len(notes),
                    "mixed": sum(note.mixed for note in notes),
                    "units": sums.units,
                    "observed": shown_rules.shown(sums.observed(), around["observed"]),
                    "alpha": shown_rules.shown(sums.alpha(), around["alpha"]),
                    "alpha_marked": shown_rules.shown(marked.alpha(), around["alpha_marked"]),
                }
            )
        return rows

    def _per_note(self) -> list[shown_rules.NoteFigures]:
        """The figures of each note: lowest alpha first, notes without an alpha last."""
        rows: list[shown_rules.NoteFigures] = []
        for note in self.tally.notes:
            sums = coefficients.Sums(empty=coefficients.NOTHING_MARKED)
            for pattern, times in note.entries:
                sums.add(self.facts[self.index_of[pattern]], times)
            alpha = sums.alpha()
            rows.append(
                {
                    "note": note.note,
                    "round": note.round,
                    "annotators": note.annotators,
                    "units": sums.units,
                    "differing": sums.units - sums.full,
                    "observed": sums.observed().value,
                    "alpha": alpha.value,
                    "why": alpha.why,
                }
            )
        return sorted(rows, key=lambda row: (row["alpha"] is None, row["alpha"] or 0.0, -row["differing"], row["note"]))
