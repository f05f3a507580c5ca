"""Job handlers for majority votes over many notes."""

from typing import Any

from annotations.agreement.services.adjudication.majority import run_majority, undo_majority
from annotations.jobs.runner import Claim
from annotations.models import MajorityAct, User


def run(claim: Claim) -> dict[str, Any]:
    """Decide the notes of a vote. If the job stops, the notes decided so far are kept, and it can continue."""
    return dict(run_majority(act=_act(claim), progress=claim.progress, fence=claim.fence))


def undo(claim: Claim) -> dict[str, Any]:
    """Undo a vote, continuing where an earlier attempt stopped."""
    user = User.objects.filter(pk=claim.actor_id).first() if claim.actor_id else None
    return dict(undo_majority(act=_act(claim), user=user, progress=claim.progress, fence=claim.fence))


def _act(claim: Claim) -> MajorityAct:
    rows = MajorityAct.objects.select_related("project", "user")
    return rows.get(pk=claim.params["vote"], project_id=claim.project_id)
