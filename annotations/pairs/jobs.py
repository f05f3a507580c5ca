from typing import Any

from annotations.jobs.runner import Claim
from annotations.models import Author, Import, User
from annotations.pairs.services.pairing import Pairing, undo_pairing
from annotations.pairs.services.starting import PairingOrder


def run(claim: Claim) -> dict[str, Any]:
    """Pair a stored pile. If a worker is killed, the next one continues with what is left."""
    params = claim.params
    row = Import.objects.select_related("project", "stored_file").get(pk=int(params["import_id"]))
    pairing = Pairing(
        row=row,
        author=Author.objects.get(pk=int(params["author_id"]), project_id=claim.project_id),
        order=PairingOrder(params["method"], int(params["window"]), float(params["threshold"])),
        actor=User.objects.filter(pk=claim.actor_id).first() if claim.actor_id else None,
        progress=claim.progress,
        fence=claim.fence,
    )
    result = pairing.run(claim.finish)
    # Deleting the pile takes a while, so the job ends before that.
    if row.stored_file is not None:
        row.stored_file.delete()
    return result


def undo(params: dict[str, Any], state: str) -> None:
    """Remove what an unfinished job left half done."""
    undo_pairing(import_id=int(params["import_id"]), state=state)
