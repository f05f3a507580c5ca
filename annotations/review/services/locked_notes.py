"""The effects of decisions on suggestions: the same code for one suggestion and for many suggestions of many notes.

`LockedNotes` holds notes whose gold sets are locked. It reads what decisions need with a fixed number of queries, each
decision changes the data in memory, and `write` writes all changes at once. The callers (single decision, undo, bulk
act, accepting the rest of a note, handover) choose the suggestions and say what is refused or left open.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, NamedTuple
from uuid import UUID

from django.db.models import Case, IntegerField, QuerySet, Value, When
from django.utils import timezone
from django.utils.translation import gettext as _

from annotations.core.archived import check_open
from annotations.core.attributes import as_json, fitting_label
from annotations.core.bulk import SpanRow, insert_objects, insert_spans
from annotations.core.errors import ServiceError
from annotations.core.events import Verb
from annotations.core.room import check_room
from annotations.core.suggested_strings import Key, count_open
from annotations.domain.crowding import crowd_in, has_room
from annotations.domain.provenance import Provenance
from annotations.domain.reviewing.conflicts import LabeledBounds, conflicting
from annotations.gold.services.provenance import decided
from annotations.models import AnnotationSet, Decision, Event, Project, RemovalDecision, Review, Span, User
from annotations.models.project import SecondReview
from annotations.review.events import REVIEW_DECIDED, Beside, DecisionState, GoldRow, RemovalStep, ReviewDecided
from annotations.review.selectors.finished_gold import is_finished
from annotations.review.selectors.handovers import between_in
from annotations.review.selectors.merged_lists import backing_of, candidate_of
from annotations.review.selectors.removals import verdicts
from annotations.review.selectors.state import Seen, shown_state
from annotations.review.selectors.suggestions import Bounds, Suggestion, around, conflicting_suggestions, excluded_by
from annotations.review.services.log import Act, Effect, accepted_bounds, pass_of, state_of


class Accepted(NamedTuple):
    """An accepted suggestion: its id, the user name of the reviewer, and the name of the run."""

    suggestion: int
    reviewer: str
    run: str


class _Acceptances:
    """Accepted suggestions, indexed by note and gold span, and by suggestion id."""

    def __init__(self) -> None:
        self.at: dict[tuple[int, LabeledBounds], dict[int, Accepted]] = defaultdict(dict)
        self._of: dict[int, tuple[int, LabeledBounds]] = {}

    def put(self, suggestion: int, span: tuple[int, LabeledBounds] | None, accepted: Accepted) -> None:
        """Move the suggestion's acceptance to a note and gold span, or remove it (None)."""
        before = self._of.pop(suggestion, None)
        if before is not None:
            del self.at[before][suggestion]
        if span is not None:
            self._of[suggestion] = span
            self.at[span][suggestion] = accepted


@dataclass(slots=True)
class _Decided:
    """A decision to write. `after` is None if the decision is to be deleted."""

    suggestion: Suggestion
    review: Review
    reviewer: int
    after: DecisionState | None


