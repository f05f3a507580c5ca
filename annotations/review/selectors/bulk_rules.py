"""The rule of a bulk act as it is stored, and the open suggestions that match the rule.

Kinds of rule, all of them over `runs` (author ids):
    string     one string under one label: `string` (its key), `label`, and `but`, the ids of the exceptions
    agreed     the same bounds and label suggested by at least `agree` of the runs; `label` or None for any
    merged     in merged lists: suggested by at least `agree` runs, and by more runs than any conflicting suggestion
    threshold  confidence of at least `least`; `label` and `source`, or None for any
`to` is the label to accept with; None accepts with the suggested label.
`with_gold` includes notes that already have finished gold (selectors.finished_gold), and `with_doubtful` suggestions
that are doubtful (annotations.review.selectors.suggestions). Both are skipped otherwise.
"""

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal
from uuid import UUID

from django.db.models import Count, Exists, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.shortcuts import get_object_or_404

from annotations import models
from annotations.core import suggestions
from annotations.core.bulk import batched
from annotations.review.rules.precision import Candidate, conflicting
from annotations.review.selectors.planted import not_for_bulk
from annotations.review.selectors.reviewing import handed_over_by
from annotations.review.selectors.suggestions import (
    DOUBTFUL,
    candidate_of,
    finished_gold_of,
    finished_sets,
    gold_bounds,
    with_finished_gold,
)

Kind = Literal["string", "agreed", "merged", "threshold"]


@dataclass(frozen=True, slots=True)
class BulkRule:
    """The rule of a bulk act; the module's docstring describes the fields."""

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
    with_doubtful: bool = False

    def data(self) -> dict[str, Any]:
        return asdict(self)


def acts_in(project: models.Project) -> "QuerySet[models.BulkAct]":
    """The bulk acts that were started, the newest first."""
    rows = models.BulkAct.objects.filter(project=project).exclude(state=models.ActState.PLANNED)
    return rows.select_related("user", "project").order_by("-created_at", "pk")


def act_for(project: models.Project, pk: UUID) -> models.BulkAct:
    """Return a bulk act of the project. Raises Http404."""
    return get_object_or_404(models.BulkAct.objects.select_related("project", "user"), project=project, pk=pk)


def rule_of(stored: dict[str, Any]) -> BulkRule:
    return BulkRule(**{key: value for key, value in stored.items() if key in BulkRule.__dataclass_fields__})


def suggestions_of(rule: BulkRule) -> "QuerySet[models.Span]":
    """Every suggestion that matches the rule, open or decided."""
    spans = models.Span.objects.filter(
        annotation_set__author__in=rule.runs, annotation_set__state=models.AnnotationSetState.SUBMITTED
    ).order_by()
    if rule.label is not None:
        spans = spans.filter(label_id=rule.label)
    if rule.kind == "string":
        return spans.filter(string_key=rule.string).exclude(pk__in=rule.but)
    if rule.kind == "merged":
        return spans.filter(provenance__clear__gte=rule.agree)
    if rule.kind == "agreed":
        return spans.alias(runs=_equal_runs(rule.runs)).filter(runs__gte=rule.agree)
    if rule.source is not None:
        spans = spans.filter(source=rule.source)
    return spans.filter(confidence__gte=rule.least)


def _equal_runs(runs: Sequence[int]) -> Coalesce:
    """The number of these runs that suggest exactly the same bounds and label.

    Hidden planted leaks are not counted, because the count would reveal them.
    """
    spans = models.Span.objects.filter(
        annotation_set__document=OuterRef("annotation_set__document"),
        annotation_set__author__in=runs,
        # A merged list only repeats what its runs suggest.
        annotation_set__author__merged_from__isnull=True,
        annotation_set__state=models.AnnotationSetState.SUBMITTED,
        start=OuterRef("start"),
        end=OuterRef("end"),
        label=OuterRef("label"),
    )
    counted = Count("annotation_set__author", distinct=True)
    same = suggestions.visible(spans).order_by().values("start").annotate(runs=counted)
    return Coalesce(Subquery(same.values("runs")), 0)


def open_of(rule: BulkRule, project: models.Project, user: models.User | None) -> "QuerySet[models.Span]":
    """The suggestions that a bulk act of this person decides by the rule, including those that conflict with gold.

    Each has no decision and is not in gold exactly as suggested. The review of its note is neither finished nor handed
    over by this person. Its note has no finished gold, and it is not doubtful, unless the rule includes these.
    """
    spans = _in_notes_of(rule, project, user)
    return spans if rule.with_doubtful else spans.exclude(DOUBTFUL)


def open_and_doubtful(rule: BulkRule, project: models.Project, user: models.User | None) -> tuple[int, int]:
    """The number of `open_of`, and of the doubtful suggestions that the act skips in notes that it decides."""
    spans = _in_notes_of(rule, project, user)
    if rule.with_doubtful:
        return spans.count(), 0
    found = spans.aggregate(open=Count("pk", filter=~DOUBTFUL), doubtful=Count("pk", filter=DOUBTFUL))
    return found["open"], found["doubtful"]


def _in_notes_of(rule: BulkRule, project: models.Project, user: models.User | None) -> "QuerySet[models.Span]":
    """The open suggestions that match the rule, doubtful ones too, without those in notes that the act skips."""
    spans = only_open(suggestions_of(rule), project, user)
    return spans if rule.with_gold else spans.filter(~Exists(finished_gold_of(project, "annotation_set__document")))


