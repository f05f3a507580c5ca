"""Starting imports and exports, and the way from an import to its job."""

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from annotations.core.access import Can, closed_to, enter
from annotations.core.errors import ServiceError
from annotations.core.requests import Request
from annotations.jobs.tokens import form_token
from annotations.models import Import
from annotations.transfer.services.starting import import_job, start_export, start_import
from annotations.transfer.services.writing import Writing


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
    """Start an export. POST `format`, `set`, `split`, `sentences`, `spaced`, `tokenizer`, and the form's `token`."""
    access = enter(request.user, slug, Can.EXPORT)
    spec = request.POST.get("set", "")
    if closed_to(access, spec=spec):
        raise PermissionDenied("You may not export these annotation sets.")
    try:
        job = start_export(
            project=access.project,
            set_spec=spec,
            format=request.POST.get("format", ""),
            actor=access.user,
            token=form_token(request),
            split=request.POST.get("split", ""),
            writing=Writing(
                sentences="sentences" in request.POST,
                spaced="spaced" in request.POST,
                tokenizer=request.POST.get("tokenizer", ""),
            ),
        )
    except ServiceError as error:
        # The service's message lists annotators, whom not everybody with the right to export may see.
        unknown = _("This project has no such annotation sets. Choose from the list.")
        messages.error(request, unknown if error.code == "set" else str(error))
        return redirect("export", slug)
    return redirect("job", slug, job.number)
