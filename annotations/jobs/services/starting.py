"""Starting a job once, also where a person asks for it twice.

`enqueue` is the rule: one job for a key in a project. `once` makes the key of a job that has no row of its own;
`started_with` finds the row (a run, a model, a judging) that was made together with its job.
"""

import hashlib
import json
import uuid
from typing import Any, TypeVar

from django.db import models, transaction

from annotations.jobs.services.allowance import LIVE
from annotations.jobs.services.queue import enqueue
from annotations.models import Job, Project, User

Row = TypeVar("Row", bound=models.Model)


def once(kind: str, project: Project, params: dict[str, Any], actor: User, token: str) -> Job:
    """Start a job, or return the same person's unfinished job with the same parameters."""
    with transaction.atomic():
        Project.objects.select_for_update().get(pk=project.pk)
        live = Job.objects.filter(project=project, kind=kind, params=params, created_by=actor, state__in=LIVE).first()
        if live is not None:
            return live
        asked = json.dumps([kind, project.pk, actor.pk, token or uuid.uuid4().hex, params], sort_keys=True)
        key = f"{kind}-{hashlib.sha256(asked.encode()).hexdigest()}"
        return enqueue(kind=kind, project=project, params=params, key=key, actor=actor)


def key_of(kind: str, key: str) -> str:
    """The key of a job whose row is found by `started_with`. `key` is that of the form or command."""
    return f"{kind}-{key}"


def started_with(made: type[Row], project: Project, kind: str, key: str) -> Row | None:
    """Return the row that was made with this job in this project, or None if nothing was started with the key yet."""
    return made._default_manager.filter(project=project, job__key=key_of(kind, key)).first()
