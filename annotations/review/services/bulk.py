"""Bulk acts of review: many open suggestions decided in batches by one act, and undone by one act.

A bulk act decides suggestions that are still open when their batch begins. It leaves alone, and counts, suggestions
that a person has decided meanwhile and notes whose review was finished. Notes that already have gold (from
adjudication, annotations, an import or the review of another run) are skipped and counted, unless the person includes
them; whether a note has gold is checked under the lock of the gold set. Suggestions that overlap gold with different
bounds stay open (rules.conflicts). Doubtful suggestions (selectors.suggestions) are skipped and counted, too,
unless the person includes them.

Each decision is an event of its own that names the act as its cause. Notes are locked in the order of their ids, so
that two acts can't deadlock.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from functools import partial
from itertools import groupby
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Exists, F, QuerySet
from django.utils.translation import gettext

from annotations import models
from annotations.core.services import Fence, Progress, ServiceError, Verb, keep_labels, no_fence, silent
from annotations.core.spans import check_label
from annotations.jobs.runner import Claim
from annotations.jobs.services import queue
from annotations.review.events import (
    REVIEW_BULK_DONE,
    REVIEW_BULK_UNDONE,
    REVIEW_DECIDED,
    REVIEW_FINISHED,
    REVIEW_UNDONE,
    BulkEnded,
    GoldRow,
)
from annotations.review.selectors import bulk_rules
from annotations.review.selectors.planted import not_for_bulk
from annotations.review.selectors.suggestions import Suggestion, backing_of, finishing_events, is_doubtful, suggestions
from annotations.review.services.locked_notes import LockedNotes
from annotations.review.services.locked_rows import locked_golds, reviews_of
from annotations.review.services.log import Act, Effect, accepted_bounds
from annotations.text.spans import LabeledBounds

# One batch of a bulk act, in the caller's transaction: lock the notes, decide what is open, write all rows at once.


Pair = tuple[int, int]
"""Document id and suggestion id."""
Reviews = dict[Pair, models.Review]


def decide_batch(bulk: models.BulkAct, pairs: Sequence[Pair]) -> dict[str, int]:
    """Decide those of these suggestions that are still open, after locking the gold sets of their notes.

    Returns counts: `decided` suggestions of the batch, conflicting suggestions that were rejected with them (`beside`),
    and suggestions left open because they conflict with gold or with each other (`conflicts`).
    """
    rule, accepts = bulk_rules.rule_of(bulk.rule), bulk.act == models.BulkAct.Act.ACCEPT
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
    return {"decided": own, "beside": len(decided) - own, "conflicts": len(left - decided)}


def _held(bulk: models.BulkAct, pairs: Sequence[Pair]) -> LockedNotes:
    """The batch's notes with locked gold sets. Notes that were erased since the listing are left out.

    The caller's transaction keeps further erasures out.
    """
    existing = models.Document.objects.filter(pk__in={note for note, _ in pairs}).values_list("pk", flat=True)
    return LockedNotes(bulk.project, bulk.user, locked_golds(bulk.project, set(existing)), cause=bulk.pk)


def _reviews(held: LockedNotes, those: Iterable[Suggestion]) -> tuple[Reviews, set[int]]:
    """The reviews of these suggestions, and the ids of those reviews in which this person can't decide now."""
    reviews = reviews_of((one.document_id, one.author_id) for one in those)
    return reviews, set(held.errors(reviews.values()))


def _of(reviews: Reviews, one: Suggestion) -> models.Review:
    return reviews[one.document_id, one.author_id]


def _sort_key(one: Suggestion) -> tuple[int, int, float, int]:
    """Order suggestions by note; within a merged list, those that most runs agree on first.

    Accepting the suggestion of most runs first rejects its conflicting suggestions, and not the other way round.
    """
    backing = backing_of(one.provenance)
    agree, confidence = (backing["agree"], one.confidence or 0.0) if backing else (0, 0.0)
    return one.document_id, -agree, -confidence, one.pk


# ── Undo ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def undo_batch(bulk: models.BulkAct, pairs: Sequence[Pair]) -> dict[str, int]:
    """Undo those of these decisions that were not changed since. Returns their number as `undone`."""
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
    return {"undone": len(unchanged)}


