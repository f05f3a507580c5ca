from typing import Any

from annotations.agreement.rules import Unit
from annotations.agreement.services.figures import figures_of
from annotations.jobs.runner import Claim
from annotations.models import Project


def run(claim: Claim) -> dict[str, Any]:
    """Compute and store the figures of a unit. A repeated job finds the stored figures."""
    project = Project.objects.get(pk=claim.project_id)
    unit, tokenizer = Unit(claim.params["unit"]), claim.params.get("tokenizer", "")
    found = figures_of(project=project, unit=unit, tokenizer=tokenizer, progress=claim.progress)
    return {"unit": found["unit"], "notes": found["notes"]} | ({"tokenizer": tokenizer} if tokenizer else {})
