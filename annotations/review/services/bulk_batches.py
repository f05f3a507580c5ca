"""One batch of a bulk act, in the caller's transaction: lock the notes, decide what is open, write all rows at once."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import NamedTuple

from django.db.models import Exists

from annotations.models import AnnotationSet, BulkAct, Document, Event, Review
from annotations.review.events import REVIEW_DECIDED, REVIEW_FINISHED, REVIEW_UNDONE, GoldRow
from annotations.review.rules.conflicts import LabeledBounds
from annotations.review.selectors.bulk_rules import rule_of
from annotations.review.selectors.doubtful import is_doubtful
from annotations.review.selectors.finished_gold import finishing_events
from annotations.review.selectors.merged_lists import backing_of
from annotations.review.selectors.planted import not_for_bulk
from annotations.review.selectors.suggestions import Suggestion, suggestions
from annotations.review.services.locked_notes import LockedNotes
from annotations.review.services.locking import locked_golds, reviews_of
from annotations.review.services.log import Act, Effect, accepted_bounds

Pair = tuple[int, int]
Reviews = dict[Pair, Review]


class Done(NamedTuple):
    """The counts of a batch.

    `decided`: suggestions of the batch. `beside`: conflicting suggestions that were rejected with them. `conflicts`:
    suggestions left open because they conflict with gold or with each other.
    """

    decided: int
    beside: int
    conflicts: int


def decide_batch(bulk: BulkAct, pairs: Sequence[Pair]) -> Done:
    """Decide those of these suggestions that are still open, after locking the gold sets of their notes."""
    rule, accepts = rule_of(bulk.rule), bulk.act == BulkAct.Act.ACCEPT
    held = _held(bulk, pairs)
    wanted = sorted(suggestions(~Exists(not_for_bulk()), pk__in=[pk for _, pk in pairs]), key=_sort_key)
    reviews, refused = _reviews(held, wanted)
    open_ones = [
        one
        for one in wanted
        if one.decision is None
        and _of(reviews, one).pk not in refused
        and one.bounds not in held.rows[one.document_id]
        and (rule.with_doubtful or not is_doubtful(one.provenance))
        # A person may have finished the gold of the note since the suggestions were listed.
        and (rule.with_gold or not held.has_finished_gold(one.document_id))
    ]
    left = held.conflicts(open_ones, rule.to) if accepts else set()
    crowded = held.crowded(one for one in open_ones if one.pk not in left) if accepts else set()
    held.load_conflicting(open_ones if accepts else [])
    decided: set[int] = set()
    for one in open_ones:
        if one.pk in decided or one.pk in left or (one.document_id in crowded and not held.has_room(one)):
            continue
        accepted = (one.start, one.end, rule.to or one.label_id) if accepts else None
        act = Act.REJECT if accepted is None else Act.ACCEPT if accepted == one.bounds else Act.CORRECT
        decided.update(held.decide(one, accepted, _of(reviews, one), act))
    held.write(room_checked=True)
    own = len(decided.intersection(one.pk for one in wanted))
    return Done(own, len(decided) - own, len(left - decided))


def _held(bulk: BulkAct, pairs: Sequence[Pair]) -> LockedNotes:
    """The batch's notes with locked gold sets. Notes that were erased since the listing are left out.

    The caller's transaction keeps further erasures out.
    """
    existing = Document.objects.filter(pk__in={note for note, _ in pairs}).values_list("pk", flat=True)
    golds = locked_golds(bulk.project, set(existing))
    return LockedNotes(bulk.project, bulk.user, golds, cause=bulk.pk)


def _reviews(held: LockedNotes, those: Iterable[Suggestion]) -> tuple[Reviews, set[int]]:
    """The reviews of these suggestions, and the ids of those reviews in which this person can't decide now."""
    reviews = reviews_of((one.document_id, one.author_id) for one in those)
    return reviews, set(held.errors(reviews.values()))


def _of(reviews: Reviews, one: Suggestion) -> Review:
    return reviews[one.document_id, one.author_id]


def _sort_key(one: Suggestion) -> tuple[int, int, float, int]:
    """Order suggestions by note; within a merged list, those that most runs agree on first.

    Accepting the suggestion of most runs first rejects its conflicting suggestions, and not the other way round.
    """
    backing = backing_of(one.provenance)
    agree, confidence = (backing["agree"], one.confidence or 0.0) if backing else (0, 0.0)
    return one.document_id, -agree, -confidence, one.pk


# ── Undo ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def undo_batch(bulk: BulkAct, pairs: Sequence[Pair]) -> int:
    """Undo those of these decisions that were not changed since. Returns their number."""
    held = _held(bulk, pairs)
    found = sorted(suggestions(decision__cause=bulk, pk__in=[pk for _, pk in pairs]), key=_sort_key)
    reviews, refused = _reviews(held, found)
    later = _finished_since(held, found)
    unchanged = [one for one in found if _of(reviews, one).pk not in refused and one.pk not in later]
    events = _events(bulk, sorted(held.golds))
    before = {one.pk: held.state(one) for one in unchanged}
    for one in unchanged:
        # All decisions are removed first, so that a gold span that only this act accepted counts as such below.
        held.set_decision(one, _of(reviews, one), bulk.user_id, None)
    for one in unchanged:
        removed = _rows_of(bulk, held, one, accepted_bounds(before[one.pk]))
        held.do(
            Effect(one.pk, before[one.pk], None, [], removed), one.document_id, _of(reviews, one), {one.pk: one},
            act=Act.UNDO, verb=REVIEW_UNDONE, reverts=events.get(one.pk),
        )  # fmt: skip
    held.write()
    return len(unchanged)


def _rows_of(bulk: BulkAct, held: LockedNotes, one: Suggestion, accepted: LabeledBounds | None) -> list[GoldRow]:
    """The gold span that the act made, unless another suggestion was accepted as the same span."""
    row = held.rows[one.document_id].get(accepted) if accepted else None
    if accepted is None or row is None or (row[5] or {}).get("cause") != str(bulk.pk):
        return []
    return [] if held.accepted_elsewhere(one.document_id, accepted, one.pk) else [row]


def _finished_since(held: LockedNotes, those: Sequence[Suggestion]) -> set[int]:
    """Ids of suggestions in notes whose gold a person finished after the decision, other than by this review.

    Their decisions are not undone.
    """
    late = [one for one in those if _before(one, held.golds[one.document_id])]
    last = finishing_events({held.golds[one.document_id].pk for one in late}) if late else {}
    own = {
        one.pk
        for one in late
        if (event := last.get(held.golds[one.document_id].pk)) is not None
        and event.verb == REVIEW_FINISHED
        and event.data.get("run") == one.author_id
    }
    return {one.pk for one in late} - own


def _before(one: Suggestion, gold: AnnotationSet) -> bool:
    at: datetime | None = gold.submitted_at
    return at is not None and one.decision is not None and one.decision.at < at


def _events(bulk: BulkAct, documents: Sequence[int]) -> dict[int, int]:
    """The ids of the events of the act's decisions in these notes, by suggestion id."""
    made = Event.objects.filter(document_id__in=documents, verb=REVIEW_DECIDED, data__cause=str(bulk.pk))
    found: dict[int, int] = {}
    for pk, data in made.order_by("id").values_list("pk", "data"):
        found |= dict.fromkeys([data["suggestion"], *(row[0] for row in data.get("beside", []))], pk)
    return found