class LockedNotes:
    """Notes under decision. `golds`: the locked gold sets by note id. `cause`: the id of the bulk act, if any."""

    def __init__(
        self, project: Project, user: User, golds: Mapping[int, AnnotationSet], *, cause: UUID | None = None
    ) -> None:
        self.golds = golds
        self._project, self._user = project, user
        self._window: Bounds | None = None
        self._cause = None if cause is None else str(cause)
        self._now = timezone.now()
        self._decided: dict[int, _Decided] = {}
        self._pks: dict[tuple[int, LabeledBounds], int] = {}
        self._removed: list[int] = []
        self._made: dict[tuple[int, LabeledBounds], GoldRow] = {}
        self._steps: Counter[int] = Counter()
        self._drafts: set[int] = set()
        self._events: list[Event] = []
        self._conflicting: dict[int, list[Suggestion]] = {}
        self._passes: dict[int, ReviewDecided] = {}
        self._removals: dict[tuple[int, int], tuple[int, str | None]] = {}

    # ── Current state ────────────────────────────────────────────────────────────────────────────────────────────────

    def look_around(self, spans: Iterable[Sequence[Any]]) -> None:
        """Limit what is read of gold to the stretch of text around these spans. Nothing outside it may change."""
        self._window = around(spans)

    @cached_property
    def rows(self) -> dict[int, dict[LabeledBounds, GoldRow]]:
        """The current gold spans: rows by note id, then by bounds and label."""
        found: dict[int, dict[LabeledBounds, GoldRow]] = {note: {} for note in self.golds}
        note_of = {gold.pk: note for note, gold in self.golds.items()}
        lookups = {} if self._window is None else {"start__lt": self._window[1], "end__gt": self._window[0]}
        rows = _spans().filter(annotation_set__in=list(note_of), **lookups)
        for pk, gold, start, end, label, *more in rows:
            bounds = start, end, label
            confidence, source, provenance, attributes = more
            found[note_of[gold]][bounds] = (*bounds, confidence, source, provenance, attributes)
            self._pks[note_of[gold], bounds] = pk
        return found

    @cached_property
    def _acceptances(self) -> "_Acceptances":
        rows = Decision.objects.filter(review__document__in=list(self.golds), start__isnull=False).order_by("pk")
        if self._window is not None:
            rows = rows.filter(start__lt=self._window[1], end__gt=self._window[0])
        columns = (
            "suggestion_id", "review__document_id", "start", "end", "label_id", "reviewer__username",
            "review__author__name",
        )  # fmt: skip
        found = _Acceptances()
        for suggestion, note, start, end, label, reviewer, run in rows.values_list(*columns):
            found.put(suggestion, (note, (start, end, label)), Accepted(suggestion, reviewer, run))
        for each in self._decided.values():
            self._move(found, each)
        return found

    def _move(self, acceptances: "_Acceptances", each: "_Decided") -> None:
        one, bounds = each.suggestion, accepted_bounds(each.after)
        now = Accepted(one.pk, self._user.username, one.author_name)
        acceptances.put(one.pk, (one.document_id, bounds) if bounds else None, now)

    def accepted_elsewhere(self, note: int, bounds: LabeledBounds, suggestion: int | None) -> Accepted | None:
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

    def errors(self, reviews: Iterable[Review]) -> dict[int, ServiceError]:
        """Why this person can't decide in some of these reviews, by review id.

        Call this before making decisions in these reviews, because it also loads what the log needs about them.
        """
        listed = list(reviews)
        shared = between_in([review.pk for review in listed], self._user)
        found = {}
        for review in listed:
            handover = shared.get(review.pk)
            self._passes[review.pk] = pass_of(handover)
            if review.finished_at is not None:
                message = _("The review of this note is finished. Reopen it to change a decision.")
                found[review.pk] = ServiceError(message, code="finished")
            elif handover is not None and handover.own:
                message = _("You reviewed this note first. A different person must do the second review.")
                found[review.pk] = ServiceError(message, code="waiting")
        return found

    def load_conflicting(self, wanted: Sequence[Suggestion]) -> None:
        """Load the conflicting suggestions of these. Call this before accepting any of them."""
        self._conflicting = conflicting_suggestions(wanted)

    def conflicting(self, one: Suggestion) -> Sequence[Suggestion]:
        """The suggestions of the same merged list that conflict with this one."""
        return self._conflicting.get(one.pk, ())

    def _open_conflicting(self, one: Suggestion) -> list[Suggestion]:
        rows = self.rows[one.document_id]
        return [each for each in self.conflicting(one) if self.state(each) is None and each.bounds not in rows]

    def conflicts(self, wanted: Iterable[Suggestion], to: int | None = None) -> set[int]:
        """The ids of those suggestions that conflict with gold or with each other (domain.reviewing.conflicts)."""
        by_note: dict[int, list[Suggestion]] = defaultdict(list)
        for one in wanted:
            by_note[one.document_id].append(one)
        found: set[int] = set()
        for note, here in by_note.items():
            candidates = [candidate_of(one.pk, one.bounds, one.annotation_set_id, one.provenance, to) for one in here]
            found |= conflicting(candidates, self.rows[note], has_finished_gold=self.has_finished_gold(note))
        return found

    def crowded(self, wanted: Iterable[Suggestion]) -> set[int]:
        """The ids of notes in which not all of these suggestions have room (domain.crowding)."""
        bounds = {note: [(start, end) for start, end, _ in rows] for note, rows in self.rows.items()}
        for one in wanted:
            if one.bounds not in self.rows[one.document_id]:
                bounds[one.document_id].append((one.start, one.end))
        return {note for note, spans in bounds.items() if crowd_in(spans) is not None}

    def has_room(self, one: Suggestion) -> bool:
        rows = self.rows[one.document_id]
        return one.bounds in rows or has_room([(start, end) for start, end, _ in rows], (one.start, one.end))

    # ── Decisions ────────────────────────────────────────────────────────────────────────────────────────────────────

    def decide(
        self, one: Suggestion, accepted: LabeledBounds | None, review: Review, act: Act, *,
        change_id: UUID | None = None, noted: ReviewDecided | None = None,
    ) -> list[int]:  # fmt: skip
        """Accept a suggestion with the bounds and label `accepted`, or reject it (None).

        Returns the ids of the decided suggestions: this one and the conflicting ones that were rejected with it; none
        if nothing would change. Raises ServiceError `elsewhere`.
        """
        excluded = excluded_by(accepted, self._open_conflicting(one)) if accepted else []
        effect = self._rejection(one) if accepted is None else self._acceptance(one, accepted, excluded)
        if effect is None:
            return []
        named = {each.pk: each for each in (one, *excluded)}
        self.do(effect, one.document_id, review, named, act=act, change_id=change_id, noted=noted)
        return [one.pk, *(each.pk for each in excluded)]

    def _rejection(self, one: Suggestion) -> Effect | None:
        rows = self.rows[one.document_id]
        before, removed = self.state(one), self._row_made_by(one)
        if one.bounds in rows:
            self.check_accepted_elsewhere(one.document_id, one.bounds, one.pk)
            # The span leaves gold even if something else put it there, because the reviewer says that it is wrong.
            removed += [row for row in [rows[one.bounds]] if row not in removed]
        after = self._state_after(None)
        return None if before == after and not removed else Effect(one.pk, before, after, [], removed)

    def _acceptance(self, one: Suggestion, accepted: LabeledBounds, excluded: Sequence[Suggestion]) -> Effect | None:
        rows = self.rows[one.document_id]
        before, removed = self.state(one), self._row_made_by(one)
        after = self._state_after(accepted)
        if before == after and accepted in rows:
            return None
        # A span that gold already has keeps its row and its provenance.
        stays = accepted in rows and rows[accepted] not in removed
        added: list[GoldRow] = []
        if not stays:
            # A corrected suggestion keeps the attributes that a person gave to its gold span.
            label, attributes = (removed[0][2], removed[0][6]) if removed else (one.label_id, one.attributes)
            if accepted[2] != label:
                attributes = fitting_label(attributes, accepted[2])
            added.append((*accepted, one.confidence, one.source, self._provenance(one, accepted), attributes))
        beside: list[Beside] = [(each.pk, None, self._state_after(None)) for each in excluded]
        return Effect(one.pk, before, after, added, removed, beside)

    def _state_after(self, accepted: LabeledBounds | None) -> DecisionState:
        """The state of a suggestion accepted with these bounds and label, or rejected (None)."""
        verdict = Decision.Verdict.ACCEPTED if accepted else Decision.Verdict.REJECTED
        state: DecisionState = {"verdict": str(verdict), "bounds": list(accepted) if accepted else None}
        if self._cause is not None:
            state["cause"] = self._cause
        return state

    def _row_made_by(self, one: Suggestion) -> list[GoldRow]:
        """The gold row that an earlier acceptance of this suggestion made, unless another acceptance needs it too."""
        accepted = accepted_bounds(self.state(one))
        row = self.rows[one.document_id].get(accepted) if accepted else None
        if accepted is None or row is None or (row[5] or {}).get("suggestion") != one.pk:
            return []
        return [] if self.accepted_elsewhere(one.document_id, accepted, one.pk) else [row]

    def check_accepted_elsewhere(self, note: int, bounds: LabeledBounds, suggestion: int | None) -> None:
        """Raise ServiceError `elsewhere` if the gold span was also accepted as another suggestion."""
        other = self.accepted_elsewhere(note, bounds, suggestion)
        if other is not None:
            raise ServiceError(
                _("%(username)s accepted this span as a suggestion of %(name)s. Undo that decision first.")
                % {"username": other.reviewer, "name": other.run},
                code="elsewhere",
            )

    def _provenance(self, one: Suggestion, accepted: LabeledBounds) -> Provenance:
        changed = ["bounds"] if accepted[:2] != one.bounds[:2] else []
        changed += ["label"] if accepted[2] != one.label_id else []
        known: Provenance = {
            "from": f"{one.author_kind}:{one.author_name}",
            "set": one.annotation_set_id,
            "suggestion": one.pk,
            "confidence": one.confidence,
            "source": one.source,
            "changed": changed,
        }
        if self._cause is not None:
            known["cause"] = self._cause
        backing = backing_of(one.provenance)
        if backing:
            # In a merged list: the runs that suggested the span, with their confidence, and the number of runs merged.
            known |= {"runs": backing["runs"], "of": backing["of"]}
        return known | decided(self._user, self._project, self._now)

    def do(
        self, effect: Effect, note: int, review: Review, named: Mapping[int, Suggestion], *, act: Act,
        verb: Verb[ReviewDecided] = REVIEW_DECIDED, change_id: UUID | None = None, reverts: int | None = None,
        noted: ReviewDecided | None = None,
    ) -> None:  # fmt: skip
        """Apply an effect as one event and one step of the gold version. `named`: the suggestions that it decides."""
        data = effect.data() | {"act": str(act), "run": review.author_id}
        if self._cause is not None:
            data["cause"] = self._cause
        if effect.suggestion is not None and effect.before:
            data |= self._overruled(named[effect.suggestion])
        data = data | self._passes.get(review.pk, {}) | (noted or {})
        if effect.removal is not None:
            data |= self._step(review, effect.removal)
        if effect.sets_attributes:
            self._replace_rows(note, effect.added)
        else:
            self.remove_rows(note, effect.removed, effect.suggestion)
            self.add_rows(note, effect.added)
        for pk, after in [(effect.suggestion, effect.after), *((row[0], row[2]) for row in effect.beside)]:
            if pk is not None:
                self.set_decision(named[pk], review, self._user.pk, after)
        gold = self.golds[note]
        self._steps[note] += 1
        gold.version += 1
        if (effect.added or effect.removed) and self._project.second_review != SecondReview.OFF:
            # With the two-person rule, changed gold does not count until the second person has finished the review.
            gold.state = AnnotationSet.State.DRAFT
            self._drafts.add(gold.pk)
        self._events.append(
            Event(
                verb=verb,
                actor_id=self._user.pk,
                project_id=self._project.pk,
                document_id=note,
                annotation_set_id=gold.pk,
                data=data,
                change_id=change_id,
                reverts=reverts,
            )
        )

    def _overruled(self, one: Suggestion) -> ReviewDecided:
        """The id of the other reviewer whose decision is replaced, for the log; empty for the user's own decision."""
        reviewer = one.decision.reviewer_id if one.decision else self._user.pk
        return {} if reviewer == self._user.pk else {"over": reviewer}

    def _step(self, review: Review, step: RemovalStep) -> ReviewDecided:
        """Decide on a proposed removal. Returns the other reviewer whose decision is replaced, for the log."""
        number, before, after = step
        earlier = verdicts(review.pk).get(number) if before else None
        self.set_verdict(review, number, self._user.pk, after)
        return {"over": earlier.reviewer_id} if earlier and earlier.reviewer_id != self._user.pk else {}

    def set_verdict(self, review: Review, number: int, reviewer: int, verdict: str | None) -> None:
        """Set or delete (None) the decision on a proposed removal."""
        self._removals[review.pk, number] = reviewer, verdict

    def check_unchanged(self, note: int, effect: Effect, named: Mapping[int, Suggestion], review: Review) -> None:
        """Raise ServiceError `moved` if decisions made since keep this effect from being undone or redone."""
        rows = self.rows[note]
        if effect.sets_attributes:
            if any(_bounds(row) not in rows or rows[_bounds(row)][6] != row[6] for row in effect.removed):
                raise _changed_since()
            return
        if effect.removal is not None:
            number, verdict, _after = effect.removal
            now = verdicts(review.pk).get(number)
            if (now.verdict if now else None) != verdict:
                raise _changed_since()
        before = [(effect.suggestion, effect.before), *((row[0], row[1]) for row in effect.beside)]
        unchanged = (
            all(_bounds(row) in rows for row in effect.removed)
            and not any(
                _bounds(row) in rows and not self.accepted_elsewhere(note, _bounds(row), effect.suggestion)
                for row in effect.added
            )
            and all(pk in named and self.state(named[pk]) == state for pk, state in before if pk is not None)
        )
        if not unchanged:
            raise _changed_since()

    # ── Rows ─────────────────────────────────────────────────────────────────────────────────────────────────────────

    def remove_rows(self, note: int, rows: Iterable[GoldRow], suggestion: int | None = None) -> list[GoldRow]:
        """Remove rows from gold, except those accepted as another suggestion. Returns the removed rows."""
        removed = [row for row in rows if not self.accepted_elsewhere(note, _bounds(row), suggestion)]
        for row in removed:
            bounds = _bounds(row)
            self.rows[note].pop(bounds, None)
            self._made.pop((note, bounds), None)
            if (pk := self._pks.pop((note, bounds), None)) is not None:
                self._removed.append(pk)
        return removed

    def add_rows(self, note: int, rows: Iterable[GoldRow]) -> None:
        """Add rows to gold, unless gold already has the span."""
        for row in rows:
            bounds = _bounds(row)
            if bounds not in self.rows[note]:
                self.rows[note][bounds] = self._made[note, bounds] = row

    def _replace_rows(self, note: int, rows: Iterable[GoldRow]) -> None:
        """Replace the rows of gold spans by rows with other attributes."""
        for row in rows:
            bounds = _bounds(row)
            if (pk := self._pks.pop((note, bounds), None)) is not None:
                self._removed.append(pk)
            self.rows[note][bounds] = self._made[note, bounds] = row

    def set_decision(self, one: Suggestion, review: Review, reviewer: int, after: DecisionState | None) -> None:
        """Set or delete (None) the decision on a suggestion."""
        each = self._decided[one.pk] = _Decided(one, review, reviewer, after)
        if "_acceptances" in self.__dict__:  # when acceptances are loaded later, they include this decision
            self._move(self._acceptances, each)

    def write(self, *, room_checked: bool = False) -> None:
        """Write all changes inside the caller's transaction.

        Raises ServiceError `room` if a note's gold would hold too many spans. `room_checked`: the caller has checked
        `has_room` for every added span.
        """
        if self._removed:
            Span.objects.filter(pk__in=self._removed).delete()
        if self._made:
            insert_spans(_span_row(self.golds[note].pk, row) for (note, _), row in self._made.items())
        self._write_decisions()
        self._write_verdicts()
        if self._events:
            check_open(self._project.pk)
            insert_objects(Event, self._events)
        self._write_versions()
        if not room_checked:
            for note, gold in self.golds.items():
                check_room(gold.pk, [(start, end) for added_to, (start, end, _) in self._made if added_to == note])

    def _write_decisions(self) -> None:
        new: list[Decision] = []
        others: list[Decision] = []
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
            Decision.objects.filter(suggestion__in=removed).delete()
        if others:
            fields = ["review", "verdict", "start", "end", "label_id", "reviewer", "cause", "at"]
            Decision.objects.bulk_create(
                others, update_conflicts=True, unique_fields=["suggestion"], update_fields=fields
            )
        if new:
            insert_objects(Decision, new)
        count_open(dict(strings))

    def _write_verdicts(self) -> None:
        kept = [
            RemovalDecision(review_id=review, number=number, reviewer_id=reviewer, verdict=verdict, at=self._now)
            for (review, number), (reviewer, verdict) in self._removals.items()
            if verdict is not None
        ]
        for (review, number), (_reviewer, verdict) in self._removals.items():
            if verdict is None:
                RemovalDecision.objects.filter(review_id=review, number=number).delete()
        RemovalDecision.objects.bulk_create(
            kept, update_conflicts=True, unique_fields=["review", "number"], update_fields=["verdict", "reviewer", "at"]
        )

    def _write_versions(self) -> None:
        golds = [self.golds[note] for note in self._steps]
        if golds:
            # For a single note, the usual case, a plain value is cheaper than CASE.
            each = [When(pk=gold.pk, then=Value(gold.version)) for gold in golds]
            version = Case(*each, output_field=IntegerField()) if len(golds) > 1 else Value(golds[0].version)
            AnnotationSet.objects.filter(pk__in=[gold.pk for gold in golds]).update(version=version)
        if self._drafts:
            AnnotationSet.objects.filter(pk__in=self._drafts).update(state=AnnotationSet.State.DRAFT)


