"""All figures of agreement that the page shows and the command prints, computed from annotation sets."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Final

from annotations.agreement.rules import bootstrap, coefficients, units
from annotations.agreement.rules import shown as shown_rules
from annotations.agreement.rules.coefficients import COUNTS, AnnotatorGroup, MatchCriterion, found_in
from annotations.agreement.rules.units import Setup
from annotations.text.bio import OUTSIDE

if TYPE_CHECKING:
    from annotations.agreement.rules.bootstrap import Array
    from annotations.agreement.rules.counting import AgreementCounts

# The estimated recall of annotators, with intervals, ready for JSON.


def recall(
    groups_of: Mapping[MatchCriterion, Mapping[tuple[str, ...], AnnotatorGroup]],
    annotators: Sequence[str],
    samples: "Sequence[Array | None]",
) -> dict[str, shown_rules.Recall]:
    """For each matching: the spans found, the estimated spans that nobody found, and the recall of annotators."""
    result: dict[str, shown_rules.Recall] = {}
    for (matching, groups), sums in zip(groups_of.items(), samples, strict=True):
        around, found = bootstrap.recall_intervals(groups, sums, annotators), found_in(groups)
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


VERSION: Final = 6
"""The version of this computation; stored figures with another version are computed again."""


def figures(
    notes: Iterable[units.NoteAnnotationSets],
    setup: Setup,
    unit: units.ComparedUnit,
    *,
    between: bootstrap.Between = bootstrap.nothing,
) -> shown_rules.AgreementFigures:
    """All figures for one unit, at all its granularities, ready for JSON.

    `between` is called while samples are drawn, so that long work can be stopped.
    """
    from annotations.agreement.rules.counting import AgreementCounts

    tally = AgreementCounts(notes, setup, unit)
    reports = [_Report(tally, granularity) for granularity in units.granularities(unit)]
    found = [bootstrap.recall_contributions(groups, tally.notes) for groups in tally.groups.values()]
    samples = _samples([*(report.added for report in reports), *found], between)
    rounds = sorted(set(tally.round_of.tolist()))
    by_round = {
        number: _samples([report.added[tally.round_of == number] for report in reports], between)
        if len(rounds) > 1
        else samples
        for number in rounds
    }
    return {
        "version": VERSION,
        "unit": str(unit),
        "notes": tally.notes,
        "annotators": list(setup.annotators),
        "mixed": int(tally.mixed.sum()),
        "interval": {"level": bootstrap.LEVEL, "samples": bootstrap.SAMPLES, "seed": bootstrap.SEED, "over": "notes"},
        "granularities": {
            str(report.granularity): report.all(samples[at], {number: drawn[at] for number, drawn in by_round.items()})
            for at, report in enumerate(reports)
        },
        "recall": recall(tally.groups, setup.annotators, samples[len(reports) :]),
    }


def _samples(matrices: "Sequence[Array]", between: bootstrap.Between) -> "Sequence[Array | None]":
    """The sums of each sample; None for fewer than two notes."""
    return bootstrap.resample_each(matrices, between) if len(matrices[0]) > 1 else [None] * len(matrices)


class _Report:
    """The figures at one granularity."""

    def __init__(self, tally: "AgreementCounts", granularity: units.Granularity) -> None:
        import numpy as np

        self.tally, self.granularity = tally, granularity
        merged = units.compared(tally.patterns, granularity, tally.setup.category_of)
        self.facts: list[coefficients.Facts] = []
        self.patterns: list[units.Pattern] = []
        known: dict[units.Pattern, int] = {}
        index_of: list[int] = []  # the index in `facts` for each pattern of the tally
        for pattern in merged:
            if pattern not in known:
                facts = coefficients.facts_of(pattern)
                assert facts is not None, "notes with fewer than two annotators were left out before"
                known[pattern] = len(self.facts)
                self.facts.append(facts)
                self.patterns.append(pattern)
            index_of.append(known[pattern])
        self.values = sorted({value for fact in self.facts for value, _ in fact.values} - {OUTSIDE})
        self.pattern_of = np.array(index_of, int)[tally.pattern_of]
        entries = tally.note_of, self.pattern_of, tally.times
        self.added = bootstrap.contributions(self.facts, entries, tally.notes, self.values)

    def all(self, samples: "Array | None", by_round: "Mapping[int, Array | None]") -> shown_rules.GranularityFigures:
        """The figures. `samples` are the samples' sums of `added`, `by_round` those of the notes of each round."""
        counted, sums = self._over()
        found = bootstrap.intervals(samples, self.values)
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
            "rounds": self._rounds(by_round),
            "per_note": self._per_note(),
        }

    def _over(self, number: int | None = None) -> tuple[Counter[units.Pattern], coefficients.Sums]:
        """How often each pattern occurs in all notes or in those of a round, and the sums over them."""
        import numpy as np

        tally = self.tally
        taken = slice(None) if number is None else tally.round_of[tally.note_of] == number
        totals = np.bincount(self.pattern_of[taken], tally.times[taken], len(self.facts)).astype(int).tolist()
        sums = coefficients.Sums(empty=coefficients.NOTHING_MARKED if tally.notes else coefficients.NO_UNITS)
        for facts, times in zip(self.facts, totals, strict=True):
            if times:
                sums.add(facts, times)
        return Counter({p: times for p, times in zip(self.patterns, totals, strict=True) if times}), sums

    def _labels(
        self, counted: Mapping[units.Pattern, int], sums: coefficients.Sums, around: Mapping[str, bootstrap.Interval]
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
        shared = self.tally.shared[units.span_granularity(self.granularity)]
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

    def _rounds(self, by_round: "Mapping[int, Array | None]") -> list[shown_rules.RoundFigures]:
        rows: list[shown_rules.RoundFigures] = []
        for number, samples in by_round.items():
            notes = self.tally.round_of == number
            _, sums = self._over(number)
            around = bootstrap.intervals(samples, self.values).named
            marked = sums.without_unmarked()
            rows.append(
                {
                    "round": number,
                    "notes": int(notes.sum()),
                    "mixed": int(self.tally.mixed[notes].sum()),
                    "units": sums.units,
                    "observed": shown_rules.shown(sums.observed(), around["observed"]),
                    "alpha": shown_rules.shown(sums.alpha(), around["alpha"]),
                    "alpha_marked": shown_rules.shown(marked.alpha(), around["alpha_marked"]),
                }
            )
        return rows

    def _per_note(self) -> list[shown_rules.NoteFigures]:
        """The figures of each note: lowest alpha first, notes without an alpha last."""
        import numpy as np

        tally, sums = self.tally, bootstrap.ContributionSums(self.added, self.values)
        alpha, differing = sums.alpha(0), sums.units - sums.full
        order = np.lexsort((tally.note_ids, -differing, np.nan_to_num(alpha), np.isnan(alpha)))
        whole = (tally.note_ids, tally.round_of, tally.given.sum(axis=0), sums.units, differing)
        columns = [column[order].astype(int).tolist() for column in whole]
        rows: list[shown_rules.NoteFigures] = []
        for at, note, number, annotators, count, different, agreeing, value in zip(
            order.tolist(), *columns, sums.agreeing[order].tolist(), alpha[order].tolist(), strict=True
        ):
            why = ""
            if value != value:  # not a number: the coefficient is undefined
                given = [value for value, times in zip(self.values, sums.given[at], strict=True) if times]
                why = coefficients.only_one_value(given or [OUTSIDE]) if count else coefficients.NOTHING_MARKED
            rows.append(
                {
                    "note": note,
                    "round": number,
                    "annotators": annotators,
                    "units": count,
                    "differing": different,
                    "observed": agreeing / count if count else None,
                    "alpha": None if why else value,
                    "why": why,
                }
            )
        return rows
