from typing import Any

from annotations.jobs.runner import Claim
from annotations.models import BulkAct
from annotations.review.services.bulk import run_bulk, undo_bulk


def run(claim: Claim) -> dict[str, Any]:
    """Decide what a bulk act is about. If it is stopped, what is done stays; it goes on or is taken back as a whole."""
    return run_bulk(bulk=_bulk(claim), progress=claim.progress, fence=claim.fence)


def take_back(claim: Claim) -> dict[str, Any]:
    """Take a bulk act back; goes on where it stopped."""
    return undo_bulk(bulk=_bulk(claim), progress=claim.progress, fence=claim.fence)


def _bulk(claim: Claim) -> BulkAct:
    rows = BulkAct.objects.select_related("project", "user")
    return rows.get(pk=claim.params["bulk"], project_id=claim.project_id)
