"""Suggestions in their context, from any note of the project, with the state of each."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet

from annotations.core.authors import notes_in_review
from annotations.models import Author, AuthorKind, Decision, Document, Review, Span, User
from annotations.review.selectors.doubtful import is_doubtful
from annotations.review.selectors.finished_gold import with_finished_gold
from annotations.review.selectors.handovers import handed_over_pairs
from annotations.review.selectors.planted import aliases, left_for_one
from annotations.text.search import around


@dataclass(frozen=True, slots=True)
class Occurrence:
    """A suggestion with its context. Offsets are code points, end-exclusive; pages show `alias` instead of the id.

    `state` is open, accepted, rejected, gold, draft or unavailable; `by` is the user name of the person who decided.
    gold: the suggestion has no decision, but gold already has the same span. draft: the same, but the span is only in
    the draft of an open review, which is not gold yet. unavailable: the suggestion has no decision and can't get one
    here, because the review of its note is finished or was handed over by the person who looks, or because the
    suggestion is a planted leak that the first reviewer must decide on in the note.
    `has_finished_gold`: bulk acts skip the note (selectors.finished_gold). `is_doubtful`: they skip the suggestion.
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
    has_finished_gold: bool = False
    is_doubtful: bool = False

    @property
    def is_open(self) -> bool:
        return self.state == "open"


def occurrences(spans: "QuerySet[Span]", project_id: int, user: User) -> list[Occurrence]:
    """These suggestions in the order of the query, with their state for this person.

    The query must leave out hidden planted leaks. The text of each note is read once.
    """
    rows = list(spans.select_related("annotation_set__author", "decision__reviewer"))
    one_by_one = left_for_one(row.pk for row in rows)
    documents = {row.annotation_set.document_id for row in rows}
    notes = {
        pk: (name, language, text)
        for pk, name, language, text in Document.objects.filter(pk__in=documents).values_list(
            "pk", "name", "language", "text"
        )
    }
    gold, unavailable = _gold(documents, project_id), _finished(rows) | handed_over_pairs(user, documents)
    drafts = notes_in_review(project_id, documents)
    finished_gold, alias = with_finished_gold(project_id, documents), aliases(project_id).of
    return [
        _occurrence(
            row, *notes[row.annotation_set.document_id], gold, drafts, unavailable, one_by_one=row.pk in one_by_one,
            named=alias(row.pk), has_finished_gold=row.annotation_set.document_id in finished_gold,
        )
        for row in rows
    ]  # fmt: skip


def _gold(documents: Iterable[int], project_id: int) -> set[tuple[Any, ...]]:
    authors = Author.objects.filter(project=project_id, kind=AuthorKind.GOLD)
    rows = Span.objects.filter(annotation_set__author__in=authors, annotation_set__document__in=documents)
    return set(rows.values_list("annotation_set__document_id", "start", "end", "label_id"))


def _finished(rows: Sequence[Span]) -> set[tuple[int, int]]:
    """The finished reviews of these suggestions' notes, as (note id, author id of the run)."""
    reviews = Review.objects.filter(
        document__in={row.annotation_set.document_id for row in rows},
        author__in={row.annotation_set.author_id for row in rows},
        finished_at__isnull=False,
    )
    return set(reviews.values_list("document_id", "author_id"))


def _occurrence(
    row: Span, name: str, language: str, text: str, gold: set[tuple[Any, ...]], drafts: set[int],
    unavailable: set[tuple[int, int]], *, one_by_one: bool, named: int, has_finished_gold: bool,
) -> Occurrence:  # fmt: skip
    annotation_set = row.annotation_set
    before, marked, after = around(text, (row.start, row.end))
    decision: Decision | None = getattr(row, "decision", None)
    state, by = "open", ""
    if decision is not None:
        state, by = decision.verdict, decision.reviewer.username
    elif (annotation_set.document_id, row.start, row.end, row.label_id) in gold:
        state = "draft" if annotation_set.document_id in drafts else "gold"
    elif one_by_one or (annotation_set.document_id, annotation_set.author_id) in unavailable:
        state = "unavailable"
    return Occurrence(
        row.pk, named, annotation_set.document_id, name, language, annotation_set.author.name,
        annotation_set.author_id, row.label_id, row.start, row.end, before, marked, after, row.confidence, row.source,
        state, by, has_finished_gold, is_doubtful(row.provenance),
    )  # fmt: skip
