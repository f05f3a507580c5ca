"""Bulk acts of review: many open proposals decided as one act, by batches, and taken back as one.

A bulk act decides what is open when its turn comes. What a person has decided on by then stays as that person decided,
and so does a note whose review is closed: the act counts what it left alone. Notes that already have gold (by
adjudication, annotations, an import or another run's review) are skipped and counted, unless the person includes them;
gold is looked at under the lock of its row, when a note's turn comes. What would overlap gold with other ends is left
open (domain.conflicts).

Every decision is an event of its own, as any other, and names the act as its cause. Notes are locked in the order of
their ids, so that two acts can't wait for each other.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

from django.db import transaction
from django.db.models import F, QuerySet
from django.utils import timezone
from django.utils.translation import gettext

from annotations.core.erasures import hold
from annotations.core.errors import ServiceError
from annotations.core.events import record
from annotations.core.label_lock import keep_labels
from annotations.core.progress import Progress, silent
from annotations.models import BulkAct, Decision, Label, Project, User, Verb
from annotations.review.selectors.bulk_rules import Rule, open_of, rule_of, skipped_of
from annotations.review.selectors.foreseen import Foreseen, foresee
from annotations.review.services.bulk_batches import decide_batch, take_back_batch

# Up to so many are decided at once, in the request itself; more are a job.
AT_ONCE = 2_000
# A job's transaction ends at so many proposals.
BATCH = 500
State = BulkAct.State
Fence = Callable[[], None]
Pair = tuple[int, int]
"""Document id and proposal id."""


def plan_bulk(*, project: Project, user: User, rule: Rule, act: BulkAct.Act) -> BulkAct:
    """Keep what is asked for, with its count; nothing is decided. Raises ServiceError `label`, `act`, `none`."""
    known = Label.objects.filter(label_set__project=project, merged_into__isnull=True)
    for label in (pk for pk in (rule.label, rule.to) if pk is not None):
        if not known.filter(pk=label).exists():
            raise ServiceError(gettext("that label is not one of this project's; reload the page"), code="label")
    if act == BulkAct.Act.REJECT and rule.to is not None:
        raise ServiceError(gettext("a label is for accepting; choose accept or leave it out"), code="act")
    found = foresee(rule, act, project, user)
    if not found.open and not found.skipped:
        raise ServiceError(
            gettext("nothing that is open fits this; it was decided already, or it is nowhere"), code="none"
        )
    return BulkAct.objects.create(project=project, user=user, act=act, rule=rule.data(), **_counts(found))


def _counts(found: Foreseen) -> dict[str, int]:
    return {
        "planned": found.decided, "skipped": found.skipped, "skipped_notes": found.notes,
        "conflicts": found.conflicts or 0,
    }  # fmt: skip


def begin_bulk(*, bulk: BulkAct, user: User, with_gold: bool = False) -> bool:
    """Whether the act is to be carried out now: twice is once. Only who planned it begins it.

    `with_gold`: the person includes the notes that already have gold. The act keeps that in its rule.
    """
    if bulk.user_id != user.pk:
        raise ServiceError(gettext("somebody else planned this; plan it yourself"), code="user")
    begun = bool(BulkAct.objects.filter(pk=bulk.pk, state=State.PLANNED).update(state=State.WORKING))
    if begun and with_gold:
        rule = replace(rule_of(bulk.rule), with_gold=True)
        found = foresee(rule, bulk.act, bulk.project, user)
        BulkAct.objects.filter(pk=bulk.pk).update(rule=rule.data(), **_counts(found))
    bulk.refresh_from_db()
    return begun


def run_bulk(*, bulk: BulkAct, progress: Progress = silent, fence: Fence | None = None) -> dict[str, Any]:
    """Decide what is open, in short transactions; one that was stopped goes on with what is left of it.

    Notes that get gold meanwhile are skipped when their turn comes; what is skipped is counted in the end.
    """
    project, rule = bulk.project, rule_of(bulk.rule)
    pairs = _pairs(open_of(rule, project, bulk.user), "annotation_set__document_id")
    with transaction.atomic():
        if fence is not None:
            fence()
        _count(bulk, State.WORKING, conflicts=0)  # those of an attempt that was stopped are looked at again
    bulk.refresh_from_db()
    done, total = bulk.decided, bulk.decided + len(pairs)
    progress(done, total)
    for batch in _batches(pairs):
        with transaction.atomic():
            keep_labels(project.pk)
            if fence is not None:
                fence()
            hold(project.pk)
            did = decide_batch(bulk, batch)
            _count(
                bulk, State.WORKING, decided=F("decided") + did.decided, beside=F("beside") + did.beside,
                conflicts=F("conflicts") + did.conflicts,
            )  # fmt: skip
        done += len(batch)
        progress(done, total)
    # What was to be decided when it was planned, and was not: somebody was first, or the note got gold meanwhile.
    BulkAct.objects.filter(pk=bulk.pk, planned__gt=F("decided")).update(left=F("planned") - F("decided"))
    skipped, notes = skipped_of(rule, project, bulk.user)
    _count(bulk, State.WORKING, skipped=skipped, skipped_notes=notes)
    return _end(bulk, State.DONE, Verb.REVIEW_BULK_DONE)


def begin_undo(*, bulk: BulkAct) -> bool:
    """Whether the act is to be taken back now: twice is once. One that was stopped half way can be taken back too."""
    held = BulkAct.objects.filter(pk=bulk.pk, state__in=[State.WORKING, State.DONE])
    return bool(held.update(state=State.UNDOING, kept=0, taken_back=0))


def undo_bulk(*, bulk: BulkAct, progress: Progress = silent, fence: Fence | None = None) -> dict[str, Any]:
    """Take back every decision of the act that still stands, except in notes whose review was closed since."""
    pairs = _pairs(Decision.objects.filter(cause=bulk), "review__document_id", "proposal_id")
    bulk.refresh_from_db()
    done, total = bulk.taken_back, bulk.taken_back + len(pairs)
    progress(done, total)
    for batch in _batches(pairs):
        with transaction.atomic():
            keep_labels(bulk.project_id)
            if fence is not None:
                fence()
            hold(bulk.project_id)
            taken = take_back_batch(bulk, batch)
            _count(bulk, State.UNDOING, taken_back=F("taken_back") + taken)
        done += len(batch)
        progress(done, total)
    BulkAct.objects.filter(pk=bulk.pk).update(kept=F("decided") + F("beside") - F("taken_back"))
    return _end(bulk, State.UNDONE, Verb.REVIEW_BULK_UNDONE)


def at_once(bulk: BulkAct, work: Callable[..., dict[str, Any]]) -> dict[str, Any]:
    """The whole act in one transaction, for one that is small."""
    with transaction.atomic():
        keep_labels(bulk.project_id)
        return work(bulk=bulk)


def _count(bulk: BulkAct, state: BulkAct.State, **counts: Any) -> None:
    """In the batch's transaction. A job that was stopped and started again must not undo an undo."""
    if not BulkAct.objects.filter(pk=bulk.pk, state=state).update(**counts):
        raise ServiceError(gettext("this bulk act was taken back meanwhile, or is done"), code="state")


