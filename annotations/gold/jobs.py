from typing import Any

from annotations.gold.services.making import make_gold_bulk
from annotations.jobs.runner import Claim


def run(claim: Claim) -> dict[str, Any]:
    """Make an author's submitted readings gold. Notes that have gold are left alone, so a repeat is harmless."""
    return make_gold_bulk(
        project_id=claim.project_id,
        author_id=int(claim.params["author_id"]),
        actor_id=claim.actor_id,
        progress=claim.progress,
    )
