"""What a bulk act is about: the rule as it is stored, and the open proposals that it names.

Kinds of rule, all of them over `runs` (author ids):
    string     one string under one label: `string` (its key), `label`, and `but`, the ids of the exceptions
    agreed     the same place and label proposed by at least `agree` of the runs; `label` or None for any
    merged     the same, of merged lists: at least `agree` of a list's runs, and more than are for any rival of it
    threshold  confidence of at least `least`; `label` and `source`, or None for any
`to` is the label to accept with, None for the one proposed.
`with_gold`: notes that already have gold are not skipped (selectors.settled).
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from django.db.models import Count, Exists, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce

from annotations.models import AnnotationSet, Author, Handover, PlantedLeak, Project, Review, Span, User
from annotations.review.selectors.handovers import handed_on
from annotations.review.selectors.planted import not_for_bulk, without_hidden
from annotations.review.selectors.settled import settled_at, settled_sets

Kind = Literal["string", "agreed", "merged", "threshold"]


@dataclass(frozen=True, slots=True)
class Rule:
    """See the module."""

    kind: Kind
    runs: Sequence[int]
    label: int | None = None
    source: str | None = None
    least: float | None = None
    agree: int = 2
    string: int | None = None
    but: Sequence[int] = field(default_factory=list)
    to: int | None = None
    with_gold: bool = False

    def data(self) -> dict[str, Any]:
        return asdict(self)


def rule_of(stored: dict[str, Any]) -> Rule:
    return Rule(**{key: value for key, value in stored.items() if key in Rule.__dataclass_fields__})


def proposals_of(rule: Rule) -> "QuerySet[Span]":
    """What the rule names, decided or not."""
    spans = Span.objects.filter(
        annotation_set__author__in=rule.runs, annotation_set__state=AnnotationSet.State.SUBMITTED
    ).order_by()
    if rule.label is not None:
        spans = spans.filter(label_id=rule.label)
    if rule.kind == "string":
        return spans.filter(string_key=rule.string).exclude(pk__in=rule.but)
    if rule.kind == "merged":
        return spans.filter(provenance__clear__gte=rule.agree)
    if rule.kind == "agreed":
        return spans.alias(runs=_runs_alike(rule.runs)).filter(runs__gte=rule.agree)
    if rule.source is not None:
        spans = spans.filter(source=rule.source)
    return spans.filter(confidence__gte=rule.least)


def _runs_alike(runs: Sequence[int]) -> Coalesce:
    """How many of the runs propose exactly this place and label, without what is hidden: the count would tell."""
    spans = Span.objects.filter(
        annotation_set__document=OuterRef("annotation_set__document"),
        annotation_set__author__in=runs,
        # A merged list only says what its runs say.
        annotation_set__author__merged_from__isnull=True,
        annotation_set__state=AnnotationSet.State.SUBMITTED,
        start=OuterRef("start"),
        end=OuterRef("end"),
        label=OuterRef("label"),
    )
    alike = (
        without_hidden(spans).order_by().values("start").annotate(runs=Count("annotation_set__author", distinct=True))
    )
    return Coalesce(Subquery(alike.values("runs")), 0)


def open_of(rule: Rule, project: Project, user: User | None) -> "QuerySet[Span]":
    """What this person's bulk act by the rule decides, but for conflicts: no decision on it, not in gold as it is, its
    note's review neither closed nor handed on by them, its note without settled gold unless the rule includes those."""
    spans = only_open(proposals_of(rule), project, user)
    return spans if rule.with_gold else spans.filter(~Exists(settled_at(project, "annotation_set__document")))


def skipped_of(rule: Rule, project: Project, user: User | None) -> tuple[int, int]:
    """How many open proposals the rule names that its act skips, and in how many notes: those have gold already."""
    if rule.with_gold or not settled_sets(project).exists():
        return 0, 0
    spans = only_open(proposals_of(rule), project, user)
    inside = spans.filter(Exists(settled_at(project, "annotation_set__document")))
    found = inside.aggregate(proposals=Count("pk"), notes=Count("annotation_set__document", distinct=True))
    return found["proposals"], found["notes"]


def only_open(spans: "QuerySet[Span]", project: Project, user: User | None) -> "QuerySet[Span]":
    """Of these proposals those that wait for a decision, by this person where two have to decide.

    Without planted leaks: what is hidden must not be counted, and what was missed is decided one by one.
    """
    held = handed_on(user, document="annotation_set__document", author="annotation_set__author")
    closed = Review.objects.filter(
        document=OuterRef("annotation_set__document"), author=OuterRef("annotation_set__author"),
        closed_at__isnull=False,
    )  # fmt: skip
    gold = Span.objects.filter(
        # The author's id rather than a join: the constraint of one set per author begins with the note.
        annotation_set__author__in=Author.objects.filter(project=project, kind=Author.Kind.GOLD),
        annotation_set__document=OuterRef("annotation_set__document"),
        start=OuterRef("start"),
        end=OuterRef("end"),
        label=OuterRef("label"),
    )
    spans = spans.filter(decision__isnull=True).filter(~Exists(closed)).filter(~Exists(gold))
    # Asked for where such a rule is, or was: it costs each proposal a look.
    if Handover.objects.exists():
        spans = spans.filter(~Exists(held))
    return spans.filter(~Exists(not_for_bulk())) if PlantedLeak.objects.exists() else spans
