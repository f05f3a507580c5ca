"""A majority vote over many notes at once, and its undo.

Each note is decided as an adjudicator would decide it, many in one transaction (majority_batches): locations where all
annotators agree or more than half of them (domain.adjudicating.majority) are decided, and ties stay open. A note
without ties is finished and becomes gold. Notes that have gold, an open review or an adjudication are left alone, and
so are notes that an assigned annotator has not submitted. A job that was stopped continues with the remaining notes.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Final
from uuid import UUID

from django.db import transaction
from django.utils.translation import gettext

from annotations.agreement.events import MAJORITY_APPLIED, MAJORITY_UNDONE, MajorityCounts
from annotations.agreement.selectors.adjudication.majority import preview, to_decide
from annotations.agreement.services.adjudication.majority_batches import decide_batch, undo_batch
from annotations.agreement.services.comparing import bring_up_to_date
from annotations.core.errors import ServiceError
from annotations.core.progress import Progress, silent
from annotations.jobs.services.batch_acts import Fence, do_batches, end
from annotations.models import MajorityAct, MajorityActState, Project, User

State = MajorityActState
BATCH: Final = 50
"""Notes in one transaction, which others wait for on SQLite."""
ATTEMPTS: Final = 5


def _batches(pks: Sequence[int]) -> Iterator[Sequence[int]]:
    return (pks[at : at + BATCH] for at in range(0, len(pks), BATCH))


def run_majority(*, act: MajorityAct, progress: Progress = silent, fence: Fence | None = None) -> MajorityCounts:
    """Decide the notes of the act, and make those without ties gold. Raises ServiceError `state` if it has ended."""
    project = act.project
    bring_up_to_date(project)
    begun = set(act.notes.values_list("document_id", flat=True))
    todo = [pk for pk in to_decide(project) if pk not in begun]
    # Somebody may begin one of the notes at the same moment. The next attempt leaves it to them.
    do_batches(
        act,
        State.WORKING,
        len(begun),
        _batches(todo),
        lambda pks: asdict(decide_batch(act, pks)),
        progress,
        fence,
        ATTEMPTS,
    )
    act.refresh_from_db()
    left = max(0, act.planned - act.gold - act.tied)
    return _end(act, State.DONE, act.user, left=left)


# ── Undo ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


def undo_majority(
    *, act: MajorityAct, user: User | None, progress: Progress = silent, fence: Fence | None = None
) -> MajorityCounts:
    """Undo the act in every note whose adjudication and gold are still as the act left them."""
    notes = list(act.notes.order_by("document_id").values_list("pk", flat=True))
    act.refresh_from_db()
    do_batches(act, State.UNDOING, act.undone, _batches(notes), lambda pks: undo_batch(act, pks, user), progress, fence)
    return _end(act, State.UNDONE, user, kept=act.notes.count())


# ── The act itself ────────────────────────────────────────────────────────────────────────────────────────────────────


def plan_majority(*, project: Project, user: User, key: UUID) -> MajorityAct:
    """Store a new act with the counts of its preview, or return the one with this key.

    Raises ServiceError: `waiting` while notes are still to be compared, `none` if no note can be decided.
    """
    made = MajorityAct.objects.filter(pk=key, project=project).first()
    if made is not None:
        return made
    found = preview(project)
    if not found.planned:
        raise ServiceError(
            gettext("No note can be decided: each has gold, a review or an adjudication, or waits for an annotator."),
            code="none",
        )
    return MajorityAct.objects.create(
        pk=key, project=project, user=user, planned=found.planned, has_gold=found.has_gold,
        in_review=found.in_review, begun=found.begun, pending=found.pending,
    )  # fmt: skip


def _end(act: MajorityAct, state: MajorityActState, user: User | None, **counts: int) -> MajorityCounts:
    with transaction.atomic():
        end(act, state, **counts)
        data: MajorityCounts = {
            "vote": str(act.pk), "gold": act.gold, "spans": act.spans, "tied": act.tied, "ties": act.ties,
            "left": act.left, "has_gold": act.has_gold, "in_review": act.in_review, "begun": act.begun,
            "pending": act.pending, "undone": act.undone, "kept": act.kept,
        }  # fmt: skip
        verb = MAJORITY_APPLIED if state == State.DONE else MAJORITY_UNDONE
        verb.record(actor=user, project_id=act.project_id, data=data)
    return data
