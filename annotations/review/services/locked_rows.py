"""Gold rows and decisions of notes whose gold sets are locked.

`LockedRows` reads what decisions need with a fixed number of queries, changes it in memory, and
`write` writes all changes at once.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, NamedTuple
from uuid import UUID

from django.db.models import Case, IntegerField, QuerySet, Value, When
from django.utils import timezone

from annotations import models
from annotations.core.authors import gold_author
from annotations.core.bulk import SpanRow, insert_objects, insert_spans
from annotations.core.services import check_open
from annotations.core.spans import as_json, check_room
from annotations.core.suggestions import Key, count_open
from annotations.review.events import DecisionState, GoldRow, ReviewDecided
from annotations.review.selectors.state import Seen, shown_state
from annotations.review.selectors.suggestions import Bounds, Suggestion, around, is_finished
from annotations.review.services.log import accepted_bounds, state_of
from annotations.text.spans import LabeledBounds


class AcceptedSuggestion(NamedTuple):
    """An accepted suggestion: its id, the user name of the reviewer, and the name of the run."""

    suggestion: int
    reviewer: str
    run: str


class _Acceptances:
    """Accepted suggestions, indexed by note and gold span, and by suggestion id."""

    def __init__(self) -> None:
        self.at: dict[tuple[int, LabeledBounds], dict[int, AcceptedSuggestion]] = defaultdict(dict)
        self._of: dict[int, tuple[int, LabeledBounds]] = {}

    def put(self, suggestion: int, span: tuple[int, LabeledBounds] | None, accepted: AcceptedSuggestion) -> None:
        """Move the suggestion's acceptance to a note and gold span, or remove it (None)."""
        before = self._of.pop(suggestion, None)
        if before is not None:
            del self.at[before][suggestion]
        if span is not None:
            self._of[suggestion] = span
            self.at[span][suggestion] = accepted


@dataclass(slots=True)
class _DecisionToWrite:
    """A decision to write. `after` is None if the decision is to be deleted."""

    suggestion: Suggestion
    review: models.Review
    reviewer: int
    after: DecisionState | None


