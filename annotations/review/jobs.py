"""Job handlers for bulk acts."""

from typing import Any

from annotations.jobs.runner import Claim
from annotations.jobs.services.batch_acts import act_of
from annotations.models import BulkAct
from annotations.review.services.bulk import run_bulk, undo_bulk


def run(claim: Claim) -> dict[str, Any]:
    """Decide the suggestions of a bulk act.

    If the job stops, the decisions made so far are kept. The job can then resume, or the whole act can be undone.
    """
    return run_bulk(bulk=act_of(BulkAct, claim), progress=claim.progress, fence=claim.fence)


def undo(claim: Claim) -> dict[str, Any]:
    """Undo a bulk act, resuming where an earlier attempt stopped."""
    return undo_bulk(bulk=act_of(BulkAct, claim), progress=claim.progress, fence=claim.fence)
