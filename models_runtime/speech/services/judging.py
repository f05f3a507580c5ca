"""Ask a language model about the gaps of a recording that nobody has decided."""

from collections.abc import Callable, Mapping
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from annotations.audio.events import GAPS_JUDGED
from annotations.audio.rules.gaps import HARMLESS, sort_of
from annotations.audio.rules.intervals import Stretch
from annotations.audio.selectors import words_of
from annotations.core.services import Fence, ServiceError, erasures_of, unerased
from annotations.models import AudioRegion, Recording, RegionCause, User
from models_runtime.backends.base import BackendError
from models_runtime.backends.llm.asking import Meter
from models_runtime.backends.llm.backend import completion_of
from models_runtime.backends.llm.gaps import GapJudge
from models_runtime.core.llm import asked_for, capacity_of
from models_runtime.runs.services.llm import prompt_labels


def judge_gaps(
    *,
    recording: Recording,
    given: Mapping[str, Any],
    actor: User | None,
    check: Callable[[], None],
    fence: Fence,
) -> dict[str, Any]:
    """Store the model's verdict on each undecided gap. Gaps of which it says nothing readable stay muted.

    Raises ServiceError where the model can't be asked; then nothing is changed.
    """
    note = recording.document
    assert note is not None
    begun = erasures_of(note.project_id)
    params, server = asked_for({"server": given["server"], "model": given["model"]})
    gaps = list(recording.regions.filter(cause=RegionCause.GAP, decision=""))
    try:
        language = note.language or note.project.language
        judge = GapJudge(completion_of(server, params.model, Meter()), prompt_labels(note.project), language)
        wanted = [Stretch(one.start, one.end) for one in gaps]
        verdicts = judge.judge(note.text, words_of(recording), wanted, check, capacity_of(server))
    except BackendError as error:
        raise ServiceError(_("The model could not be asked. %(error)s") % {"error": error}, code="server") from error
    with transaction.atomic():
        fence()
        unerased(note.project_id, begun)
        # What a person has decided meanwhile stays.
        left = AudioRegion.objects.select_for_update().filter(pk__in=[one.pk for one in gaps], decision="")
        changed = list(left)
        for region in changed:
            region.verdict = verdicts.get(Stretch(region.start, region.end), "")
            region.sort = region.sort or sort_of(region.verdict)
        AudioRegion.objects.bulk_update(changed, ["verdict", "sort"], batch_size=500)
        harmless = sum(one.verdict == HARMLESS for one in changed)
        GAPS_JUDGED.record(
            actor=actor, project_id=note.project_id, document_id=note.pk,
            data={"regions": len(changed), "harmless": harmless},
        )  # fmt: skip
    return {"note": note.pk, "regions": len(changed), "harmless": harmless}
