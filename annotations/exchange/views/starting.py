"""Starting imports and exports, and the way from an import to its job."""

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.http import require_POST, require_safe

from annotations.core.access import Can, enter
from annotations.core.errors import ServiceError
from annotations.core.requests import Request
from annotations.exchange.services.starting import import_job, start_export, start_import
from annotations.exchange.views.asked import asked_export, refuse_export
from annotations.jobs.tokens import form_token
from annotations.models import Import


@require_safe
def job_of_import(request: Request, slug: str, pk: int) -> HttpResponse:
    """Redirect from an import to its job; 404 if it has no job."""
    access = enter(request.user, slug, Can.MANAGE)
    job = import_job(project=access.project, import_id=pk)
    if job is None:
        raise Http404("This import has no job.")
    return redirect("job", slug, job.number)


@require_POST
def job_start_import(request: Request, slug: str, pk: int) -> HttpResponse:
    access = enter(request.user, slug, Can.MANAGE)
    row = get_object_or_404(Import, project=access.project, pk=pk)
    try:
        job = start_import(
            project=access.project, import_id=row.pk, actor=access.user, seen=request.POST.get("choices", "")
        )
    except ServiceError as error:
        messages.error(request, str(error))
        return redirect("import_preview", slug, row.pk)
    return redirect("job", slug, job.number)


@require_POST
def job_start_export(request: Request, slug: str) -> HttpResponse:
    """Start an export. POST the export form, with its `token`; `seen` if a preview of the mapping was seen."""
    access = enter(request.user, slug, Can.EXPORT)
    try:
        asked = asked_export(request, access)
        job = start_export(
            project=access.project,
            set_spec=asked.set_spec,
            format=asked.format,
            actor=access.user,
            token=form_token(request),
            split=asked.split,
            writing=asked.writing,
            labels=asked.labels,
        )
    except ServiceError as error:
        return refuse_export(request, slug, error)
    return redirect("job", slug, job.number)