def skipped_of(rule: BulkRule, project: models.Project, user: models.User | None) -> tuple[int, int]:
    """Count the open suggestions that the bulk act skips because their notes have gold, and count these notes."""
    if rule.with_gold or not finished_sets(project).exists():
        return 0, 0
    spans = only_open(suggestions_of(rule), project, user)
    inside = spans.filter(Exists(finished_gold_of(project, "annotation_set__document")))
    found = inside.aggregate(suggestions=Count("pk"), notes=Count("annotation_set__document", distinct=True))
    return found["suggestions"], found["notes"]


LabeledString = tuple[int, int]
"""The key of a string and a label id."""


@dataclass(frozen=True, slots=True)
class StringCounts:
    """The suggestions of one string that wait for a decision.

    `open` counts those that a bulk act of this person decides (`open_of`), `skipped` those in the `notes` that already
    have gold, which it skips (`skipped_of`), and `doubtful` the doubtful ones elsewhere, which it skips too
    (`open_and_doubtful`).
    """

    open: int = 0
    skipped: int = 0
    notes: int = 0
    doubtful: int = 0


def waiting_by_string(
    strings: Collection[LabeledString], runs: Sequence[int], project: models.Project, user: models.User | None
) -> dict[LabeledString, StringCounts]:
    """Count the waiting suggestions of these strings in these runs, for the list of strings and the page of one alike.

    A string without any has counts of 0. The number of queries doesn't depend on the number of strings.
    """
    spans = models.Span.objects.filter(
        annotation_set__author__in=runs, annotation_set__state=models.AnnotationSetState.SUBMITTED,
        string_key__in={key for key, _ in strings}, label_id__in={label for _, label in strings},
    ).order_by()  # fmt: skip
    note, inside = "annotation_set__document", Q(inside=True)
    rows = (
        only_open(spans, project, user)
        .annotate(inside=Exists(finished_gold_of(project, note)))
        .values_list("string_key", "label_id")
        .annotate(
            outside=Count("pk", filter=~inside & ~DOUBTFUL),
            skipped=Count("pk", filter=inside),
            notes=Count(note, filter=inside, distinct=True),
            doubtful=Count("pk", filter=~inside & DOUBTFUL),
        )
    )
    columns = ("string_key", "label_id", "outside", "skipped", "notes", "doubtful")
    found = {(key, label): StringCounts(*counts) for key, label, *counts in rows.values_list(*columns)}
    return {string: found.get(string, StringCounts()) for string in strings}


def only_open(
    spans: "QuerySet[models.Span]", project: models.Project, user: models.User | None
) -> "QuerySet[models.Span]":
    """Of these suggestions, those that wait for a decision; for a second decision, only what this person may decide.

    Planted leaks are left out: hidden ones must not be counted, and missed ones must be decided one by one.
    """
    note, run = OuterRef("annotation_set__document"), OuterRef("annotation_set__author")
    handed_over = handed_over_by(user, review__document=note, review__author=run)
    finished = models.Review.objects.filter(document=note, author=run, finished_at__isnull=False)
    gold = models.Span.objects.filter(
        # A filter by author id instead of a join uses the index of the unique constraint, which begins with the note.
        annotation_set__author__in=models.Author.objects.filter(project=project, kind=models.AuthorKind.GOLD),
        annotation_set__document=note,
        start=OuterRef("start"),
        end=OuterRef("end"),
        label=OuterRef("label"),
    )
    spans = spans.filter(decision__isnull=True).filter(~Exists(finished)).filter(~Exists(gold))
    # This condition costs one look-up per suggestion, so it is added only if there is any handover.
    if models.Handover.objects.exists():
        spans = spans.filter(~Exists(handed_over))
    return spans.filter(~Exists(not_for_bulk())) if models.PlantedLeak.objects.exists() else spans


# The preview of a bulk act: how many suggestions it would decide, skip and leave open.


# Largest number of suggestions for which the preview counts conflicts. Above it, only the result counts them.
MOST = 20_000
# Notes per query.
NOTES = 500


@dataclass(frozen=True, slots=True)
class BulkPreview:
    """Counts of the suggestions that match a rule.

    `open`: open suggestions that are not skipped. `conflicts`: how many of these would stay open, or None if there are
    too many to check; `decided`: the others. `skipped`: open suggestions in the `skipped_notes` that already have gold.
    `doubtful`: doubtful open suggestions in other notes, which are skipped too.
    """

    open: int
    decided: int
    conflicts: int | None
    skipped: int
    skipped_notes: int
    doubtful: int


def preview(rule: BulkRule, act: str, project: models.Project, user: models.User) -> BulkPreview:
    found, doubtful = open_and_doubtful(rule, project, user)
    skipped, notes = skipped_of(rule, project, user)
    conflicts = _conflicts(rule, act, project, user, found)
    return BulkPreview(found, found - (conflicts or 0), conflicts, skipped, notes, doubtful)


def _conflicts(rule: BulkRule, act: str, project: models.Project, user: models.User, found: int) -> int | None:
    if act != models.BulkAct.Act.ACCEPT:
        return 0
    if found > MOST:
        return None
    columns = ("annotation_set__document", "pk", "start", "end", "label", "annotation_set", "provenance")
    candidates: dict[int, list[Candidate]] = defaultdict(list)
    for note, pk, start, end, label, annotation_set, provenance in open_of(rule, project, user).values_list(*columns):
        candidates[note].append(candidate_of(pk, (start, end, label), annotation_set, provenance, rule.to))
    count, documents = 0, list(candidates)
    for notes in batched(documents, NOTES):
        gold, finished = gold_bounds(project, notes), with_finished_gold(project, notes)
        count += sum(len(conflicting(candidates[n], gold[n], has_finished_gold=n in finished)) for n in notes)
    return count
