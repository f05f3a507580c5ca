from typing import Any

from annotations.services.scoring import run_score
from models_runtime.runner import Claim


def run(claim: Claim) -> dict[str, Any]:
    """Score an author's readings. The figures are kept under what they were made of, so a repeat is harmless."""
    return run_score(project_id=claim.project_id, params=claim.params, progress=claim.progress)
