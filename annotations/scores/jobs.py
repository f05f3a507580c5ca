from typing import Any

from annotations.jobs.runner import Claim
from annotations.scores.services.scoring import run_score


def run(claim: Claim) -> dict[str, Any]:
    """Score an author's annotations. A repeated job finds the stored figures."""
    return run_score(project_id=claim.project_id, params=claim.params, progress=claim.progress)
