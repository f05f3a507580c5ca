"""Precision of suggestions that people decided one by one. The previews of bulk acts show these figures.

A suggestion is right if it was accepted exactly as suggested. Decisions of bulk acts don't count, because nobody looked
at each of these suggestions.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Case, Count, F, Q, QuerySet, Value, When

from annotations.domain.reviewing.precision import BANDS, Rate
from annotations.models import Author, Decision, Project, Span, User
from annotations.review.selectors.bulk_rules import Rule, open_of, suggestions_of

_DECIDED = Q(decision__isnull=False, decision__cause__isnull=True)
_ACCEPTED = Q(decision__verdict=Decision.Verdict.ACCEPTED, decision__start=F("start"), decision__end=F("end"))
RIGHT = _ACCEPTED & Q(decision__label_id=F("label_id"))
# The same condition for a query over decisions.
RIGHT_DECISION = Q(
    verdict=Decision.Verdict.ACCEPTED, start=F("suggestion__start"), end=F("suggestion__end"),
    label_id=F("suggestion__label_id"),
)  # fmt: skip


def rates_by(spans: "QuerySet[Span]", *columns: str, right: Q = RIGHT) -> dict[tuple[Any, ...], Rate]:
    """The rate of these suggestions for every combination of the columns; without columns, one rate under ()."""
    counted = spans.filter(_DECIDED).order_by()
    figures = {"right": Count("pk", filter=right), "decided": Count("pk")}
    if not columns:
        return {(): Rate(**counted.aggregate(**figures))}
    rows = counted.values(*columns).annotate(**figures)
    return {tuple(row[c] for c in columns): Rate(row["right"], row["decided"]) for row in rows}


def rates_of(author: Author) -> dict[tuple[Any, ...], Rate]:
    """The rate of a run's decided suggestions, by label id and source.

    The query starts from the decisions, because there are far fewer decisions than suggestions.
    """
    counted = Decision.objects.filter(review__author=author, cause__isnull=True).order_by()
    rows: Any = counted.values_list("suggestion__label_id", "suggestion__source")
    counts = rows.annotate(right=Count("pk", filter=RIGHT_DECISION), decided=Count("pk"))
    return {(label, source): Rate(right, decided) for label, source, right, decided in counts}


@dataclass(frozen=True, slots=True)
class Expected:
    """A bulk act's open suggestions with one label: their number, and the rate of decided suggestions by this rule."""

    label: int
    count: int
    rate: Rate


def expected_of(rule: Rule, project: Project, user: User) -> list[Expected]:
    """Number and precision by label, most first. The rate covers matching suggestions that were decided one by one."""
    right = RIGHT if rule.to is None else _ACCEPTED & Q(decision__label_id=rule.to)
    rates = rates_by(suggestions_of(rule), "label_id", right=right)
    counts = open_of(rule, project, user).values("label_id").annotate(count=Count("pk")).order_by("-count", "label_id")
    return [Expected(row["label_id"], row["count"], rates.get((row["label_id"],), Rate(0, 0))) for row in counts]


def together(expected: Sequence[Expected]) -> Rate:
    """The rate over all labels."""
    return Rate(sum(each.rate.right for each in expected), sum(each.rate.decided for each in expected))


# ── Acceptance ───────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Accepted:
    """Decisions on one group of suggestions: accepted as suggested, corrected, rejected, and decided by bulk acts."""

    key: tuple[Any, ...]
    rate: Rate
    corrected: int
    bulk: int

    @property
    def rejected(self) -> int:
        return self.rate.decided - self.rate.right - self.corrected


def suggestions_by(project: Project, runs: Sequence[int] = ()) -> "QuerySet[Span]":
    """The suggestions of these runs, or of all runs of the project if none is given."""
    authors = Author.objects.filter(project=project, kind__in=Author.MODELS)
    if runs:
        authors = authors.filter(pk__in=runs)
    return Span.objects.filter(annotation_set__author__in=authors).order_by()


def acceptance_by(spans: "QuerySet[Span]", *columns: str) -> list[Accepted]:
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
