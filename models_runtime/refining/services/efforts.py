"""What refinements did and what they took: decisions, calls of a language model, time, tokens and cost."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Count

from annotations.models import AnnotationSet, Job
from models_runtime.backends.refining.todo import Action
from models_runtime.models import RefinedItem, Refinement
from models_runtime.runs.services.llm import servers


@dataclass(frozen=True)
class Effort:
    """The decisions of a refinement so far, and what they took.

    `seconds` is the duration of its job, without waiting in the queue; null until it ends. `answering` are the seconds
    spent on a model's answers, summed over simultaneous questions. `cost` is in `currency` at today's price of the
    server; null where no price is known.
    """

    notes: int
    annotations: int
    kept: int
    updated: int
    removed: int
    calls: int
    seconds: float | None
    answering: float
    tokens_in: int
    tokens_out: int
    cost: float | None
    currency: str


def efforts_of(rows: Sequence[Refinement]) -> dict[int, Effort]:
    """The efforts of refinements, by id."""
    counts: defaultdict[int, Counter[str]] = defaultdict(Counter)
    items = RefinedItem.objects.filter(refinement__in=rows).order_by().values_list("refinement", "action")
    for pk, action, count in items.annotate(count=Count("pk")):
        counts[pk][action] = count
    authors = [row.author_id for row in rows]
    sets = AnnotationSet.objects.filter(author__in=authors).order_by().values_list("author")
    notes = dict(sets.annotate(count=Count("pk")))
    costs = {row.pk: _cost(row) for row in rows}
    return {
        row.pk: Effort(
            notes=notes.get(row.author_id, 0),
            annotations=sum(counts[row.pk][action] for action in Action),
            kept=counts[row.pk][Action.KEEP],
            updated=counts[row.pk][Action.UPDATE],
            removed=counts[row.pk][Action.REMOVE],
            seconds=_seconds(row.job),
            calls=row.calls, answering=row.seconds, tokens_in=row.tokens_in, tokens_out=row.tokens_out,
            cost=costs[row.pk][0], currency=costs[row.pk][1],
        )
        for row in rows
    }  # fmt: skip


def _cost(row: Refinement) -> tuple[float | None, str]:
    price = next((one.price for one in servers() if one.name == row.server), None)
    return (float(price.of(row.tokens_in, row.tokens_out)), price.currency) if price else (None, "")


def _seconds(job: Job | None) -> float | None:
    if job is None or job.started_at is None or job.finished_at is None:
        return None
    return (job.finished_at - job.started_at).total_seconds()
