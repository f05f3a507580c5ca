"""The effects of decisions on suggestions: the same code for one suggestion and for many suggestions of many notes.

Each decision of `LockedNotes` changes the data in memory, and `write` (LockedRows) writes all changes at once. The
callers (single decision, undo, bulk act, accepting the rest of a note, handover) choose the suggestions and say what is
refused or left open.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.utils.translation import gettext as _

from annotations import models
from annotations.core.services import ServiceError, Verb
from annotations.core.spans import fitting_label
from annotations.gold.services.making import provenance_of
from annotations.models.project import SecondReview
from annotations.review import events
from annotations.review.rules.precision import conflicting
from annotations.review.selectors import suggestions
from annotations.review.selectors.refined import RemovalVerdict, verdicts
from annotations.review.selectors.reviewing import between_in
from annotations.review.services.locked_rows import LockedRows, bounds_of, locked
from annotations.review.services.log import Act, Effect, accepted_bounds
from annotations.text.attributes import Provenance, Value
from annotations.text.spans import LabeledBounds, crowd_in, has_room


class LockedNotes(LockedRows):
    """Notes under decision by one person, with what refuses or excludes a decision."""

    def errors(self, reviews: Iterable[models.Review]) -> dict[int, ServiceError]:
        """Why this person can't decide in some of these reviews, by review id.

        Call this before making decisions in these reviews, because it also loads what the log needs about them.
        """
        listed = list(reviews)
        shared = between_in([review.pk for review in listed], self._user)
        found = {}
        for review in listed:
            handover = shared.get(review.pk)
            self._passes[review.pk] = {"pass": handover.stage} if handover else {}
            if review.finished_at is not None:
                message = _("The review of this note is finished. Reopen it to change a decision.")
                found[review.pk] = ServiceError(message, code="finished")
            elif handover is not None and handover.own:
                message = _("You reviewed this note first. A different person must do the second review.")
                found[review.pk] = ServiceError(message, code="waiting")
        return found

    def load_conflicting(self, wanted: Sequence[suggestions.Suggestion]) -> None:
        """Load the conflicting suggestions of these. Call this before accepting any of them."""
        self._conflicting = suggestions.conflicting_suggestions(wanted)

    def conflicting(self, one: suggestions.Suggestion) -> Sequence[suggestions.Suggestion]:
        """The suggestions of the same merged list that conflict with this one."""
        return self._conflicting.get(one.pk, ())

    def _open_conflicting(self, one: suggestions.Suggestion) -> list[suggestions.Suggestion]:
        rows = self.rows[one.document_id]
        return [each for each in self.conflicting(one) if self.state(each) is None and each.bounds not in rows]

    def conflicts(self, wanted: Iterable[suggestions.Suggestion], to: int | None = None) -> set[int]:
        """The ids of those suggestions that conflict with gold or with each other (rules.conflicts)."""
        by_note: dict[int, list[suggestions.Suggestion]] = defaultdict(list)
        for one in wanted:
            by_note[one.document_id].append(one)
        found: set[int] = set()
        for note, here in by_note.items():
            candidates = [
                suggestions.candidate_of(one.pk, one.bounds, one.annotation_set_id, one.provenance, to) for one in here
            ]
            found |= conflicting(candidates, self.rows[note], has_finished_gold=self.has_finished_gold(note))
        return found

    def crowded(self, wanted: Iterable[suggestions.Suggestion]) -> set[int]:
        """The ids of notes in which not all of these suggestions have room (annotations.text.spans)."""
        bounds = {note: [(start, end) for start, end, _ in rows] for note, rows in self.rows.items()}
        for one in wanted:
            if one.bounds not in self.rows[one.document_id]:
                bounds[one.document_id].append((one.start, one.end))
        return {note for note, spans in bounds.items() if crowd_in(spans) is not None}

    def has_room(self, one: suggestions.Suggestion) -> bool:
        rows = self.rows[one.document_id]
        return one.bounds in rows or has_room([(start, end) for start, end, _ in rows], (one.start, one.end))

    # ── Decisions ────────────────────────────────────────────────────────────────────────────────────────────────────

    def decide(
        self, one: suggestions.Suggestion, accepted: LabeledBounds | None, review: models.Review, act: Act, *,
        change_id: UUID | None = None, noted: events.ReviewDecided | None = None,
    ) -> list[int]:  # fmt: skip
        """Accept a suggestion with the bounds and label `accepted`, or reject it (None).

        Returns the ids of the decided suggestions: this one and the conflicting ones that were rejected with it; none
        if nothing would change. Raises ServiceError `elsewhere`.
        """
        excluded = suggestions.excluded_by(accepted, self._open_conflicting(one)) if accepted else []
        effect = self._rejection(one) if accepted is None else self._acceptance(one, accepted, excluded)
        if effect is None:
            return []
        named = {each.pk: each for each in (one, *excluded)}
        self.do(effect, one.document_id, review, named, act=act, change_id=change_id, noted=noted)
        return [one.pk, *(each.pk for each in excluded)]

    def _rejection(self, one: suggestions.Suggestion) -> Effect | None:
        rows = self.rows[one.document_id]
        before, removed = self.state(one), self._row_made_by(one)
        if one.bounds in rows:
            self.check_accepted_elsewhere(one.document_id, one.bounds, one.pk)
            # The span leaves gold even if something else put it there, because the reviewer says that it is wrong.
            removed += [row for row in [rows[one.bounds]] if row not in removed]
        after = self._state_after(None)
        return None if before == after and not removed else Effect(one.pk, before, after, [], removed)

    def _acceptance(
        self, one: suggestions.Suggestion, accepted: LabeledBounds, excluded: Sequence[suggestions.Suggestion]
    ) -> Effect | None:
        rows = self.rows[one.document_id]
        before, removed = self.state(one), self._row_made_by(one)
        after = self._state_after(accepted)
        if before == after and accepted in rows:
            return None
        # A span that gold already has keeps its row and its provenance.
        stays = accepted in rows and rows[accepted] not in removed
        added: list[events.GoldRow] = []
        if not stays:
            # A corrected suggestion keeps the attributes that a person gave to its gold span.
            label, attributes = (removed[0][2], removed[0][6]) if removed else (one.label_id, one.attributes)
            attributes = fitting(attributes, label, accepted[2])
            added.append((*accepted, one.confidence, one.source, self._provenance(one, accepted), attributes))
        beside: list[events.Beside] = [(each.pk, None, self._state_after(None)) for each in excluded]
        return Effect(one.pk, before, after, added, removed, beside)

    def _state_after(self, accepted: LabeledBounds | None) -> events.DecisionState:
        """The state of a suggestion accepted with these bounds and label, or rejected (None)."""
        verdict = models.Decision.Verdict.ACCEPTED if accepted else models.Decision.Verdict.REJECTED
        state: events.DecisionState = {"verdict": str(verdict), "bounds": list(accepted) if accepted else None}
        if self._cause is not None:
            state["cause"] = self._cause
        return state

    def _row_made_by(self, one: suggestions.Suggestion) -> list[events.GoldRow]:
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
            message = _("%(username)s accepted this span as a suggestion of %(name)s. Undo that decision first.")
            raise ServiceError(message % {"username": other.reviewer, "name": other.run}, code="elsewhere")

    def _provenance(self, one: suggestions.Suggestion, accepted: LabeledBounds) -> Provenance:
        known: Provenance = {
            "from": f"{one.author_kind}:{one.author_name}",
            "set": one.annotation_set_id,
            "suggestion": one.pk,
            "confidence": one.confidence,
            "source": one.source,
            "changed": changed_fields(accepted, one.bounds),
        }
        if self._cause is not None:
            known["cause"] = self._cause
        backing = suggestions.backing_of(one.provenance)
        if backing:
            # In a merged list: the runs that suggested the span, with their confidence, and the number of runs merged.
            known |= {"runs": backing["runs"], "of": backing["of"]}
        return known | provenance_of(self._user, self._project, self._now)

    def do(
        self, effect: Effect, note: int, review: models.Review, named: Mapping[int, suggestions.Suggestion], *,
        act: Act, verb: Verb[events.ReviewDecided] = events.REVIEW_DECIDED, change_id: UUID | None = None,
        reverts: int | None = None, noted: events.ReviewDecided | None = None,
    ) -> None:  # fmt: skip
        """Apply an effect as one event and one step of the gold version. `named`: the suggestions that it decides."""
        data = effect.data() | {"act": str(act), "run": review.author_id}
        if self._cause is not None:
            data["cause"] = self._cause
        earlier: suggestions.CurrentDecision | RemovalVerdict | None = None
        if effect.suggestion is not None and effect.before:
            earlier = named[effect.suggestion].decision
        if effect.removal is not None:
            number, before, after = effect.removal
            earlier = verdicts(review.pk).get(number) if before else None
            self.set_verdict(review, number, self._user.pk, after)
        if earlier and earlier.reviewer_id != self._user.pk:
            data["over"] = earlier.reviewer_id
        data = data | self._passes.get(review.pk, {}) | (noted or {})
        if effect.sets_attributes:
            self._replace_rows(note, effect.added)
        else:
            self.remove_rows(note, effect.removed, effect.suggestion)
            self.add_rows(note, effect.added)
        for pk, state in [(effect.suggestion, effect.after), *((row[0], row[2]) for row in effect.beside)]:
            if pk is not None:
                self.set_decision(named[pk], review, self._user.pk, state)
        gold = self.golds[note]
        self._steps[note] += 1
        gold.version += 1
        if (effect.added or effect.removed) and self._project.second_review != SecondReview.OFF:
            # With the two-person rule, changed gold does not count until the second person has finished the review.
            gold.state = models.AnnotationSetState.DRAFT
            self._drafts.add(gold.pk)
        where = {"project_id": self._project.pk, "document_id": note, "annotation_set_id": gold.pk}
        event = models.Event(verb=verb, actor=self._user, data=data, change_id=change_id, reverts=reverts, **where)
        self._events.append(event)

    def check_unchanged(
        self, note: int, effect: Effect, named: Mapping[int, suggestions.Suggestion], review: models.Review
    ) -> None:
        """Raise ServiceError `moved` if decisions made since keep this effect from being undone or redone."""
        rows = self.rows[note]
        if effect.sets_attributes:
            unchanged = all(bounds_of(row) in rows and rows[bounds_of(row)][6] == row[6] for row in effect.removed)
        else:
            before = [(effect.suggestion, effect.before), *((row[0], row[1]) for row in effect.beside)]
            unchanged = (
                all(bounds_of(row) in rows for row in effect.removed)
                and not any(
                    bounds_of(row) in rows and not self.accepted_elsewhere(note, bounds_of(row), effect.suggestion)
                    for row in effect.added
                )
                and all(pk in named and self.state(named[pk]) == state for pk, state in before if pk is not None)
            )
        if effect.removal is not None:
            now = verdicts(review.pk).get(effect.removal[0])
            unchanged = unchanged and (now.verdict if now else None) == effect.removal[1]
        if not unchanged:
            message = _("Later decisions changed this span, so this step can't be undone or redone.")
            raise ServiceError(message, code="moved")


def fitting(attributes: dict[str, Value] | None, was: int, label: int) -> dict[str, Value] | None:
    """The attributes of a span of the label `was` that it keeps with `label`."""
    return attributes if was == label else fitting_label(attributes, label)


def changed_fields(accepted: LabeledBounds, suggested: LabeledBounds) -> list[str]:
    """What a reviewer changed of a suggestion, for the provenance of its gold span."""
    changed = ["bounds"] if accepted[:2] != suggested[:2] else []
    return [*changed, "label"] if accepted[2] != suggested[2] else changed


@dataclass(frozen=True, slots=True)
class LockedReview:
    """One person's review of a note, in a transaction that has locked the note's gold set."""

    document: models.Document
    author: models.Author
    user: models.User
    review: models.Review
    gold: models.AnnotationSet

    @classmethod
    def of(cls, document: models.Document, author: models.Author, user: models.User) -> "LockedReview":
        return cls(document, author, user, *locked(document, author))

    def held(self, *, deciding: bool = True) -> LockedNotes:
        """The note's gold and decisions. `deciding`: raise ServiceError if this person can't decide now."""
        held = LockedNotes(self.document.project, self.user, {self.document.pk: self.gold})
        for error in held.errors([self.review]).values() if deciding else ():
            raise error
        return held

    def record(self, verb: Verb[Any], data: events.Numbers | events.ReviewRevealed) -> None:
        """Record an event of this review."""
        verb.record(
            actor=self.user, note=self.document, annotation_set_id=self.gold.pk, data={"run": self.author.pk, **data}
        )
