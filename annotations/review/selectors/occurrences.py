"""Proposals in their context, from any note of the project, with how each stands."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet

from annotations.domain.finding import around
from annotations.models import Author, Decision, Document, Review, Span, User
from annotations.review.selectors.handovers import held_pairs
from annotations.review.selectors.planted import aliases, left_for_one
from annotations.review.selectors.settled import settled_among


@dataclass(frozen=True, slots=True)
class Occurrence:
    """A proposal where it stands (code points, end-exclusive). `alias` stands for its id on pages.

    `state`: open, accepted, rejected, gold or closed; `by` is who decided. Gold: it is there already; closed: open, in
    a note whose review is closed, or handed on by the person who looks and now for a second one, or just shown to the
    first reader, who decides on it there. `settled`: its note has gold that bulk acts skip.
    """

    pk: int
    alias: int
    note: int
    name: str
    language: str
    run: str
    run_id: int
    label: int
    start: int
    end: int
    before: str
    marked: str
    after: str
    confidence: float | None
    source: str
    state: str
    by: str
    settled: bool = False

    @property
    def is_open(self) -> bool:
        return self.state == "open"


def occurrences(spans: "QuerySet[Span]", project_id: int, user: User) -> list[Occurrence]:
    """These proposals, in the order of the query, as they are for this person. Each note's text is read once.

    The query leaves out what is hidden (planted leaks).
    """
    rows = list(spans.select_related("annotation_set__author", "decision__reviewer"))
    alone = left_for_one(row.pk for row in rows)
    documents = {row.annotation_set.document_id for row in rows}
    notes = {
        pk: (name, language, text)
        for pk, name, language, text in Document.objects.filter(pk__in=documents).values_list(
            "pk", "name", "language", "text"
        )
    }
    gold, closed = _gold(documents, project_id), _closed(rows) | held_pairs(user, documents)
    settled, alias = settled_among(project_id, documents), aliases(project_id).of
    return [
        _occurrence(
            row, *notes[row.annotation_set.document_id], gold, closed, alone=row.pk in alone, named=alias(row.pk),
            settled=row.annotation_set.document_id in settled,
        )
        for row in rows
    ]  # fmt: skip


def _gold(documents: Iterable[int], project_id: int) -> set[tuple[Any, ...]]:
    authors = Author.objects.filter(project=project_id, kind=Author.Kind.GOLD)
    rows = Span.objects.filter(annotation_set__author__in=authors, annotation_set__document__in=documents)
    return set(rows.values_list("annotation_set__document_id", "start", "end", "label_id"))


def _closed(rows: Sequence[Span]) -> set[tuple[int, int]]:
    reviews = Review.objects.filter(
        document__in={row.annotation_set.document_id for row in rows},
        author__in={row.annotation_set.author_id for row in rows},
        closed_at__isnull=False,
    )
    return set(reviews.values_list("document_id", "author_id"))


def _occurrence(
    row: Span, name: str, language: str, text: str, gold: set[tuple[Any, ...]], closed: set[tuple[int, int]],
    *, alone: bool, named: int, settled: bool,
) -> Occurrence:  # fmt: skip
    reading = row.annotation_set
    before, marked, after = around(text, (row.start, row.end))
    decision: Decision | None = getattr(row, "decision", None)
    state, by = "open", ""
    if decision is not None:
        state, by = decision.verdict, decision.reviewer.username
    elif (reading.document_id, row.start, row.end, row.label_id) in gold:
        state = "gold"
    elif alone or (reading.document_id, reading.author_id) in closed:
        state = "closed"
    return Occurrence(
        row.pk, named, reading.document_id, name, language, reading.author.name, reading.author_id, row.label_id,
        row.start, row.end, before, marked, after, row.confidence, row.source, state, by, settled,
    )  # fmt: skip
