"""Precision of suggestions that people decided one by one. The previews of bulk acts show these figures.

A suggestion is right if it was accepted exactly as suggested. Decisions of bulk acts don't count, because nobody looked
at each of these suggestions, nor do those in notes whose review isn't finished, because only finishing stores how the
note was chosen. Beside this observed precision, a preview shows the expected one: the mean calibrated confidence.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

from django.db.models import Case, Count, F, Q, QuerySet, Sum, Value, When

from annotations.core.authors import gold_sets
from annotations.core.bulk import batched
from annotations.models import Author, BulkAct, Decision, Project, Review, Span, User
from annotations.review.rules.precision import BANDS, Estimate, Rate, by_notes
from annotations.review.selectors.bulk_rules import BulkPreview, BulkRule, open_of, preview, rule_of, suggestions_of
from annotations.review.selectors.reviewing import sets_of
from annotations.review.selectors.suggestions import bounds_by_note

_DECIDED = Q(decision__isnull=False, decision__cause__isnull=True)
_ACCEPTED = Q(decision__verdict=Decision.Verdict.ACCEPTED, decision__start=F("start"), decision__end=F("end"))
RIGHT = _ACCEPTED & Q(decision__label_id=F("label_id"))
# The same condition for a query over decisions.
RIGHT_DECISION = Q(
    verdict=Decision.Verdict.ACCEPTED, start=F("suggestion__start"), end=F("suggestion__end"),
    label_id=F("suggestion__label_id"),
)  # fmt: skip


def rate_of(spans: "QuerySet[Span]") -> Rate:
    """The rate of these suggestions that were decided one by one."""
    counts = {"right": Count("pk", filter=RIGHT), "decided": Count("pk")}
    return Rate(**spans.filter(_DECIDED).order_by().aggregate(**counts))


def rates_of(author: Author) -> dict[tuple[Any, ...], Rate]:
    """The rate of a run's decided suggestions, by label id and source.

    The query starts from the decisions, because there are far fewer decisions than suggestions.
    """
    counted = Decision.objects.filter(review__author=author, cause__isnull=True).order_by()
    rows: Any = counted.values_list("suggestion__label_id", "suggestion__source")
    counts = rows.annotate(right=Count("pk", filter=RIGHT_DECISION), decided=Count("pk"))
    return {(label, source): Rate(right, decided) for label, source, right, decided in counts}


# ── Before a bulk act ────────────────────────────────────────────────────────────────────────────────────────────────

Counts = tuple[int, int]
"""Of a note: the number of right suggestions among those decided one by one, and the number of the latter."""


@dataclass(frozen=True)
class ExpectedPrecision:
    """Open suggestions of a bulk act, and what is known about the precision of such suggestions.

    `count` open suggestions have this label (0: all labels). `notes`: the counts of decided suggestions that match the
    rule, by note. `calibrated` of the open ones have a calibrated confidence; `calibrated_sum` is its sum over them.
    """

    label: int
    count: int
    notes: Mapping[int, Counts]
    calibrated: int
    calibrated_sum: float

    @cached_property
    def observed(self) -> Estimate:
        """The observed precision, with an interval over notes."""
        return by_notes(list(self.notes.values()))

    @property
    def expected(self) -> float | None:
        """The expected precision: the mean calibrated confidence of the open suggestions that have one, else None."""
        return self.calibrated_sum / self.calibrated if self.calibrated else None

    @property
    def partly(self) -> bool:
        """Whether the expected precision covers only some of the open suggestions."""
        return 0 < self.calibrated < self.count


def expected_of(rule: BulkRule, project: Project, user: User, chosen: Sequence[int]) -> list[ExpectedPrecision]:
    """What is known before a bulk act by this rule, by label, most first.

    The observed precision counts decisions as `observed_in` does, with the same `chosen`. If the rule accepts with
    another label than the suggested one, the confidences don't tell how often that is right, so no suggestion counts as
    calibrated.
    """
    right = RIGHT if rule.to is None else _ACCEPTED & Q(decision__label_id=rule.to)
    decided = observed_in(suggestions_of(rule), chosen, right)
    known = Q(raw_confidence__isnull=False)
    if rule.to is not None:
        known &= Q(label_id=rule.to)
    rows = open_of(rule, project, user).values("label_id").order_by().annotate(
        count=Count("pk"), calibrated=Count("pk", filter=known), sum=Sum("confidence", filter=known)
    )  # fmt: skip
    return [
        ExpectedPrecision(
            row["label_id"], row["count"], decided.get(row["label_id"], {}), row["calibrated"], row["sum"] or 0.0
        )
        for row in sorted(rows, key=lambda row: (-row["count"], row["label_id"]))
    ]


def together(expected: Iterable[ExpectedPrecision]) -> ExpectedPrecision:
    """The same over all labels."""
    notes: dict[int, Counts] = {}
    count = calibrated = 0
    total = 0.0
    for each in expected:
        count, calibrated, total = count + each.count, calibrated + each.calibrated, total + each.calibrated_sum
        for note, (right, decided) in each.notes.items():
            before = notes.get(note, (0, 0))
            notes[note] = before[0] + right, before[1] + decided
    return ExpectedPrecision(0, count, notes, calibrated, total)


@dataclass(frozen=True)
class PrecisionFigures:
    """Precision of an act's `count` open suggestions. Of those decided one by one in finished reviews, `right` of
    `checked` were right, in `notes` notes; `low` and `high` are the 95% interval over notes of their share.

    `expected`: the mean calibrated confidence of the `calibrated` open suggestions that have one. `only_drawn`: only
    notes that were drawn at random count, because others were chosen for their suggestions.
    """

    count: int
    right: int
    checked: int
    notes: int
    share: float | None
    low: float
    high: float
    expected: float | None
    calibrated: int
    only_drawn: bool

    @classmethod
    def of(cls, one: ExpectedPrecision, only_drawn: bool, **more: Any) -> Self:
        """`only_drawn`: some notes were not counted (`chosen_by_order`)."""
        seen = one.observed
        return cls(
            count=one.count, right=seen.right, checked=seen.counted, notes=seen.notes, share=seen.share, low=seen.low,
            high=seen.high, expected=one.expected, calibrated=one.calibrated, only_drawn=only_drawn, **more,
        )  # fmt: skip


@dataclass(frozen=True)
class PlannedAct:
    """What a planned bulk act would do: as it is, with notes that have gold, and with doubtful suggestions.

    `expected`: the precision to expect, by label; `only_drawn` as in PrecisionFigures.
    """

    found: BulkPreview
    with_gold: BulkPreview | None
    with_doubtful: BulkPreview | None
    expected: list[ExpectedPrecision]
    only_drawn: bool


def planned_act(row: BulkAct, user: User) -> PlannedAct:
    rule, asked = rule_of(row.rule), (row.act, row.project, user)
    found, chosen = preview(rule, *asked), chosen_by_order(rule.runs)
    return PlannedAct(
        found,
        preview(replace(rule, with_gold=True), *asked) if found.skipped else None,
        preview(replace(rule, with_doubtful=True), *asked) if found.doubtful else None,
        expected_of(rule, row.project, user, chosen),
        bool(chosen),
    )


def observed_in(spans: "QuerySet[Span]", chosen: Sequence[int], right: Q = RIGHT) -> dict[int, dict[int, Counts]]:
    """The counts of these suggestions that were decided one by one, by label and note, in finished reviews.

    `chosen`: runs whose notes were chosen for their suggestions (`chosen_by_order`). Of these, only notes drawn at
    random count.
    """
    counted = spans.filter(_DECIDED, decision__review__finished_at__isnull=False)
    if chosen:
        counted = counted.filter(~Q(annotation_set__author__in=chosen) | Q(decision__review__drawn=Review.Drawn.CHANCE))
    found: dict[int, dict[int, Counts]] = defaultdict(dict)
    rows: Any = counted.order_by().values_list("label_id", "annotation_set__document_id")
    for label, note, correct, decided in rows.annotate(right=Count("pk", filter=right), decided=Count("pk")):
        found[label][note] = correct, decided
    return found


def chosen_by_order(runs: Sequence[int]) -> list[int]:
    """Those of the runs of which some notes were chosen for their suggestions, such as the most uncertain ones first.

    The notes of such a run are not a sample, not even the others, which are left over from that choice. Notes that come
    one after the other are chosen without regard to their suggestions.
    """
    chosen = Review.objects.filter(author__in=runs, drawn__in=[Review.Drawn.ORDER, Review.Drawn.INFORMATION])
    return sorted(chosen.order_by().values_list("author_id", flat=True).distinct())


# ── Acceptance ───────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class AcceptanceRate(Rate):
    """Decisions on one group of suggestions: accepted as suggested, corrected, rejected, and decided by bulk acts."""

    key: tuple[Any, ...]
    corrected: int
    bulk: int

    @property
    def rejected(self) -> int:
        return self.decided - self.right - self.corrected


def suggestions_by(project: Project, runs: Sequence[int] = ()) -> "QuerySet[Span]":
    """The suggestions of these runs, or of all runs of the project if none is given."""
    authors = Author.objects.filter(project=project, kind__in=Author.MODELS)
    if runs:
        authors = authors.filter(pk__in=runs)
    return Span.objects.filter(annotation_set__author__in=authors).order_by()


def acceptance_by(spans: "QuerySet[Span]", *columns: str) -> list[AcceptanceRate]:
    """Decisions by the columns, most decided first.

    The column `band` is the index of the confidence band in BANDS, or -1 for suggestions without confidence.
    """
    rows = (
        spans.filter(decision__isnull=False)
        .annotate(band=_band())
        .values(*columns)
        .annotate(
            right=Count("pk", filter=RIGHT & Q(decision__cause__isnull=True)),
            kept=Count("pk", filter=Q(decision__verdict="accepted", decision__cause__isnull=True)),
            decided=Count("pk", filter=Q(decision__cause__isnull=True)),
            bulk=Count("pk", filter=Q(decision__cause__isnull=False)),
        )
    )
    found = [
        AcceptanceRate(
            row["right"], row["decided"], tuple(row[c] for c in columns), row["kept"] - row["right"], row["bulk"]
        )
        for row in rows
    ]
    return sorted(found, key=lambda each: (-each.decided, -each.bulk, str(each.key)))


def _band() -> Case:
    return Case(
        When(confidence__isnull=True, then=Value(-1)),
        *(When(confidence__lt=high, then=Value(at)) for at, (_, high) in enumerate(BANDS[:-1])),
        default=Value(len(BANDS) - 1),
    )


# Precision and recall of a run, estimated on the notes that were drawn at random.


BATCH = 500


@dataclass(frozen=True, slots=True)
class DrawnPrecision:
    """Precision (`right`) and recall (`found`) of a run on notes drawn at random whose review is finished."""

    run: Author
    right: Estimate
    found: Estimate

    @property
    def notes(self) -> int:
        return self.right.notes


def drawn_of(runs: Iterable[Author]) -> list[DrawnPrecision]:
    """The estimates of each run that has at least one finished note in its random sample."""
    return [drawn for run in runs if (drawn := _drawn(run)).notes]


def _drawn(run: Author) -> DrawnPrecision:
    finished = Review.objects.filter(author=run, drawn=Review.Drawn.CHANCE, finished_at__isnull=False)
    documents = list(finished.order_by("document").values_list("document_id", flat=True))
    right, found = [], []
    for batch in batched(documents, BATCH):
        sets, gold_ones = sets_of(run).filter(document__in=batch), gold_sets(run.project).filter(document__in=batch)
        suggested = bounds_by_note(annotation_set__in=list(sets.values_list("pk", flat=True)))
        gold = bounds_by_note(annotation_set__in=list(gold_ones.values_list("pk", flat=True)))
        for document in batch:
            in_run, in_gold = suggested[document], gold[document]
            right.append((len(in_run & in_gold), len(in_run)))
            found.append((len(in_run & in_gold), len(in_gold)))
    return DrawnPrecision(run, by_notes(right), by_notes(found))