class LockedRows:
    """Notes under decision. `golds`: the locked gold sets by note id. `cause`: the id of the bulk act, if any.

    `window`: the stretch of the text outside which nothing is read and nothing may change; None without one.
    """

    def __init__(
        self,
        project: models.Project,
        user: models.User,
        golds: Mapping[int, models.AnnotationSet],
        *,
        cause: UUID | None = None,
    ) -> None:
        self.golds = golds
        self._project, self._user = project, user
        self.window: Bounds | None = None
        self._cause = None if cause is None else str(cause)
        self._now = timezone.now()
        self._decided: dict[int, _DecisionToWrite] = {}
        self._pks: dict[tuple[int, LabeledBounds], int] = {}
        self._removed: list[int] = []
        self._made: dict[tuple[int, LabeledBounds], GoldRow] = {}
        self._steps: Counter[int] = Counter()
        self._drafts: set[int] = set()
        self._events: list[models.Event] = []
        self._removals: dict[tuple[int, int], tuple[int, str | None]] = {}
        self._conflicting: dict[int, list[Suggestion]] = {}
        self._passes: dict[int, ReviewDecided] = {}

    def look_around(self, spans: Iterable[Sequence[Any]]) -> None:
        """Limit what is read of gold to the stretch of text around these spans. Nothing outside it may change."""
        self.window = around(spans)

    @cached_property
    def rows(self) -> dict[int, dict[LabeledBounds, GoldRow]]:
        """The current gold spans: rows by note id, then by bounds and label."""
        found: dict[int, dict[LabeledBounds, GoldRow]] = {note: {} for note in self.golds}
        note_of = {gold.pk: note for note, gold in self.golds.items()}
        lookups = {} if self.window is None else {"start__lt": self.window[1], "end__gt": self.window[0]}
        rows = _spans().filter(annotation_set__in=list(note_of), **lookups)
        for pk, gold, start, end, label, *more in rows:
            bounds = start, end, label
            confidence, source, provenance, attributes = more
            found[note_of[gold]][bounds] = (*bounds, confidence, source, provenance, attributes)
            self._pks[note_of[gold], bounds] = pk
        return found

    @cached_property
    def _acceptances(self) -> "_Acceptances":
        rows = models.Decision.objects.filter(review__document__in=list(self.golds), start__isnull=False).order_by("pk")
        if self.window is not None:
            rows = rows.filter(start__lt=self.window[1], end__gt=self.window[0])
        columns = (
            "suggestion_id", "review__document_id", "start", "end", "label_id", "reviewer__username",
            "review__author__name",
        )  # fmt: skip
        found = _Acceptances()
        for suggestion, note, start, end, label, reviewer, run in rows.values_list(*columns):
            found.put(suggestion, (note, (start, end, label)), AcceptedSuggestion(suggestion, reviewer, run))
        for each in self._decided.values():
            self._move(found, each)
        return found

    def _move(self, acceptances: "_Acceptances", each: "_DecisionToWrite") -> None:
        one, bounds = each.suggestion, accepted_bounds(each.after)
        now = AcceptedSuggestion(one.pk, self._user.username, one.author_name)
        acceptances.put(one.pk, (one.document_id, bounds) if bounds else None, now)

    def accepted_elsewhere(self, note: int, bounds: LabeledBounds, suggestion: int | None) -> AcceptedSuggestion | None:
        """Another suggestion than `suggestion` that was accepted as the same gold span, if any."""
        accepted = self._acceptances.at.get((note, bounds), {})
        return next((one for pk, one in accepted.items() if pk != suggestion), None)

    def state(self, one: Suggestion) -> DecisionState | None:
        """The decision on a suggestion in the form of the log; None if the suggestion is open."""
        written = self._decided.get(one.pk)
        return written.after if written else state_of(one.decision)

    def seen(self, one: Suggestion) -> Seen:
        """The state that pages show: accepted if gold holds the span, whoever added it."""
        return shown_state(self.rows[one.document_id], one.bounds, one.decision)

    def has_finished_gold(self, note: int) -> bool:
        """Whether the note has finished gold (selectors.finished_gold)."""
        return is_finished(self.golds[note].state, self.golds[note].submitted_at)

    # ── Changes ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def remove_rows(self, note: int, rows: Iterable[GoldRow], suggestion: int | None = None) -> list[GoldRow]:
        """Remove rows from gold, except those accepted as another suggestion. Returns the removed rows."""
        removed = [row for row in rows if not self.accepted_elsewhere(note, bounds_of(row), suggestion)]
        for row in removed:
            bounds = bounds_of(row)
            self.rows[note].pop(bounds, None)
            self._made.pop((note, bounds), None)
            if (pk := self._pks.pop((note, bounds), None)) is not None:
                self._removed.append(pk)
        return removed

    def add_rows(self, note: int, rows: Iterable[GoldRow]) -> None:
        """Add rows to gold, unless gold already has the span."""
        for row in rows:
            bounds = bounds_of(row)
            if bounds not in self.rows[note]:
                self.rows[note][bounds] = self._made[note, bounds] = row

    def _replace_rows(self, note: int, rows: Iterable[GoldRow]) -> None:
        """Replace the rows of gold spans by rows with other attributes."""
        for row in rows:
            bounds = bounds_of(row)
            if (pk := self._pks.pop((note, bounds), None)) is not None:
                self._removed.append(pk)
            self.rows[note][bounds] = self._made[note, bounds] = row

    def set_decision(self, one: Suggestion, review: models.Review, reviewer: int, after: DecisionState | None) -> None:
        """Set or delete (None) the decision on a suggestion."""
        each = self._decided[one.pk] = _DecisionToWrite(one, review, reviewer, after)
        if "_acceptances" in self.__dict__:  # when acceptances are loaded later, they include this decision
            self._move(self._acceptances, each)

    def set_verdict(self, review: models.Review, number: int, reviewer: int, verdict: str | None) -> None:
        """Set or delete (None) the decision on a proposed removal."""
        self._removals[review.pk, number] = reviewer, verdict

    def write(self, *, room_checked: bool = False) -> None:
        """Write all changes inside the caller's transaction.

        Raises ServiceError `room` if a note's gold would hold too many spans. `room_checked`: the caller has checked
        `has_room` for every added span.
        """
        if self._removed:
            models.Span.objects.filter(pk__in=self._removed).delete()
        if self._made:
            insert_spans(_span_row(self.golds[note].pk, row) for (note, _), row in self._made.items())
        self._write_decisions()
        self._write_verdicts()
        if self._events:
            check_open(self._project.pk)
            insert_objects(models.Event, self._events)
        self._write_versions()
        if not room_checked:
            for note, gold in self.golds.items():
                check_room(gold.pk, [(start, end) for added_to, (start, end, _) in self._made if added_to == note])

    def _write_decisions(self) -> None:
        new: list[models.Decision] = []
        others: list[models.Decision] = []
        removed: list[int] = []
        strings: Counter[Key] = Counter()
        for pk, each in self._decided.items():
            one, was = each.suggestion, each.suggestion.decision is not None
            if each.after is None:
                removed += [pk] if was else []
            else:
                (others if was else new).append(_row_of_decision(each, self._now))
            if one.string_key is not None:
                strings[one.author_id, one.string_key, one.label_id] += was - (each.after is not None)
        if removed:
            models.Decision.objects.filter(suggestion__in=removed).delete()
        if others:
            fields = ["review", "verdict", "start", "end", "label_id", "reviewer", "cause", "at"]
            models.Decision.objects.bulk_create(
                others, update_conflicts=True, unique_fields=["suggestion"], update_fields=fields
            )
        if new:
            insert_objects(models.Decision, new)
        count_open(dict(strings))

    def _write_verdicts(self) -> None:
        kept = [
            models.RemovalDecision(review_id=review, number=number, reviewer_id=reviewer, verdict=verdict, at=self._now)
            for (review, number), (reviewer, verdict) in self._removals.items()
            if verdict is not None
        ]
        for (review, number), (_reviewer, verdict) in self._removals.items():
            if verdict is None:
                models.RemovalDecision.objects.filter(review_id=review, number=number).delete()
        models.RemovalDecision.objects.bulk_create(
            kept, update_conflicts=True, unique_fields=["review", "number"], update_fields=["verdict", "reviewer", "at"]
        )

    def _write_versions(self) -> None:
        golds = [self.golds[note] for note in self._steps]
        if golds:
            # For a single note, the usual case, a plain value is cheaper than CASE.
            each = [When(pk=gold.pk, then=Value(gold.version)) for gold in golds]
            version = Case(*each, output_field=IntegerField()) if len(golds) > 1 else Value(golds[0].version)
            models.AnnotationSet.objects.filter(pk__in=[gold.pk for gold in golds]).update(version=version)
        if self._drafts:
            models.AnnotationSet.objects.filter(pk__in=self._drafts).update(state=models.AnnotationSetState.DRAFT)


