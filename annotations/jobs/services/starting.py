"""Starting long work: a double click is one job."""

import hashlib
import json
import uuid
from typing import Any

from django.db import transaction

from annotations.jobs.services.allowance import LIVE
from annotations.jobs.services.queue import enqueue
from annotations.models import Job, Project, User


def once(kind: str, project: Project, params: dict[str, Any], actor: User, token: str) -> Job:
    """The same work asked for again by the same person is the job that is on its way."""
    with transaction.atomic():
        Project.objects.select_for_update().get(pk=project.pk)
        live = Job.objects.filter(project=project, kind=kind, params=params, created_by=actor, state__in=LIVE).first()
        if live is not None:
            return live
        asked = json.dumps([kind, project.pk, actor.pk, token or uuid.uuid4().hex, params], sort_keys=True)
        key = f"{kind}-{hashlib.sha256(asked.encode()).hexdigest()}"
        return enqueue(kind=kind, project=project, params=params, key=key, actor=actor)
