"""The next note to review, by an order over the run's open suggestions.

A run may suggest a million spans, so the search must not read all of them. For each note and label, a SuggestedLabel
row holds a bound on the sort keys of its suggestions, open or decided. Notes are read in the order of these bounds, a
few at a time, until the best open suggestion found comes before the bounds of all remaining notes.
"""

import heapq
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any, NamedTuple

from django.db.models import Exists, F, Min, OuterRef, Q, QuerySet

from annotations.core.authors import gold_sets
from annotations.core.suggestions import String, expected_bits
from annotations.models import (
    Author,
    Handover,
    Label,
    Project,
    Review,
    Span,
    SuggestedLabel,
    SuggestedNote,
    SuggestedString,
    User,
)
from annotations.review.rules.precision import Rate, likely_right
from annotations.review.selectors.bulk_rules import only_open
from annotations.review.selectors.precision import rates_of
from annotations.review.selectors.reviewing import NoteOrder, next_to_review, notes_handed_over_by, sets_of

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
    if queue.order == "informative":
        return next_offered(author=author, project=project, after=after, user=user)
    found = None if queue.plain else _NoteOrder(author, project, queue, user).first(after)
    return found if found is not None else next_to_review(author, after, user)


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
        sets = sets_of(self._author).filter(document__in=list(notes))
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


# The order "most to learn": notes by expected information, mixed with notes drawn at random from the whole run.
#
# Notes chosen for their uncertainty are not a sample of the run. The notes drawn at random are: they come from the
# start of one random order of all notes, fixed when the run processed them, so precision among them is an unbiased
# estimate for the run. A note that is due in the random order and was reviewed before counts as drawn.


# One note in this many is drawn at random.
ONE_IN = 5
# Notes per look, and the largest number of looks. Few looks suffice, because a note's information only decreases.
LOOKS = 5
KEYS = 500
Drawn = Review.Drawn
# How notes are chosen that this order offers.
OFFERED = (Drawn.INFORMATION, Drawn.CHANCE)


def next_offered(*, author: Author, project: Project, after: int = 0, user: User | None = None) -> int | None:
    """The id of the note to review next, other than `after` if possible; None if every review is finished.

    Notes that `user` handed over to a second reviewer are left out. `keep_order` stores how a note was chosen.
    """
    held = notes_handed_over_by(user, author)
    waiting = Review.objects.filter(author=author, drawn=Drawn.CHANCE, finished_at__isnull=True)
    waiting = waiting.exclude(document=after).exclude(document__in=held).order_by("pk")
    if (found := waiting.values_list("document_id", flat=True).first()) is not None:
        return found
    drawn = _draw(author, held).note
    if drawn is not None and drawn != after:
        return drawn
    found = _by_information(author, project, after, held)
    return found if found is not None else next_to_review(author, after, user)


def keep_order(*, author: Author, document: int, user: User, queue: NoteOrder) -> None:
    """Store how the note was chosen, in the transaction in which a reviewer finishes its review the first time.

    `queue` is the order that chose it. Nothing is stored if it was not chosen for its suggestions. Of the order "most
    to learn", notes before it in the random order that were reviewed already are stored as drawn at random, too. So is
    this note if it is due in the random order. Apart from that, what was stored before is kept.
    """
    if queue.order == "informative":
        _keep_draw(author, document, user)
    elif not queue.plain:
        Review.objects.filter(author=author, document=document, drawn="").update(drawn=Drawn.ORDER)


def _keep_draw(author: Author, document: int, user: User) -> None:
    # The lock keeps two reviewers who finish two notes at once from counting one draw twice.
    Author.objects.select_for_update().get(pk=author.pk)
    draw = _draw(author, notes_handed_over_by(user, author))
    reviews = Review.objects.filter(author=author)
    reviews.filter(document__in=draw.reviewed).update(drawn=Drawn.CHANCE)
    if draw.note == document:
        reviews.filter(document=document).update(drawn=Drawn.CHANCE)
    else:
        reviews.filter(document=document, drawn="").update(drawn=Drawn.INFORMATION)


