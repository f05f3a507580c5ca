from typing import Any

from annotations.exchange.services.export_labels import ExportLabels
from annotations.exchange.services.exporting import run_export
from annotations.exchange.services.writing import Writing
from annotations.jobs.runner import Claim


def run(claim: Claim) -> dict[str, Any]:
    """Write an export into a stored file. After a crash the job starts over: a partial file is never committed."""
    return run_export(
        project_id=claim.project_id,
        set_spec=str(claim.params["set"]),
        format=str(claim.params["format"]),
        actor_id=claim.actor_id,
        progress=claim.progress,
        split=str(claim.params.get("split", "")),
        writing=Writing(**claim.params.get("options", {})),
        labels=ExportLabels.from_params(claim.params["labels"]) if "labels" in claim.params else None,
    )
