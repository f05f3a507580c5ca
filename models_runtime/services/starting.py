"""Starting long work from a page: checked first, and a double click is one job."""

import hashlib
import json
import uuid
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from annotations.domain.formats import FORMATS
from annotations.models import Author, Import, Project, User
from annotations.models.author import NOT_IN_BULK
from annotations.services.errors import ServiceError
from annotations.services.exporting import wanted_set
from annotations.services.scoring import Asked
from annotations.services.side_by_side import Together
from models_runtime.models import Job
from models_runtime.services.allowance import LIVE
from models_runtime.services.calibrations import calibration_wish
from models_runtime.services.queue import enqueue


def import_job(*, project: Project, import_id: int) -> Job | None:
    """The job of an import, if it was started as one."""
    return Job.objects.filter(project=project, key=_import_key(import_id)).first()


def start_import(*, project: Project, import_id: int, actor: User) -> Job:
    """Start a staged import, or return the job that is on it. Raises ServiceError when it was thrown away."""
    with transaction.atomic():
        row = Import.objects.select_for_update().get(project=project, pk=import_id)
        if row.state == Import.State.STAGED:
            # From here on it can't be thrown away any more, only cancelled.
            Import.objects.filter(pk=row.pk).update(state=Import.State.RUNNING)
            return enqueue(
                kind="import", project=project, params={"import_id": row.pk}, key=_import_key(row.pk), actor=actor
            )
    job = import_job(project=project, import_id=import_id)
    if job is None:
        raise ServiceError(
            _("this import can't be started; its state is: %(get_state_display)s")
            % {"get_state_display": row.get_state_display()},
            code="state",
        )
    return job


def start_export(*, project: Project, set_spec: str, format: str, actor: User, token: str = "", split: str = "") -> Job:
    """Start writing an export. `token` marks the form: the same one again is the same job. Raises ServiceError."""
    if format not in FORMATS:
        raise ServiceError(
            _("unknown format %(format)s; there are: %(choices)s")
            % {"format": repr(format), "choices": ", ".join(FORMATS)},
            code="format",
        )
    wanted_set(project, set_spec, split)
    return _once("export", project, {"set": set_spec, "format": format, "split": split}, actor, token)


def start_score(*, wish: Asked, actor: User, token: str = "") -> Job:
    """Start a score that takes long, or return the job that is on it. Who may see figures may have them computed."""
    return _once("score", wish.reference.project, wish.params, actor, token)


def start_comparison(*, wish: Together, actor: User, token: str = "") -> Job:
    """Start a comparison of readers that takes long, or return the job that is on it."""
    return _once("compare", wish.reference.project, wish.params, actor, token)


def start_calibration(*, project: Project, author_id: int, gold: int, actor: User, token: str = "") -> Job:
    """Start calibrating a backend by a run of it and a gold version. Raises ServiceError."""
    run, version = calibration_wish(project, gold=gold, author_id=author_id)
    return _once("calibrate", project, {"run_id": run.pk, "gold": version.number}, actor, token)


def start_gold(*, project: Project, author_id: int, actor: User, token: str = "") -> Job:
    """Start making an author's submitted readings gold. Raises ServiceError."""
    author = Author.objects.filter(project=project, pk=author_id).exclude(kind__in=NOT_IN_BULK).first()
    if author is None:
        raise ServiceError(_("this project has no such author of readings; choose one of the list"), code="author")
    return _once("gold", project, {"author_id": author.pk}, actor, token)


def _import_key(import_id: int) -> str:
    return f"import-{import_id}"


def _once(kind: str, project: Project, params: dict[str, Any], actor: User, token: str) -> Job:
    """The same work asked for again by the same person is the job that is on its way."""
    with transaction.atomic():
        Project.objects.select_for_update().get(pk=project.pk)
        live = Job.objects.filter(project=project, kind=kind, params=params, created_by=actor, state__in=LIVE).first()
        if live is not None:
            return live
        asked = json.dumps([kind, project.pk, actor.pk, token or uuid.uuid4().hex, params], sort_keys=True)
        key = f"{kind}-{hashlib.sha256(asked.encode()).hexdigest()}"
        return enqueue(kind=kind, project=project, params=params, key=key, actor=actor)
