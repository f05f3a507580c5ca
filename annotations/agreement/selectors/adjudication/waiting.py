"""The notes that wait for an adjudicator, lowest agreement first."""

from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Exists, F, FloatField, OuterRef, Q, QuerySet, Subquery, Value
from django.db.models.enums import TextChoices
from django.db.models.functions import Coalesce
from django.utils.translation import gettext_lazy as _

from annotations.agreement.selectors.adjudication.desk import LEAST_ANNOTATORS
from annotations.models import (
    Adjudication,
    AnnotationSet,
    AnnotationSetState,
    Assignment,
    AssignmentState,
    Author,
    AuthorKind,
    Comparison,
    Project,
    Resolution,
)

PAGE = 50
# The sort key of notes in which nobody marked anything: they come last.
NOTHING_MARKED = 2.0


class Show(TextChoices):
    """The filters of the list."""

    TODO = "todo", _("To adjudicate")
    BEGUN = "begun", _("Begun")
    AGAIN = "again", _("Annotations changed since")
    FINISHED = "finished", _("Finished")
    ALL = "all", _("All")


@dataclass(frozen=True)
class AdjudicationLine:
    """A note of the list. `state` is new, begun, again or finished; `pending`: the annotators yet to submit it."""

    pk: int
    name: str
    annotators: int
    pending: int
    agreement: float | None
    disputed: int
    agreed: int
    decided: int
    state: str
    gold: bool


@dataclass(frozen=True)
class ListPage:
    lines: list[AdjudicationLine]
    number: int
    pages: int
    total: int


def _notes(project: Project) -> "QuerySet[Any]":
    """The notes that at least two annotators have submitted, with the state of their adjudication."""
    author = Author.objects.filter(project=project, kind=AuthorKind.ADJUDICATED).values_list("pk", flat=True).first()
    own = AnnotationSet.objects.filter(document_id=OuterRef("document_id"), author_id=author or 0)
    finished = Adjudication.objects.filter(document_id=OuterRef("document_id"))
    return Comparison.objects.filter(project=project, annotators__gte=LEAST_ANNOTATORS).annotate(
        state_of=Subquery(own.values("state")[:1]),
        heard_then=Subquery(finished.values("heard")[:1]),
        order=Coalesce(F("agreement"), Value(NOTHING_MARKED), output_field=FloatField()),
    )


_FINISHED = Q(state_of=AnnotationSetState.SUBMITTED)
_FILTERS = {
    Show.TODO: ~_FINISHED | Q(state_of__isnull=True),
    Show.BEGUN: Q(state_of=AnnotationSetState.DRAFT),
    Show.AGAIN: _FINISHED & ~Q(heard_then=F("heard")) & ~Q(heard_then=""),
    Show.FINISHED: _FINISHED,
    Show.ALL: Q(),
}


def adjudication_list(project: Project, show: Show, number: int) -> ListPage:
    """Page `number` (from 1) of the notes. Bring the comparisons up to date before."""
    found = _notes(project).filter(_FILTERS[show])
    total = found.count()
    pages = max(1, -(-total // PAGE))
    number = min(max(number, 1), pages)
    rows = found.select_related("document").defer("document__text").order_by("order", "document_id")
    return ListPage(_lines(list(rows[(number - 1) * PAGE : number * PAGE])), number, pages, total)


def adjudication_lines(project: Project, show: Show, *, after: int | None, size: int) -> list[AdjudicationLine]:
    """The notes by id, after the note `after`. Bring the comparisons up to date before."""
    found = _notes(project).filter(_FILTERS[show], document_id__gt=after or 0)
    rows = found.select_related("document").defer("document__text").order_by("document_id")
    return _lines(list(rows[:size]))


def _lines(rows: list[Any]) -> list[AdjudicationLine]:
    ids = [row.document_id for row in rows]
    decided = dict(
        Resolution.objects.filter(document_id__in=ids).order_by().values_list("document_id").annotate(n=Count("id"))
    )
    pending = dict(
        Assignment.objects.filter(document_id__in=ids, state=AssignmentState.OPEN)
        .order_by()
        .values_list("document_id")
        .annotate(n=Count("id"))
    )
    gold = set(
        AnnotationSet.objects.filter(
            document_id__in=ids, author__kind=AuthorKind.GOLD, state=AnnotationSetState.SUBMITTED
        ).values_list("document_id", flat=True)
    )
    return [
        AdjudicationLine(
            pk=row.document_id,
            name=row.document.name,
            annotators=row.annotators,
            pending=pending.get(row.document_id, 0),
            agreement=row.agreement,
            disputed=row.disputed,
            agreed=row.agreed,
            decided=decided.get(row.document_id, 0),
            state=_state(row),
            gold=row.document_id in gold,
        )
        for row in rows
    ]


def _state(row: Any) -> str:
    state, heard = row.state_of, row.heard_then
    if state is None:
        return "new"
    if state != AnnotationSetState.SUBMITTED:
        return "begun"
    return "finished" if heard in (row.heard, "") else "again"


def numbers(project: Project) -> dict[str, int]:
    """The number of notes for each filter."""
    found = _notes(project)
    counted = found.aggregate(
        **{show.value: Count("document_id", filter=_FILTERS[show]) for show in Show if show != Show.ALL}
    )
    return counted | {Show.ALL.value: found.count()}


def next_to_adjudicate(project: Project, after: int | None) -> int | None:
    """The next unfinished note after note `after` in the order of the list; after the last, the first."""
    todo = _notes(project).filter(_FILTERS[Show.TODO]).order_by("order", "document_id")
    here = _notes(project).filter(document_id=after).values_list("order", flat=True).first() if after else None
    if here is not None and after is not None:
        later = todo.filter(Q(order__gt=here) | Q(order=here, document_id__gt=after))
        found: int | None = later.values_list("document_id", flat=True).first()
        if found is not None:
            return found
    first: int | None = todo.exclude(document_id=after or 0).values_list("document_id", flat=True).first()
    return first


def unanimous_notes(project: Project) -> "QuerySet[Any]":
    """The notes without disagreements whose adjudication nobody has begun."""
    return _notes(project).filter(disputed=0, state_of__isnull=True).order_by("document_id")


def finished_without_gold(project: Project) -> int:
    """The number of finished adjudications without gold."""
    gold = AnnotationSet.objects.filter(document_id=OuterRef("document_id"), author__kind=AuthorKind.GOLD)
    finished = AnnotationSet.objects.filter(
        author__project=project, author__kind=AuthorKind.ADJUDICATED, state=AnnotationSetState.SUBMITTED
    )
    return finished.filter(~Exists(gold)).count()
