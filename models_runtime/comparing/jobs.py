"""Comparisons of readers as jobs."""

from typing import Any

from annotations.jobs.runner import Claim
from annotations.jobs.services.starting import once
from annotations.models import Job, User
from annotations.scores.services.side_by_side import Together, run_side_by_side


def start_comparison(*, wish: Together, actor: User, token: str = "") -> Job:
    """Start a comparison of readers that takes long, or return the job that is on it."""
    return once("compare", wish.reference.project, wish.params, actor, token)


def run(claim: Claim) -> dict[str, Any]:
    """Compare readers. The figures are kept under what they were made of, so a repeat is harmless."""
    return run_side_by_side(project_id=claim.project_id, params=claim.params, progress=claim.progress)
