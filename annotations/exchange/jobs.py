from typing import Any

from annotations.exchange.services.exporting import ExportOrder, run_export
from annotations.exchange.services.importing import run_import, undo_import
from annotations.jobs.runner import Claim
from annotations.models import Import, ImportState

COUNTS = ("notes", "spans", "sets", "already_there", "refused_notes", "refused_files")


def import_job(claim: Claim) -> dict[str, Any]:
    """Run a staged import, batch by batch. If a worker is killed, the next worker continues with the next batch."""
    import_id = int(claim.params["import_id"])
    report = run_import(
        import_id=import_id,
        progress=claim.progress,
        fence=claim.fence,
        # Deleting the upload takes up to a tenth of the import's time, so the job ends before that.
        finish=lambda report: claim.finish(_result(import_id, report)),
    )
    return _result(import_id, report)


def undo_import_job(params: dict[str, Any], state: str) -> dict[str, Any] | None:
    """Remove the imported notes, unless the import was complete when its worker stopped."""
    import_id = int(params["import_id"])
    row = Import.objects.get(pk=import_id)
    if row.state == ImportState.DONE:
        return _result(import_id, row.report)
    undo_import(import_id=import_id, state=state)
    return None


def _result(import_id: int, report: dict[str, Any]) -> dict[str, Any]:
    """Counts for the job's result. The list of refused notes and files stays with the import."""
    counts = {name: report[name] for name in COUNTS if name in report}
    if report.get("moved_spans"):
        counts["moved_spans"] = report["moved_spans"]
    labels = {"mapped": 0, "added": 0, "skipped": 0}
    for line in report.get("labels", {}).values():
        labels[line["do"]] += line["spans"]
    return {"import_id": import_id, **counts} | ({"labels": labels} if any(labels.values()) else {})


def export_job(claim: Claim) -> dict[str, Any]:
    """Write an export into a stored file. After a crash the job starts over: a partial file is never committed."""
    order = ExportOrder.from_params(claim.params)
    return run_export(project_id=claim.project_id, actor_id=claim.actor_id, progress=claim.progress, **vars(order))
