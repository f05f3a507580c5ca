"""The next note to review, by an order over the run's open suggestions.

A run may suggest a million spans, so the search must not read all of them. For each note and label, a SuggestedLabel
row holds a bound on the sort keys of its suggestions, open or decided. Notes are read in the order of these bounds, a
few at a time, until the best open suggestion found comes before the bounds of all remaining notes.
"""

import heapq
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

from django.db.models import Exists, Min, OuterRef, QuerySet

from annotations.models import (
    AnnotationSet,
    AnnotationSetState,
    Author,
    Label,
    Project,
    Review,
    Span,
    SuggestedLabel,
    SuggestedString,
    User,
)
from annotations.review.rules.precision import Rate, likely_right
from annotations.review.selectors.bulk_rules import only_open
from annotations.review.selectors.ordering import NoteOrder
from annotations.review.selectors.precision import rates_of
from annotations.review.selectors.reviewing import next_to_review

# Size of the first batch of notes, and of the largest; each batch is twice as large as the one before.
LOOK, LONGEST_LOOK = 20, 640

SortKey = tuple[float, ...]
"""The position of a suggestion in an order; the lowest comes first."""
Found = tuple[SortKey, int]
"""The lowest sort key in a note, and the note's id, which breaks ties."""
Value = Callable[[int, str, float], SortKey]
"""The sort key of a suggestion by its label id, source and confidence (0.5 if it has none)."""


def next_in_queue(author: Author, project: Project, queue: NoteOrder, user: User, after: int = 0) -> int | None:
    """The id of the note with the first open suggestion by the order, other than `after` if possible.

    If no suggestion is open any more, the remaining unfinished notes follow by id.
    """
    if not queue.plain:
        found = _NoteOrder(author, project, queue, user).first(after)
        if found is not None:
            return found
    return next_to_review(author, after, user)


