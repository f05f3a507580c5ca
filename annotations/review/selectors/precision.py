"""How many proposals were right among those that people decided one by one: the figures that bulk acts are weighed by.

Right is what was accepted exactly as proposed. Decisions of bulk acts don't count: nobody looked at these proposals.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Case, Count, F, Q, QuerySet, Value, When

from annotations.domain.precision import BANDS, Rate
from annotations.models import Author, Decision, Project, Span, User
from annotations.review.selectors.bulk_rules import Rule, open_of, proposals_of

_DECIDED = Q(decision__isnull=False, decision__cause__isnull=True)
_ACCEPTED = Q(decision__verdict=Decision.Verdict.ACCEPTED, decision__start=F("start"), decision__end=F("end"))
RIGHT = _ACCEPTED & Q(decision__label_id=F("label_id"))


def rates_by(spans: "QuerySet[Span]", *columns: str, right: Q = RIGHT) -> dict[tuple[Any, ...], Rate]:
    """The rate of these proposals for every combination of the columns; with no columns under ()."""
    counted = spans.filter(_DECIDED).order_by()
    figures = {"right": Count("pk", filter=right), "decided": Count("pk")}
    if not columns:
        return {(): Rate(**counted.aggregate(**figures))}
    rows = counted.values(*columns).annotate(**figures)
    return {tuple(row[c] for c in columns): Rate(row["right"], row["decided"]) for row in rows}


def rates_of(author: Author) -> dict[tuple[Any, ...], Rate]:
    """What was right among a run's decided proposals, by label id and source.

    From the decisions: there are far fewer of them than proposals.
    """
    counted = Decision.objects.filter(review__author=author, cause__isnull=True).order_by()
    right = Q(
        verdict=Decision.Verdict.ACCEPTED, start=F("proposal__start"), end=F("proposal__end"),
        label_id=F("proposal__label_id"),
    )  # fmt: skip
    rows: Any = counted.values_list("proposal__label_id", "proposal__source")
    counts = rows.annotate(right=Count("pk", filter=right), decided=Count("pk"))
    return {(label, source): Rate(right, decided) for label, source, right, decided in counts}


@dataclass(frozen=True, slots=True)
class Expected:
    """Of a bulk act's proposals under one label: how many there are, and the rate of what was decided by the rule."""

    label: int
    count: int
    rate: Rate


def expected_of(rule: Rule, project: Project, user: User) -> list[Expected]:
    """By label, the most first. The rate is of what the rule names and people have decided one by one."""
    right = RIGHT if rule.to is None else _ACCEPTED & Q(decision__label_id=rule.to)
    rates = rates_by(proposals_of(rule), "label_id", right=right)
    counts = open_of(rule, project, user).values("label_id").annotate(count=Count("pk")).order_by("-count", "label_id")
    return [Expected(row["label_id"], row["count"], rates.get((row["label_id"],), Rate(0, 0))) for row in counts]


def together(expected: Sequence[Expected]) -> Rate:
    """All labels as one."""
    return Rate(sum(each.rate.right for each in expected), sum(each.rate.decided for each in expected))


# ── Acceptance ───────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Accepted:
    """Decisions of one kind of proposals: as proposed, corrected, rejected; how many of them came of bulk acts."""

    key: tuple[Any, ...]
    rate: Rate
    corrected: int
    bulk: int

    @property
    def rejected(self) -> int:
        return self.rate.decided - self.rate.right - self.corrected


def proposals_by(project: Project, runs: Sequence[int] = ()) -> "QuerySet[Span]":
    """The proposals of the project's runs (of these, where some are named)."""
    authors = Author.objects.filter(project=project, kind__in=Author.MODELS)
    if runs:
        authors = authors.filter(pk__in=runs)
    return Span.objects.filter(annotation_set__author__in=authors).order_by()


def acceptance_by(spans: "QuerySet[Span]", *columns: str) -> list[Accepted]:
    """By the columns, most decided first. `band` is the band of confidence, as its place in BANDS; -1 is none."""
    rows = (
        spans.filter(decision__isnull=False)
        .annotate(band=_band())
        .values(*columns)
        .annotate(
            right=Count("pk", filter=RIGHT & Q(decision__cause__isnull=True)),
            kept=Count("pk", filter=Q(decision__verdict="accepted", decision__cause__isnull=True)),
            one_by_one=Count("pk", filter=Q(decision__cause__isnull=True)),
            bulk=Count("pk", filter=Q(decision__cause__isnull=False)),
        )
    )
    found = [
        Accepted(
            tuple(row[c] for c in columns),
            Rate(row["right"], row["one_by_one"]),
            row["kept"] - row["right"],
            row["bulk"],
        )
        for row in rows
    ]
    return sorted(found, key=lambda each: (-each.rate.decided, -each.bulk, str(each.key)))


def _band() -> Case:
    return Case(
        When(confidence__isnull=True, then=Value(-1)),
        *(When(confidence__lt=high, then=Value(at)) for at, (_, high) in enumerate(BANDS[:-1])),
        default=Value(len(BANDS) - 1),
    )