def _rows_of(bulk: models.BulkAct, held: LockedNotes, one: Suggestion, accepted: LabeledBounds | None) -> list[GoldRow]:
    """The gold span that the act made, unless another suggestion was accepted as the same span."""
    row = held.rows[one.document_id].get(accepted) if accepted else None
    if accepted is None or row is None or (row[5] or {}).get("cause") != str(bulk.pk):
        return []
    return [] if held.accepted_elsewhere(one.document_id, accepted, one.pk) else [row]


def _finished_since(held: LockedNotes, those: Sequence[Suggestion]) -> set[int]:
    """Ids of suggestions in notes whose gold a person finished after the decision, other than by this review.

    Their decisions are not undone.
    """
    late = []
    for one in those:
        gold = held.golds[one.document_id]
        if gold.submitted_at is not None and one.decision is not None and one.decision.at < gold.submitted_at:
            late.append((one, gold.pk))
    last = finishing_events({gold for _, gold in late}) if late else {}

    def by_this_review(one: Suggestion, event: models.Event | None) -> bool:
        return event is not None and event.verb == REVIEW_FINISHED and event.data.get("run") == one.author_id

    return {one.pk for one, gold in late if not by_this_review(one, last.get(gold))}


def _events(bulk: models.BulkAct, documents: Sequence[int]) -> dict[int, int]:
    """The ids of the events of the act's decisions in these notes, by suggestion id."""
    made = models.Event.objects.filter(document_id__in=documents, verb=REVIEW_DECIDED, data__cause=str(bulk.pk))
    found: dict[int, int] = {}
    for pk, data in made.order_by("id").values_list("pk", "data"):
        found |= dict.fromkeys([data["suggestion"], *(row[0] for row in data.get("beside", []))], pk)
    return found


# Up to this many suggestions are decided in the request itself; more need a job.
AT_ONCE = 2_000
COUNTS = ("decided", "left", "beside", "undone", "kept", "skipped", "skipped_notes", "conflicts", "doubtful")
# Suggestions per transaction of a job.
BATCH = 500
State = models.ActState


def plan_bulk(
    *, project: models.Project, user: models.User, rule: bulk_rules.BulkRule, act: models.BulkAct.Act,
    pk: UUID | None = None,
) -> models.BulkAct:  # fmt: skip
    """Store the planned act with its counts, without deciding anything. `pk`: the id that the act gets.

    Raises ServiceError: `label` (not of this project), `act` (a label with reject), `none` (nothing matches).
    """
    for label in (rule.label, rule.to):
        if label is not None:
            check_label(project.pk, label)
    if act == models.BulkAct.Act.REJECT and rule.to is not None:
        message = gettext("A label can be set only for accepting. Choose “Accept”, or leave the label empty.")
        raise ServiceError(message, code="act")
    found = bulk_rules.preview(rule, act, project, user)
    if not found.open and not found.skipped and not found.doubtful:
        message = gettext("No open suggestion matches this rule. Change the rule, or choose other runs.")
        raise ServiceError(message, code="none")
    known_id = {} if pk is None else {"pk": pk}
    return models.BulkAct.objects.create(
        project=project, user=user, act=act, rule=rule.data(), **known_id, **_counts(found)
    )


def plan_string(
    *, project: models.Project, user: models.User, string: models.SuggestedString, runs: Sequence[int], act: str,
    but: Collection[int] = (), to: int | None = None, pk: UUID | None = None,
) -> models.BulkAct:  # fmt: skip
    """Plan an act on all suggestions of a string in these runs, except those in `but`. `to`: the label to accept with.

    Raises ServiceError `act` for an unknown act, and as plan_bulk.
    """
    if act not in models.BulkAct.Act.values:
        raise ServiceError(gettext("Choose an action: “Accept” or “Reject”."), code="act")
    to = to if act == models.BulkAct.Act.ACCEPT else None
    rule = bulk_rules.BulkRule("string", runs, string=string.string_key, label=string.label_id, but=sorted(but), to=to)
    return plan_bulk(project=project, user=user, rule=rule, act=models.BulkAct.Act(act), pk=pk)


