"""The next note to review, by an order over the run's open proposals.

A run may propose a million spans. So nobody goes through all of them: each label of a note has a row that says how far
in front its proposals can be at most (ProposedLabel, of all of them, decided or not). Notes are taken in that order,
a few at a time, and their open proposals looked at, until what was found comes before all that is left.
"""

import heapq
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

from django.db.models import Exists, Min, OuterRef, QuerySet

from annotations.core.proposed_notes import complete
from annotations.domain.precision import Rate, likely_right
from annotations.models import AnnotationSet, Author, Label, Project, ProposedLabel, ProposedString, Review, Span, User
from annotations.review.selectors.bulk_rules import only_open
from annotations.review.selectors.ordering import Queue
from annotations.review.selectors.precision import rates_of
from annotations.review.selectors.reviewing import next_to_review

# So many notes are looked at first; each look is twice as long as the one before, up to so many.
LOOK, LONGEST_LOOK = 20, 640

Place = tuple[float, ...]
"""Where a proposal stands in an order: the lower, the sooner."""
Found = tuple[Place, int]
"""The best place in a note, and the note's id: notes that stand alike follow by id."""
Value = Callable[[int, str, float], Place]
"""The place of a proposal by its label id, source and confidence (one half where it has none)."""


def next_in_queue(author: Author, project: Project, queue: Queue, user: User, after: int = 0) -> int | None:
    """The note of the first open proposal by the order, another note than `after` where there is one.

    Where nothing is open any more, the notes that wait to be read and closed follow by id.
    """
    if not queue.plain:
        complete(author)
        found = _Line(author, project, queue, user).first(after)
        if found is not None:
            return found
    return next_to_review(author, after, user)


class _Line:
    """The notes of a run as one person meets them in one order."""

    def __init__(self, author: Author, project: Project, queue: Queue, user: User) -> None:
        self._author, self._project, self._user, self._label = author, project, user, queue.label
        self._value, self._candidates = self._by(queue.order)

    def first(self, after: int) -> int | None:
        """The first note but for `after`; that one where no other has anything open."""
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
        """The first open proposal of these notes."""
        sets = AnnotationSet.objects.filter(
            author=self._author, document__in=list(notes), state=AnnotationSet.State.SUBMITTED
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
            return (lambda _label, _source, sure: (abs(sure - 0.5),)), self._by_doubt
        if order == "false":
            rates = rates_of(self._author)

            def likely(label: int, source: str, sure: float) -> Place:
                return (likely_right(rates.get((label, source), Rate(0, 0)), sure),)

            return likely, lambda: self._by_likelihood(likely)
        if order == "label":
            labels = Label.objects.filter(label_set__project=self._project).values_list("pk", "position")
            places: dict[int, Place] = {pk: (position, pk) for pk, position in labels}
            return (lambda label, _source, _sure: places[label]), lambda: self._by_label(places)
        return (lambda _label, _source, _sure: ()), self._by_note

    def _by_doubt(self) -> Iterator[Found]:
        rows = self._rows().order_by("nearest", "document_id").values_list("nearest", "document_id")
        return (((nearest,), note) for nearest, note in _little_by_little(rows))

    def _by_likelihood(self, likely: Value) -> Iterator[Found]:
        """A line for each label and source, since the rates of these differ; merged, each begun when its turn comes."""
        # Places in the merged order; the number keeps generators from being compared. None: not begun.
        heap: list[tuple[Found, int, tuple[int, str], Iterator[Found] | None]] = [
            ((likely(label, source, 0.0), 0), number, (label, source), None)
            for number, (label, source) in enumerate(self._kinds())
        ]
        heapq.heapify(heap)
        while heap:
            found, number, (label, source), line = heapq.heappop(heap)
            if line is None:
                line = self._of_kind(label, source, likely)
            else:
                yield found
            following = next(line, None)
            if following is not None:
                heapq.heappush(heap, (following, number, (label, source), line))

    def _kinds(self) -> Iterator[tuple[int, str]]:
        """The labels and sources there are, one look into the index for each: the rows are far more."""
        rows = ProposedLabel.objects.filter(author=self._author).order_by()
        for label in [self._label] if self._label is not None else _distinct(rows, "label_id"):
            for source in _distinct(rows.filter(label_id=label), "source"):
                yield label, source

    def _of_kind(self, label: int, source: str, likely: Value) -> Iterator[Found]:
        rows = self._rows().filter(label_id=label, source=source).order_by("lowest", "document_id")
        for lowest, note in _little_by_little(rows.values_list("lowest", "document_id")):
            yield likely(label, source, lowest), note

    def _by_label(self, places: dict[int, Place]) -> Iterator[Found]:
        """The label whose turn it is, note by note; those of which nothing is undecided are passed over."""
        waiting = ProposedString.objects.filter(author=self._author, open__gt=0)
        for label in sorted(places, key=places.__getitem__):
            if self._label not in (None, label) or not waiting.filter(label_id=label).exists():
                continue
            rows = self._rows().filter(label_id=label).order_by("document_id").values_list("document_id")
            for (note,) in _little_by_little(rows):
                yield places[label], note

    def _by_note(self) -> Iterator[Found]:
        rows = self._rows().order_by("document_id").values_list("document_id")
        return (((), note) for (note,) in _little_by_little(rows))

    def _rows(self) -> "QuerySet[ProposedLabel]":
        """Of the notes that are under review, if anything of the run is undecided at all."""
        if not ProposedString.objects.filter(author=self._author, open__gt=0).exists():
            return ProposedLabel.objects.none()
        closed = Review.objects.filter(author=self._author, document=OuterRef("document"), closed_at__isnull=False)
        rows = ProposedLabel.objects.filter(~Exists(closed), author=self._author)
        return rows if self._label is None else rows.filter(label_id=self._label)


def _distinct(rows: "QuerySet[ProposedLabel]", column: str) -> Iterator[Any]:
    """The values of an indexed column, ascending."""
    value = rows.aggregate(least=Min(column))["least"]
    while value is not None:
        yield value
        value = rows.filter(**{f"{column}__gt": value}).aggregate(least=Min(column))["least"]


def _little_by_little(rows: "QuerySet[Any, Any]") -> Iterator[tuple[Any, ...]]:
    """Ordered rows, slice by slice: what nobody asks for is not read."""
    at, size = 0, LOOK
    while chunk := list(rows[at : at + size]):
        yield from chunk
        at, size = at + size, 2 * size
