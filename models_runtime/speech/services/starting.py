"""Start the judgment of a recording's gaps. The web process loads this module, so it imports no client of a model."""

import uuid
from collections.abc import Mapping

from annotations.jobs.services.queue import enqueue
from annotations.models import Job, Recording, User
from models_runtime.core.registry import LLM
from models_runtime.runs.services.llm import checked_params, prompt_labels

JOB = "judge_gaps"


def start_judging(*, recording: Recording, given: Mapping[str, object], may_leave: bool, actor: User | None) -> Job:
    """Start the job that asks a model (`given`: server and model). Raises ServiceError `params`, `leaves`, `labels`."""
    note = recording.document
    assert note is not None
    params = checked_params(given, may_leave=may_leave)
    prompt_labels(note.project)
    about = {"recording": recording.pk, "server": params.server, "model": params.model}
    return enqueue(kind=JOB, project=note.project, params=about, key=f"gaps-{uuid.uuid4().hex}", actor=actor, queue=LLM)
