from typing import Any

from annotations.gold.services.making import make_gold_bulk
from annotations.gold.services.statistics import statistics_of
from annotations.jobs.runner import Claim
from annotations.models import GoldVersion


def run(claim: Claim) -> dict[str, Any]:
    """Make an author's submitted annotation sets gold. Notes with gold are skipped, so that the job can be repeated."""
    return make_gold_bulk(
        project_id=claim.project_id,
        author_id=int(claim.params["author_id"]),
        actor_id=claim.actor_id,
        progress=claim.progress,
    )


def count(claim: Claim) -> dict[str, Any]:
    """Compute and store the corpus statistics of a version. A repeated job finds the stored figures."""
    versions = GoldVersion.objects.select_related("project")
    version = versions.get(project_id=claim.project_id, number=claim.params["version"])
    parts = statistics_of(version, claim.progress)
    return {"version": version.number, "notes": sum(part.notes for part in parts.values())}
