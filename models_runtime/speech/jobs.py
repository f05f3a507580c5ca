from typing import Any

from django.utils.translation import gettext as _

from annotations.core.services import ServiceError
from annotations.jobs.runner import Claim
from annotations.models import Recording, User
from models_runtime.speech.services.transcribing import transcribe


def run(claim: Claim) -> dict[str, Any]:
    """Transcribe a recording. If a worker is killed, the next one continues with the part that is missing."""
    rows = Recording.objects.select_related("imported_by__project", "imported_by__stored_file")
    recording = rows.get(imported_by=int(claim.params["import_id"]))

    def finish(result: dict[str, Any]) -> None:
        claim.done = claim.total
        claim.finish(result)

    return transcribe(
        recording=recording,
        actor=User.objects.filter(pk=claim.actor_id).first() if claim.actor_id else None,
        progress=claim.progress,
        fence=claim.fence,
        finish=finish,
    )


def run_gaps(claim: Claim) -> dict[str, Any]:
    """Ask a language model about the gaps of a recording. It may be repeated: the last verdict counts."""
    # Imported here: the code of language models would take 20 MiB of every idle worker.
    from models_runtime.speech.services.judging import judge_gaps

    rows = Recording.objects.select_related("document__project")
    recording = rows.filter(pk=int(claim.params["recording"])).first()
    if recording is None:
        raise ServiceError(_("The recording was erased."), code="gone")
    actor = User.objects.filter(pk=claim.actor_id).first() if claim.actor_id else None
    return judge_gaps(recording=recording, given=claim.params, actor=actor, check=claim.check, fence=claim.fence)