@cache
def _spans() -> "QuerySet[models.Span, Any]":
    """The query for gold spans. Cached, because every decision runs it."""
    columns = ("start", "end", "label_id", "confidence", "source", "provenance", "attributes")
    return models.Span.objects.order_by().values_list("pk", "annotation_set_id", *columns)


def bounds_of(row: GoldRow) -> LabeledBounds:
    return row[0], row[1], row[2]


def _span_row(gold: int, row: GoldRow) -> SpanRow:
    start, end, label, confidence, source, provenance, attributes = row
    how = None if provenance is None else json.dumps(provenance)
    return SpanRow(gold, start, end, label, confidence, source, how, attributes=as_json(attributes))


def _row_of_decision(each: _DecisionToWrite, now: Any) -> models.Decision:
    after = each.after
    assert after is not None  # decisions without a state are deleted instead
    start, end, label = after["bounds"] or (None, None, None)
    return models.Decision(
        suggestion_id=each.suggestion.pk, review_id=each.review.pk, verdict=after["verdict"], start=start, end=end,
        label_id=label, reviewer_id=each.reviewer, cause_id=after.get("cause"), at=now,
    )  # fmt: skip


# The rows that are locked while suggestions are decided. docs/architecture.md lists all locks in their order.


def locked_golds(project: models.Project, documents: Collection[int]) -> dict[int, models.AnnotationSet]:
    """The gold sets by note id, created if missing. The rows stay locked; locks are taken in the order of note ids."""
    if len(documents) > 1:
        # Missing rows are created before any lock, because waiting for a row that another transaction creates would
        # break the order of the locks.
        gold = models.AnnotationSet.objects.filter(document__in=documents, author__kind=models.AuthorKind.GOLD)
        there = gold.values_list("document_id", flat=True)
        _make_golds(project, set(documents).difference(there))
    while True:
        rows = models.AnnotationSet.objects.select_for_update(of=("self",)).filter(author__kind=models.AuthorKind.GOLD)
        golds = {row.document_id: row for row in rows.filter(document__in=documents).order_by("document_id")}
        if len(golds) == len(documents):
            return golds
        # If another transaction creates the rows first, the next pass of the loop waits for its locks.
        _make_golds(project, set(documents) - golds.keys())


def _make_golds(project: models.Project, documents: Collection[int]) -> None:
    if documents:
        author = gold_author(project)
        models.AnnotationSet.objects.bulk_create(
            (models.AnnotationSet(document_id=pk, author=author, blind=False) for pk in sorted(documents)),
            ignore_conflicts=True,
        )


def reviews_of(pairs: Iterable[tuple[int, int]]) -> dict[tuple[int, int], models.Review]:
    """The reviews by note id and author id of the run, created if missing.

    Call this while holding the locks, because a review may just have been finished.
    """
    wanted = set(pairs)
    rows = models.Review.objects.filter(
        document__in={note for note, _ in wanted}, author__in={run for _, run in wanted}
    )
    found = {(row.document_id, row.author_id): row for row in rows}
    if missing := sorted(wanted - found.keys()):
        models.Review.objects.bulk_create(
            (models.Review(document_id=note, author_id=run) for note, run in missing), ignore_conflicts=True
        )
        found = {(row.document_id, row.author_id): row for row in rows.all()}
    # A review row that was created ahead by the draw of planted leaks begins with the first decision.
    begun = [row for pair, row in found.items() if pair in wanted and row.ahead]
    if begun:
        models.Review.objects.filter(pk__in=[row.pk for row in begun]).update(ahead=None)
        for row in begun:
            row.ahead = None
    return found


def locked(document: models.Document, author: models.Author) -> tuple[models.Review, models.AnnotationSet]:
    """The review and the gold set of one note; the gold set's row stays locked."""
    rows = models.AnnotationSet.objects.select_for_update(of=("self",)).filter(author__kind=models.AuthorKind.GOLD)
    gold = rows.filter(document=document).order_by("id").first()
    gold = gold or locked_golds(document.project, [document.pk])[document.pk]
    return reviews_of([(document.pk, author.pk)])[document.pk, author.pk], gold
