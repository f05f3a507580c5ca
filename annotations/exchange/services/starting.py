"""Start imports and exports as jobs."""

from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from annotations.core.errors import ServiceError
from annotations.core.locks import keep_labels
from annotations.exchange.selectors.imports import JOB_KEY
from annotations.exchange.services.export_labels import ExportLabels
from annotations.exchange.services.label_choices import complete_choices, labels_changed, unknown_of
from annotations.exchange.services.writing import Writing
from annotations.gold.services.sets import wanted_set
from annotations.jobs.services.queue import enqueue
from annotations.jobs.services.starting import once
from annotations.models import Import, ImportState, Job, Project, User


def import_job(*, project: Project, import_id: int) -> Job | None:
    """The job of an import; None if the import has no job."""
    return Job.objects.filter(project=project, key=_import_key(import_id)).first()


def start_import(*, project: Project, import_id: int, actor: User, seen: str | None = None) -> Job:
    """Start a staged import, or return its job if it has started. Raises ServiceError if the upload was discarded.

    So it does if an unknown label has no choice, or if the choices differ from those that the person saw (`seen`).
    """
    with transaction.atomic():
        keep_labels(project.pk)
        Project.objects.select_for_update(no_key=True).get(pk=project.pk)
        row = Import.objects.select_for_update().get(project=project, pk=import_id)
        if row.state == ImportState.STAGED:
            # A running import can be canceled, but no longer discarded.
            if row.labels_found is not None:
                unknown = unknown_of(row)
                if seen is not None and unknown.rows and seen != unknown.seen:
                    raise labels_changed()
                row.label_choices = complete_choices(row)
            row.state = ImportState.RUNNING
            row.save(update_fields=["state", "label_choices"])
            return enqueue(
                kind="import", project=project, params={"import_id": row.pk}, key=_import_key(row.pk), actor=actor
            )
    job = import_job(project=project, import_id=import_id)
    if job is None:
        raise ServiceError(
            _("This import can't be started. Its state is “%(state)s”. Upload the files again.")
            % {"state": row.get_state_display()},
            code="state",
        )
    return job


def start_export(
    *,
    project: Project,
    set_spec: str,
    format: str,
    actor: User,
    token: str = "",
    split: str = "",
    writing: Writing | None = None,
    labels: ExportLabels | None = None,
) -> Job:
    """Start an export. The same `token` (one per form) gives the same job. Raises ServiceError."""
    writing = writing or Writing()
    writing.check(format)
    wanted_set(project, set_spec, split)
    params: dict[str, Any] = {"set": set_spec, "format": format, "split": split}
    if writing.chosen():
        params |= {"options": writing.chosen()}
    if labels is not None and labels.differ:
        labels.by_code(project)
        params |= {"labels": labels.as_params()}
    return once("export", project, params, actor, token)


def unknown_set() -> ServiceError:
    """The error for annotation sets that don't exist, without the names of others.

    The message of `wanted_set` lists annotators, whom not everybody with the right to export may see.
    """
    return ServiceError(_("This project has no such annotation sets. Choose from the list."), code="set")


def _import_key(import_id: int) -> str:
    return f"{JOB_KEY}{import_id}"
