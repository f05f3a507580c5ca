from typing import Any

from annotations.gold.services.making import make_gold_bulk
from annotations.jobs.runner import Claim


def run(claim: Claim) -> dict[str, Any]:
    """Make an author's submitted annotation sets gold. Notes with gold are skipped, so that the job can be repeated."""
    return make_gold_bulk(
        project_id=claim.project_id,
        author_id=int(claim.params["author_id"]),
        actor_id=claim.actor_id,
        progress=claim.progress,
    )