def _end(bulk: BulkAct, state: BulkAct.State, verb: Verb) -> dict[str, Any]:
    with transaction.atomic():
        BulkAct.objects.filter(pk=bulk.pk).update(state=state, ended_at=timezone.now())
        bulk.refresh_from_db()
        counts = {
            "decided": bulk.decided, "left": bulk.left, "beside": bulk.beside, "taken_back": bulk.taken_back,
            "kept": bulk.kept, "skipped": bulk.skipped, "skipped_notes": bulk.skipped_notes,
            "conflicts": bulk.conflicts,
        }  # fmt: skip
        record(
            verb=verb,
            actor=bulk.user,
            project_id=bulk.project_id,
            data={"bulk": str(bulk.pk), "act": str(bulk.act), "rule": _told(bulk)} | counts,
        )
    return {"bulk": str(bulk.pk), **counts}


def _told(bulk: BulkAct) -> dict[str, Any]:
    """The rule for the log; the number that stands for a string is left out, since it could be guessed from names."""
    return {key: value for key, value in bulk.rule.items() if key not in ("string", "but") and value is not None}


def _pairs(rows: "QuerySet[Any]", document: str, proposal: str = "pk") -> list[Pair]:
    """All of them at once: numbers only, and a second look would cost as much as the first."""
    return list(rows.order_by(document, proposal).values_list(document, proposal))


def _batches(pairs: Sequence[Pair]) -> Iterator[list[Pair]]:
    """Whole notes, up to BATCH proposals; a note with more is a batch of its own."""
    batch: list[Pair] = []
    for _, group in groupby(pairs, key=lambda pair: pair[0]):
        note = list(group)
        if batch and len(batch) + len(note) > BATCH:
            yield batch
            batch = []
        batch.extend(note)
    if batch:
        yield batch
