"""Comparisons of authors as jobs."""

from typing import Any

from annotations.jobs.runner import Claim
from annotations.jobs.services.queue import once
from annotations.models import Job, User
from annotations.scores.services.side_by_side import ComparisonRequest, run_side_by_side


def start_comparison(*, wanted: ComparisonRequest, actor: User, token: str = "") -> Job:
    """Start a long comparison, or return the job that computes it."""
    return once("compare", wanted.reference.project, wanted.params, actor, token)


def run(claim: Claim) -> dict[str, Any]:
    """Compare authors. A repeated job finds the stored figures."""
    return run_side_by_side(project_id=claim.project_id, params=claim.params, progress=claim.progress)