class _NoteOrder:
    """The notes of a run in one order, for one person."""

    def __init__(self, author: Author, project: Project, queue: NoteOrder, user: User) -> None:
        self._author, self._project, self._user, self._label = author, project, user, queue.label
        self._value, self._candidates = self._by(queue.order)

    def first(self, after: int) -> int | None:
        """The first note other than `after`; `after` itself if no other note has open suggestions."""
        found = self._first(each for each in self._candidates() if each[1] != after)
        if found is None and after and self._look([after]) is not None:
            return after
        return found[1] if found else None

    def _first(self, candidates: Iterator[Found]) -> Found | None:
        best: Found | None = None
        seen: set[int] = set()
        size = LOOK
        while batch := list(islice(candidates, size)):
            if best is not None and best <= batch[0]:
                break
            best = min(filter(None, (best, self._look({note for _, note in batch} - seen))), default=None)
            seen |= {note for _, note in batch}
            size = min(2 * size, LONGEST_LOOK)
        return best

    def _look(self, notes: Iterable[int]) -> Found | None:
        """The lowest sort key among the open suggestions of these notes."""
        sets = AnnotationSet.objects.filter(
            author=self._author, document__in=list(notes), state=AnnotationSetState.SUBMITTED
        )
        spans = Span.objects.filter(annotation_set__in=list(sets.order_by().values_list("pk", flat=True)))
        if self._label is not None:
            spans = spans.filter(label_id=self._label)
        rows: Any = only_open(spans, self._project, self._user).order_by()
        columns = ("label_id", "source", "confidence", "annotation_set__document_id")
        return min(
            (
                (self._value(label, source, 0.5 if confidence is None else confidence), note)
                for label, source, confidence, note in rows.values_list(*columns)
            ),
            default=None,
        )

    # ── Orders ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def _by(self, order: str) -> tuple[Value, Callable[[], Iterator[Found]]]:
        if order == "uncertainty":
            return (lambda _label, _source, confidence: (abs(confidence - 0.5),)), self._by_uncertainty
        if order == "false":
            rates = rates_of(self._author)

            def likely(label: int, source: str, confidence: float) -> SortKey:
                return (likely_right(rates.get((label, source), Rate(0, 0)), confidence),)

            return likely, lambda: self._by_likelihood(likely)
        if order == "label":
            labels = Label.objects.filter(label_set__project=self._project).values_list("pk", "position")
            keys: dict[int, SortKey] = {pk: (position, pk) for pk, position in labels}
            return (lambda label, _source, _confidence: keys[label]), lambda: self._by_label(keys)
        return (lambda _label, _source, _confidence: ()), self._by_note

    def _by_uncertainty(self) -> Iterator[Found]:
        rows = self._rows().order_by("nearest", "document_id").values_list("nearest", "document_id")
        return (((nearest,), note) for nearest, note in _little_by_little(rows))

    def _by_likelihood(self, likely: Value) -> Iterator[Found]:
        """Merge one ordered stream of notes per label and source, because each of these has its own rate.

        Each stream starts only when its first note may be due.
        """
        # The number keeps the generators from being compared. None stands for a stream that has not started.
        heap: list[tuple[Found, int, tuple[int, str], Iterator[Found] | None]] = [
            ((likely(label, source, 0.0), 0), number, (label, source), None)
            for number, (label, source) in enumerate(self._labels_and_sources())
        ]
        heapq.heapify(heap)
        while heap:
            found, number, (label, source), stream = heapq.heappop(heap)
            if stream is None:
                stream = self._stream(label, source, likely)
            else:
                yield found
            following = next(stream, None)
            if following is not None:
                heapq.heappush(heap, (following, number, (label, source), stream))

    def _labels_and_sources(self) -> Iterator[tuple[int, str]]:
        """The existing combinations of label and source, with one index look-up each instead of reading all rows."""
        rows = SuggestedLabel.objects.filter(author=self._author).order_by()
        for label in [self._label] if self._label is not None else _distinct(rows, "label_id"):
            for source in _distinct(rows.filter(label_id=label), "source"):
                yield label, source

    def _stream(self, label: int, source: str, likely: Value) -> Iterator[Found]:
        rows = self._rows().filter(label_id=label, source=source).order_by("lowest", "document_id")
        for lowest, note in _little_by_little(rows.values_list("lowest", "document_id")):
            yield likely(label, source, lowest), note

    def _by_label(self, keys: dict[int, SortKey]) -> Iterator[Found]:
        """Label after label, the notes by id. Labels without undecided suggestions are skipped."""
        waiting = SuggestedString.objects.filter(author=self._author, open__gt=0)
        for label in sorted(keys, key=keys.__getitem__):
            if self._label not in (None, label) or not waiting.filter(label_id=label).exists():
                continue
            rows = self._rows().filter(label_id=label).order_by("document_id").values_list("document_id")
            for (note,) in _little_by_little(rows):
                yield keys[label], note

    def _by_note(self) -> Iterator[Found]:
        rows = self._rows().order_by("document_id").values_list("document_id")
        return (((), note) for (note,) in _little_by_little(rows))

    def _rows(self) -> "QuerySet[SuggestedLabel]":
        """The rows of notes whose review is not finished; none if the run has no undecided suggestions."""
        if not SuggestedString.objects.filter(author=self._author, open__gt=0).exists():
            return SuggestedLabel.objects.none()
        finished = Review.objects.filter(author=self._author, document=OuterRef("document"), finished_at__isnull=False)
        rows = SuggestedLabel.objects.filter(~Exists(finished), author=self._author)
        return rows if self._label is None else rows.filter(label_id=self._label)


def _distinct(rows: "QuerySet[SuggestedLabel]", column: str) -> Iterator[Any]:
    """The distinct values of an indexed column in ascending order, one look-up each."""
    value = rows.aggregate(least=Min(column))["least"]
    while value is not None:
        yield value
        value = rows.filter(**{f"{column}__gt": value}).aggregate(least=Min(column))["least"]


def _little_by_little(rows: "QuerySet[Any, Any]") -> Iterator[tuple[Any, ...]]:
    """Ordered rows, read slice by slice, so that unneeded rows are not read."""
    first, size = 0, LOOK
    while chunk := list(rows[first : first + size]):
        yield from chunk
        first, size = first + size, 2 * size
