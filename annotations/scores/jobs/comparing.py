from typing import Any

from annotations.jobs.runner import Claim
from annotations.scores.services.side_by_side import run_side_by_side


def run(claim: Claim) -> dict[str, Any]:
    """Compare readers. The figures are kept under what they were made of, so a repeat is harmless."""
    return run_side_by_side(project_id=claim.project_id, params=claim.params, progress=claim.progress)
