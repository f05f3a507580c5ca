"""In which order a run's notes are reviewed: by note, or by the open proposal that comes first by another order."""

from dataclasses import dataclass
from typing import Any, Literal, get_args

from django.db.models import Case, Exists, F, FloatField, OuterRef, QuerySet, Value, When
from django.db.models.functions import Abs, Coalesce
from django.http import QueryDict

from annotations.domain.precision import Rate
from annotations.models import Author, Project, Review, Span, User
from annotations.selectors.bulk_rules import only_open
from annotations.selectors.precision import rates_by
from annotations.selectors.reviewing import next_to_review

Order = Literal["note", "uncertainty", "false", "label", "informative"]
_LABEL_DIGITS = 19


@dataclass(frozen=True, slots=True)
class Queue:
    """How the notes follow each other; with a label, only notes where a proposal of it is open."""

    order: Order = "note"
    label: int | None = None

    @classmethod
    def of(cls, data: QueryDict) -> "Queue":
        """From an address; nonsense is the plain order."""
        order = data.get("order", "")
        label = data.get("label", "")
        known = label.isascii() and label.isdecimal() and len(label) < _LABEL_DIGITS
        return cls(order if order in get_args(Order) else "note", int(label) if known else None)  # type: ignore[arg-type]

    @property
    def plain(self) -> bool:
        return self.order == "note" and self.label is None


def next_in_queue(author: Author, project: Project, queue: Queue, user: User, after: int = 0) -> int | None:
    """The note of the first open proposal by the order, another note than `after` where there is one.

    Where nothing is open any more, the notes that wait to be read and closed follow by id.
    """
    if queue.plain:
        return next_to_review(author, after, user)
    spans = _ordered(_waiting(author, project, queue, user), author, queue.order)
    notes = spans.values_list("annotation_set__document_id", flat=True)
    found = notes.exclude(annotation_set__document_id=after).first() or notes.first()
    return found if found is not None else next_to_review(author, after, user)


def _waiting(author: Author, project: Project, queue: Queue, user: User) -> "QuerySet[Span]":
    spans = Span.objects.filter(annotation_set__author=author, annotation_set__state="submitted")
    if queue.label is not None:
        spans = spans.filter(label_id=queue.label)
    closed = Review.objects.filter(document=OuterRef("annotation_set__document"), author=author)
    return only_open(spans, project, user).exclude(Exists(closed.filter(closed_at__isnull=False)))


def _ordered(spans: "QuerySet[Span]", author: Author, order: Order) -> "QuerySet[Span]":
    by: list[Any] = []
    if order == "uncertainty":
        # A proposal without a confidence is as uncertain as can be.
        by = [Abs(Coalesce(F("confidence"), Value(0.5)) - Value(0.5))]
    elif order == "false":
        by = [_likely(rates_of(author))]
    elif order == "label":
        by = [F("label__position"), F("label_id")]
    return spans.order_by(*by, "annotation_set__document_id", "start")


def rates_of(author: Author) -> dict[tuple[Any, ...], Rate]:
    """What was right among the run's decided proposals, by label id and source."""
    return rates_by(Span.objects.filter(annotation_set__author=author), "label_id", "source")


def _likely(rates: dict[tuple[Any, ...], Rate]) -> Any:
    """`domain.precision.likely_right`, as the database computes it."""
    prior = 4.0 * Coalesce(F("confidence"), Value(0.5))
    if not rates:
        return prior
    return Case(
        *(
            When(label_id=label, source=source, then=(prior + float(rate.right)) / (rate.decided + 4.0))
            for (label, source), rate in rates.items()
        ),
        default=prior / Value(4.0),
        output_field=FloatField(),
    )