def decide_string(
    *, project: models.Project, user: models.User, string: models.SuggestedString, runs: Sequence[int], act: str,
    pk: UUID,
) -> models.BulkAct:  # fmt: skip
    """Decide all open suggestions of a string in these runs, or start the job that does. `pk`: the id of the act.

    The same id again changes nothing more. Raises ServiceError as plan_string.
    """
    bulk = models.BulkAct.objects.filter(project=project, user=user, pk=pk).first()
    bulk = bulk or plan_string(project=project, user=user, string=string, runs=runs, act=act, pk=pk)
    start_bulk(bulk=bulk, actor=user)
    bulk.refresh_from_db()
    return bulk


def _counts(found: bulk_rules.BulkPreview) -> dict[str, int]:
    counts = asdict(found) | {"planned": found.decided, "conflicts": found.conflicts or 0}
    return {name: counts[name] for name in ("planned", "skipped", "skipped_notes", "doubtful", "conflicts")}


def begin_bulk(
    *, bulk: models.BulkAct, user: models.User, with_gold: bool = False, with_doubtful: bool = False
) -> bool:
    """Mark the act as begun. Returns whether this call did so; a second call returns False.

    `with_gold`: the person includes notes that already have gold. `with_doubtful`: the person includes doubtful
    suggestions. The act's rule records both. Raises ServiceError `user` unless the user planned the act.
    """
    if bulk.user_id != user.pk:
        raise ServiceError(gettext("Another person planned this bulk act. Plan a new one."), code="user")
    begun = bool(models.BulkAct.objects.filter(pk=bulk.pk, state=State.PLANNED).update(state=State.WORKING))
    if begun and (with_gold or with_doubtful):
        rule = replace(bulk_rules.rule_of(bulk.rule), with_gold=with_gold, with_doubtful=with_doubtful)
        found = bulk_rules.preview(rule, bulk.act, bulk.project, user)
        models.BulkAct.objects.filter(pk=bulk.pk).update(rule=rule.data(), **_counts(found))
    bulk.refresh_from_db()
    return begun


def run_bulk(*, bulk: models.BulkAct, progress: Progress = silent, fence: Fence = no_fence) -> dict[str, Any]:
    """Decide the open suggestions in short transactions. An act that was stopped resumes with the remaining ones.

    Notes that get gold meanwhile are skipped; skipped suggestions are counted at the end.
    """
    project, rule = bulk.project, bulk_rules.rule_of(bulk.rule)
    pairs = _pairs(bulk_rules.open_of(rule, project, bulk.user), "annotation_set__document_id")
    with transaction.atomic():
        fence()
        queue.count(bulk, State.WORKING, conflicts=0)  # conflicts of a stopped attempt are counted again
    bulk.refresh_from_db()
    queue.do_batches(bulk, State.WORKING, bulk.decided, _batches(pairs), partial(decide_batch, bulk), progress, fence)
    # Planned but not decided: another person decided first, or the note got gold meanwhile.
    models.BulkAct.objects.filter(pk=bulk.pk, planned__gt=F("decided")).update(left=F("planned") - F("decided"))
    skipped, notes = bulk_rules.skipped_of(rule, project, bulk.user)
    _open, doubtful = bulk_rules.open_and_doubtful(rule, project, bulk.user)
    queue.count(bulk, State.WORKING, skipped=skipped, skipped_notes=notes, doubtful=doubtful)
    return _end(bulk, State.DONE, REVIEW_BULK_DONE)


def undo_bulk(*, bulk: models.BulkAct, progress: Progress = silent, fence: Fence = no_fence) -> dict[str, Any]:
    """Undo every decision of the act that was not changed since, except in notes whose review was finished since."""
    pairs = _pairs(models.Decision.objects.filter(cause=bulk), "review__document_id", "suggestion_id")
    bulk.refresh_from_db()
    queue.do_batches(bulk, State.UNDOING, bulk.undone, _batches(pairs), partial(undo_batch, bulk), progress, fence)
    return _end(bulk, State.UNDONE, REVIEW_BULK_UNDONE, kept=F("decided") + F("beside") - F("undone"))