def _notes(author: Author) -> "QuerySet[SuggestedNote]":
    """The run's notes, without notes whose gold was made by other means than this review."""
    gold = gold_sets(author.project).filter(document=OuterRef("document"))
    read = sets_of(author).filter(document=OuterRef("document"))
    begun = _reviews(author).filter(ahead__isnull=True)
    return SuggestedNote.objects.filter(Exists(begun) | ~Exists(gold), Exists(read), author=author)


def _reviews(author: Author) -> "QuerySet[Review]":
    return Review.objects.filter(author=author, document=OuterRef("document"))


class _Draw(NamedTuple):
    """`note`: the note drawn at random that is due, if any. `reviewed`: notes before it that count as drawn."""

    reviewed: list[int]
    note: int | None


def _draw(author: Author, held: "QuerySet[Handover, int]") -> _Draw:
    reviews = Review.objects.filter(author=author)
    finished = reviews.filter(finished_at__isnull=False)
    offered = finished.filter(drawn__in=OFFERED).count()
    chance = finished.filter(drawn=Drawn.CHANCE).count()
    left = _notes(author).filter(~Exists(_reviews(author).filter(drawn=Drawn.CHANCE)))
    left = left.exclude(document__in=held).order_by("random_order", "pk")
    was_finished = Exists(_reviews(author).filter(finished_at__isnull=False))
    was_offered = Exists(_reviews(author).filter(drawn__in=OFFERED))
    reviewed: list[int] = []
    rows = left.values_list("document_id", was_finished, was_offered)
    for document, is_finished, counted in rows.iterator(chunk_size=LOOK):
        if chance * ONE_IN > offered:
            break
        if not is_finished:
            return _Draw(reviewed, document)
        reviewed.append(document)
        chance, offered = chance + 1, offered + (not counted)
    return _Draw(reviewed, None)


def _by_information(author: Author, project: Project, after: int, held: "QuerySet[Handover, int]") -> int | None:
    """The note with the highest expected information now, searched in the order of the stored upper bounds."""
    finished = _reviews(author).filter(finished_at__isnull=False)
    notes = _notes(author).filter(~Exists(finished)).exclude(document=after).order_by("-information", "pk")
    notes = notes.exclude(document__in=held)
    best: tuple[float, int] | None = None
    for at in range(0, LOOK * LOOKS, LOOK):
        bounds = dict(notes.values_list("document_id", "information")[at : at + LOOK])
        if not bounds or (best is not None and best[0] >= max(bounds.values())):
            break
        for document, bits in _expected_information(author, project, list(bounds)).items():
            if best is None or bits > best[0]:
                best = (bits, document)
    return best[1] if best is not None else None


def _expected_information(author: Author, project: Project, documents: list[int]) -> dict[int, float]:
    """The expected information of each of these notes now, in bits.

    It comes from the open suggestions, and decreases with the number of decisions on the same strings.
    """
    sets = sets_of(author).filter(document__in=documents)
    spans = only_open(Span.objects.filter(annotation_set__in=list(sets.values_list("pk", flat=True))), project, None)
    found: dict[int, list[tuple[String, float | None]]] = {document: [] for document in documents}
    rows = spans.order_by().values_list("annotation_set__document_id", "string_key", "label_id", "confidence")
    for document, key, label, confidence in rows:
        found[document].append(((key or 0, label), confidence))
    keys = sorted({string[0] for suggestions in found.values() for string, _confidence in suggestions})
    decided: dict[String, int] = {}
    for at in range(0, len(keys), KEYS):
        known = SuggestedString.objects.filter(
            Q(open__lt=F("count")), author=author, string_key__in=keys[at : at + KEYS]
        )
        decided |= {(key, label): count - left for key, label, count, left in known.values_list(
            "string_key", "label_id", "count", "open"
        )}  # fmt: skip
    return {document: expected_bits(suggestions, decided) for document, suggestions in found.items()}
