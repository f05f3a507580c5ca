from typing import Any

from annotations.agreement.rules.units import ComparedUnit
from annotations.agreement.services.figures import figures_of
from annotations.agreement.services.majority import run_majority, undo_majority
from annotations.jobs.runner import Claim
from annotations.jobs.services.batch_acts import act_of
from annotations.models import MajorityAct, Project, User


def run(claim: Claim) -> dict[str, Any]:
    """Compute and store the figures of a unit. A repeated job finds the stored figures."""
    project = Project.objects.get(pk=claim.project_id)
    unit, tokenizer = ComparedUnit(claim.params["unit"]), claim.params.get("tokenizer", "")
    found = figures_of(project=project, unit=unit, tokenizer=tokenizer, progress=claim.progress)
    return {"unit": found["unit"], "notes": found["notes"]} | ({"tokenizer": tokenizer} if tokenizer else {})


# Job handlers for majority votes over many notes.


def run_vote(claim: Claim) -> dict[str, Any]:
    """Decide the notes of a vote. If the job stops, the notes decided so far are kept, and it can continue."""
    return dict(run_majority(act=act_of(MajorityAct, claim), progress=claim.progress, fence=claim.fence))


def undo_vote(claim: Claim) -> dict[str, Any]:
    """Undo a vote, continuing where an earlier attempt stopped."""
    user = User.objects.filter(pk=claim.actor_id).first() if claim.actor_id else None
    return dict(undo_majority(act=act_of(MajorityAct, claim), user=user, progress=claim.progress, fence=claim.fence))