def at_once(bulk: models.BulkAct, work: Callable[..., dict[str, Any]]) -> dict[str, Any]:
    """Run a small act in one transaction."""
    with transaction.atomic():
        keep_labels(bulk.project_id)
        return work(bulk=bulk)


def _end(bulk: models.BulkAct, state: models.ActState, verb: Verb[BulkEnded], **changed: Any) -> dict[str, Any]:
    with transaction.atomic():
        queue.end(bulk, state, **changed)
        counts = {name: getattr(bulk, name) for name in COUNTS}
        # Not the key of the string, from which a name could be guessed.
        rule = {key: value for key, value in bulk.rule.items() if key not in ("string", "but") and value is not None}
        data: BulkEnded = {"bulk": str(bulk.pk), "act": str(bulk.act), "rule": rule, **counts}
        verb.record(actor=bulk.user, project_id=bulk.project_id, data=data)
    return {"bulk": str(bulk.pk), **counts}


def _pairs(rows: "QuerySet[Any]", document: str, suggestion: str = "pk") -> list[Pair]:
    """All pairs of document id and suggestion id. They are read at once, because a second query would cost as much."""
    return list(rows.order_by(document, suggestion).values_list(document, suggestion))


def _batches(pairs: Sequence[Pair]) -> Iterator[list[Pair]]:
    """Batches of whole notes with up to BATCH suggestions. A note with more suggestions is a batch of its own."""
    batch: list[Pair] = []
    for _, group in groupby(pairs, key=lambda pair: pair[0]):
        note = list(group)
        if batch and len(batch) + len(note) > BATCH:
            yield batch
            batch = []
        batch.extend(note)
    if batch:
        yield batch


# Start and undo bulk acts of review: small ones in the request, large ones as a job.


def start_bulk(
    *, bulk: models.BulkAct, actor: models.User, with_gold: bool = False, with_doubtful: bool = False
) -> models.Job | None:
    """Run the act, or start a job for it and return the job. A second call does nothing more.

    `with_gold`: include notes that already have gold. `with_doubtful`: include doubtful suggestions. Raises
    ServiceError `user`.
    """
    with transaction.atomic():
        _keep_project(bulk, bulk.planned)
        begun = begin_bulk(bulk=bulk, user=actor, with_gold=with_gold, with_doubtful=with_doubtful)
        return _start(bulk, actor, bulk.planned, "bulk", run_bulk if begun else None)


def start_undo(*, bulk: models.BulkAct, actor: models.User) -> models.Job | None:
    """Undo the act, or start a job for that and return the job. Raises ServiceError `live` while the act's job runs."""
    with transaction.atomic():
        _keep_project(bulk, bulk.decided)
        models.BulkAct.objects.select_for_update().get(pk=bulk.pk)
        queue.check_ended(bulk, "bulk")
        return _start(bulk, actor, bulk.decided, "bulk_undo", undo_bulk if queue.begin_undo(bulk) else None)


def _start(
    bulk: models.BulkAct, actor: models.User, size: int, kind: str, work: Callable[..., Any] | None
) -> models.Job | None:
    if size > AT_ONCE:
        return queue.start_job(bulk, kind, actor)
    if work is not None:
        at_once(bulk, work)
    return None


def _keep_project(bulk: models.BulkAct, size: int) -> None:
    """Lock the project before the act if a job follows, in the order of docs/architecture.md."""
    if size > AT_ONCE:
        models.Project.objects.select_for_update(no_key=True).get(pk=bulk.project_id)


# Job handlers for bulk acts.


def run_job(claim: Claim) -> dict[str, Any]:
    """Decide the suggestions of a bulk act.

    If the job stops, the decisions made so far are kept. The job can then resume, or the whole act can be undone.
    """
    return run_bulk(bulk=queue.act_of(models.BulkAct, claim), progress=claim.progress, fence=claim.fence)


def undo_job(claim: Claim) -> dict[str, Any]:
    """Undo a bulk act, resuming where an earlier attempt stopped."""
    return undo_bulk(bulk=queue.act_of(models.BulkAct, claim), progress=claim.progress, fence=claim.fence)