@cache
def _spans() -> "QuerySet[Span, Any]":
    """The query for gold spans. Cached, because every decision runs it."""
    columns = (
        "pk",
        "annotation_set_id",
        "start",
        "end",
        "label_id",
        "confidence",
        "source",
        "provenance",
        "attributes",
    )
    return Span.objects.order_by().values_list(*columns)


def _changed_since() -> ServiceError:
    return ServiceError(_("Later decisions changed this span, so this step can't be undone or redone."), code="moved")


def _bounds(row: GoldRow) -> LabeledBounds:
    return row[0], row[1], row[2]


def _span_row(gold: int, row: GoldRow) -> SpanRow:
    start, end, label, confidence, source, provenance, attributes = row
    how = None if provenance is None else json.dumps(provenance)
    return SpanRow(gold, start, end, label, confidence, source, how, attributes=as_json(attributes))


def _row_of_decision(each: _Decided, now: Any) -> Decision:
    after = each.after
    assert after is not None  # decisions without a state are deleted instead
    start, end, label = after["bounds"] or (None, None, None)
    return Decision(
        suggestion_id=each.suggestion.pk, review_id=each.review.pk, verdict=after["verdict"], start=start, end=end,
        label_id=label, reviewer_id=each.reviewer, cause_id=after.get("cause"), at=now,
    )  # fmt: skip
